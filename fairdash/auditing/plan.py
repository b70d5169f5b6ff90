"""Plan of an audit: columns, primary criterion and threshold, fixed before any result is known.

This module imports no large package: forms and stored plans use it without running an audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from importlib import import_module
from itertools import combinations
from types import MappingProxyType
from typing import Any

from fairdash.errors import Checks, OptionError
from fairdash.utils.options import check_ranges, option
from fairdash.utils.registry import get_entry

#: With up to this number of attributes, an audit covers all combinations of attributes.
MAX_CROSSED = 3


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Columns of a table by their role in an audit; the help text of a field describes the role."""

    price: str = option(
        ..., "Price, or prediction", "The price charged, or the prediction, per unit of exposure."
    )
    sensitive: str = option(
        *(..., "Sensitive attribute"),
        "The attribute that the price must not follow, such as age, sex or region.",
    )
    exposure: str | None = option(None, "Exposure", "The weight of a row, such as the years a policy ran.")
    outcome: str | None = option(
        *(None, "Outcome"),
        "Claims or their cost. With an outcome, the audit tests whether cost justifies the price.",
    )
    expected_cost: str | None = option(
        None, "Expected cost", "Your own estimate of the expected outcome, used instead of averages."
    )
    candidate: str | None = option(None, "A second price", "A candidate to compare with the price.")
    groups: str | None = option(
        *(None, "Policy, or another group of rows"),
        "The column that groups rows, such as a policy number. Rows of one policy are not independent.",
        word="group",
    )
    controls: tuple[str, ...] = option(
        *((), "Legitimate factors"),
        "Columns that may justify differences. The audit also compares rows that are equal in these columns.",
        word="control",
    )
    totals: tuple[str, ...] = option(
        *((), "Columns with totals"), "The audit divides these totals by the exposure.", word="total"
    )
    features: tuple[str, ...] | None = option(
        *(None, "Rating factors of the price"),
        "Models of price and outcome learn from these columns. Leave out columns unknown at pricing.",
        word="feature",
    )
    also: tuple[str, ...] = option(
        *((), "Further sensitive attributes"),
        "The audit treats each of these attributes like the first, and corrects verdicts for their number.",
        word="sensitive",
    )
    coverage: str | None = option(
        None, "Coverage", "The audit compares actual and expected outcome for each level of this column."
    )
    probabilities: tuple[str, ...] = option(
        *((), "Probabilities of classes"),
        "Class probabilities from another source, for example of race. In each row they add up to 1.",
        word="probability",
    )
    known_class: str | None = option(
        *(None, "Class, where it is known"),
        "If you know the class of some rows, the audit tests the probabilities on them.",
    )

    @property
    def each(self) -> tuple[Columns, ...]:
        """Columns for each sensitive attribute, which is audited separately."""
        return tuple(replace(self, sensitive=name, also=()) for name in (self.sensitive, *self.also))

    def of(self, role: str) -> tuple[str, ...]:
        """Return the columns of a role; ``"cost"`` means the expected cost, or else the outcome."""
        if role == "cost":
            role = "expected_cost" if self.expected_cost else "outcome"
        names = getattr(self, role) or ()
        return (names,) if isinstance(names, str) else names

    @property
    def crossings(self) -> tuple[tuple[str, ...], ...]:
        """Combinations of attributes to audit: all pairs and, with three attributes, all three together.

        If there are more than three attributes, the audit covers only pairs that include the first one.
        """
        names = (self.sensitive, *self.also)
        if len(names) > MAX_CROSSED:
            return tuple((self.sensitive, other) for other in self.also)
        return tuple(pair for count in range(2, len(names) + 1) for pair in combinations(names, count))

    @property
    def of_candidate(self) -> Columns:
        """Columns for a separate audit of the second price."""
        assert self.candidate is not None
        return replace(self, price=self.candidate, candidate=None)

    def numbers(self) -> dict[str, str]:
        """Map of roles to columns, for roles that require numbers."""
        roles = ("price", "sensitive", "exposure", "outcome", "expected_cost", "candidate")
        return {role: getattr(self, role) for role in roles if getattr(self, role) is not None}

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that has a role, including features that the user named."""
        single = (self.groups, self.coverage, self.known_class)
        extra_columns = (*self.also, *self.controls, *(self.features or ()), *self.probabilities)
        return (*self.numbers().values(), *extra_columns, *filter(None, single))


def columns_of(price: str, sensitive: str | Sequence[str], **roles: Any) -> Columns:
    """Return roles as :class:`Columns`; a single factor, total or feature may be passed as a string.

    The first of several sensitive attributes becomes `sensitive`, and the others become `also`. Without a
    sensitive attribute, the first column of class probabilities is used as a numeric attribute.
    """
    first, *others = _names(sensitive) or _names(roles.get("probabilities") or ("",))[:1]
    for role in ("controls", "totals", "features", "probabilities"):
        if roles.get(role) is not None:
            roles[role] = _names(roles[role])
    return Columns(price=price, sensitive=first, also=tuple(others), **roles)


def plan_of(price: str, sensitive: str | Sequence[str], **options: Any) -> AuditPlan:
    """Return a plan from roles and options passed by name; :meth:`AuditPlan.of` lists the options."""
    roles = {field.name: options.pop(field.name) for field in fields(Columns) if field.name in options}
    return AuditPlan.of(columns_of(price, sensitive, **roles), **options)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Question:
    """Question of an audit; the audit, its page, command and report loop over :data:`QUESTIONS`.

    Parameters
    ----------
    number, title
        Number of the question, which determines the order, and wording of the question.
    tables
        Names of the question's tables, which :data:`fairdash.views.figures.audit.FIGURES` draws.
    implementation
        Function that computes the answer, as ``"file:function"`` in `questions`. The function takes the
        :class:`~fairdash.auditing.data.AuditData` and the answers to previous questions, and returns a
        :class:`~fairdash.auditing.data.Part`.
    needs
        The role in :class:`Columns` that the answer requires besides price and s; "" for none.
    uses
        Optional roles that some results of the question use. A result leaves out rows with a missing cell in
        a role that it uses. ``"cost"`` is the expected cost, or else the outcome.
    missing
        Text that the audit shows if the role in `needs` is missing; "" for no text.
    """

    number: int
    title: str
    tables: tuple[str, ...]
    implementation: str
    needs: str = ""
    missing: str = ""
    uses: tuple[str, ...] = ()

    def is_answerable(self, columns: Columns) -> bool:
        """Return True if `columns` contain the required role."""
        return not self.needs or bool(getattr(columns, self.needs))

    @property
    def answer(self) -> Callable[..., Any]:
        """Function that answers the question; it is imported only when it is used."""
        file, _, function = self.implementation.partition(":")
        return getattr(import_module(f"fairdash.auditing.questions.{file}"), function)


#: Questions by number, in the order of their answers.
QUESTIONS: Mapping[int, Question] = MappingProxyType(
    {
        question.number: question
        for question in (
            Question(
                1,
                "Does the price follow the attribute?",
                (
                    "curve",
                    "candidate_curve",
                    "classes",
                    "class_pairs",
                    "class_probabilities",
                    "calibration_of_classes",
                ),
                "dependence:assess_price_link",
                uses=("candidate", "probabilities"),
            ),
            Question(2, "Where?", ("curve", "dearest_curve", "crossed"), "dependence:locate_extremes"),
            Question(
                3,
                "Does cost justify the difference?",
                ("bridge_points",),
                "decomposition:decompose_gap",
                uses=("cost",),
            ),
            Question(
                number=4,
                title="Does the difference remain among equals?",
                tables=("controlled_curve",),
                implementation="decomposition:conditional_gap",
                needs="controls",
                uses=("controls",),
                missing="To answer this question, name legitimate factors (controls).",
            ),
            Question(
                number=5,
                title="At a given price, who is undercharged?",
                tables=(
                    *("bias_surface", "autocalibration", "residual_curve", "actual_to_expected"),
                    *("one_way", "by_coverage", "calibration", "murphy", "lorenz", "deviances"),
                ),
                implementation="sufficiency:assess_sufficiency",
                needs="outcome",
                uses=("outcome", "expected_cost"),
                missing="To answer this question, name an outcome, such as claims.",
            ),
            Question(
                6,
                "Through which columns?",
                ("drivers", "proxies", "surrogate_fit"),
                "attribution:attribute_link",
                uses=("outcome", "expected_cost"),
            ),
            Question(
                7,
                "How much money is at stake?",
                ("money_along_s", "segments"),
                "money:excess_payments",
                uses=("cost",),
            ),
            Question(
                number=8,
                title="What could be charged instead?",
                tables=("premium_curves", "premiums", "premium_averages", "premium_differences"),
                implementation="alternative_prices:alternative_premiums",
                uses=("outcome", "expected_cost"),
            ),
            Question(
                number=9,
                title="How certain are the answers?",
                tables=("power", "missing_by_price", "reliability", "reliability_curve"),
                implementation="power:report_power",
            ),
            Question(
                number=10,
                title="How does the second price compare?",
                tables=(
                    *("two_prices", "candidate_verdicts", "candidate_answers"),
                    *("double_lift", "change_along_s", "change_segments"),
                ),
                implementation="alternative_prices:compare_prices",
                needs="candidate",
                uses=("candidate", "outcome", "expected_cost"),
            ),
        )
    }
)


@dataclass(frozen=True)
class Criterion:
    """Fairness criterion for a price.

    Parameters
    ----------
    id, title
        Name of the criterion in code, and name for readers.
    question
        Number of the question that measures the criterion.
    picture
        Name of the table from which the figure of the criterion is drawn.
    meaning
        Plain sentence that states the criterion.
    gap
        Quantity that is compared with the largest acceptable gap.
    """

    id: str
    title: str
    question: int
    picture: str
    meaning: str
    gap: str


#: Criteria by id. The user selects a primary criterion before seeing results. The results cover all criteria.
CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {
        each.id: each
        for each in (
            Criterion(
                *("independence", "Independence", 1, "curve"),
                meaning="The price does not follow the sensitive attribute.",
                gap="highest minus lowest point of the price's curve",
            ),
            Criterion(
                *("conditional_independence", "Independence among equals", 4, "controlled_curve"),
                meaning="Among rows that are equal in the legitimate factors, the price does not follow "
                "the sensitive attribute.",
                gap="highest minus lowest point of the price's curve among equals",
            ),
            Criterion(
                *("sufficiency", "Sufficiency", 5, "bias_surface"),
                meaning="Among customers who pay the same price, expected cost does not depend on the "
                "sensitive attribute.",
                gap="root mean square of the cost in a cell of price and attribute minus the cost of "
                "all rows at that price, after subtracting noise, with cost scaled to the total price",
            ),
            Criterion(
                *("equalized_residuals", "Equalized residuals", 5, "residual_curve"),
                meaning="Cost minus price does not follow the sensitive attribute. Cost is first scaled to "
                "the total price.",
                gap="highest minus lowest point of the curve of cost minus price, with cost scaled to the "
                "total price",
            ),
        )
    }
)


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """Plan of an audit.

    Parameters
    ----------
    columns
        Roles of the table's columns.
    written
        Time at which the plan was written, for the evidence file: ISO 8601 with a time zone, or "" if
        unknown.

    Raises
    ------
    OptionError
        An option has an unsuitable value, or the primary criterion needs a column that is missing.
    """

    columns: Columns
    criterion: str = option(
        *("independence", "Primary criterion, tested at the 5 % level"),
        "The other criteria are tested with a correction for multiple testing.",
        choices=CRITERIA,
    )
    max_gap: float = option(
        *(0.05, "Largest acceptable gap, in % of the mean price"),
        "The gap is the highest minus the lowest average price. Choose the gap before you see a result.",
        within="(0, 1)",
        unit="%",
        step=0.005,
    )
    reliability: tuple[float, ...] = option(
        *((), "Reliability of the sensitive attribute, if measured or imputed with error (optional)"),
        "The reliability is the share of the attribute's variance that is not error. With a reliability "
        "below 1, the audit also corrects for the error.",
        within="(0, 1]",
        step=0.05,
    )
    currency: str = option("", "Currency (optional)", "The unit of amounts, such as €.")
    period: str = option("", "Unit of exposure (optional)", "Such as year.")
    cap: float | None = option(
        *(None, "Cap on large losses (optional)"),
        "The audit reduces larger outcomes to the cap, and says how much it removed in total.",
        within="(0, inf)",
        needs="outcome",
    )
    questions: tuple[int, ...] = option(
        tuple(QUESTIONS), "", "Number of a question to answer. The default is all questions.", word="question"
    )
    random_state: int | None = option(0, "", "Seed of all random draws.", within="[0, inf)")
    written: str = ""

    def __post_init__(self) -> None:
        primary = get_entry(CRITERIA, self.criterion, option="criterion")
        checks = Checks(OptionError)
        check_ranges(type(self), vars(self), checks)
        question = QUESTIONS[primary.question]
        problem = f"{primary.title} can't be the primary criterion without {question.needs}"
        hint = f"Name {question.needs}, or another criterion."
        checks.require(question.is_answerable(self.columns), "criterion", problem, hint)
        hint = f"Enter numbers from 1 to {max(QUESTIONS)}, or “all”."
        checks.require(set(self.questions) <= set(QUESTIONS), "questions", "There is no such question", hint)
        hint = "Give a date and a time with its zone, such as 2026-01-31T12:00:00+00:00."
        checks.require(not self.written or _is_time(self.written), "written", "It is not a time", hint)
        checks.finish()

    @classmethod
    def of(
        cls,
        columns: Columns,
        *,
        questions: str | Sequence[int] = "all",
        reliability: float | Sequence[float] | None = None,
        **more: Any,
    ) -> AuditPlan:
        """Create a plan; `questions` may be ``"all"``, `reliability` may be one number or None, and
        `more` contains the other fields."""
        numbers = tuple(QUESTIONS) if isinstance(questions, str) else tuple(questions)
        is_single = isinstance(reliability, int | float)
        reliabilities = (reliability,) if is_single else () if reliability is None else tuple(reliability)  # type: ignore[arg-type]
        return cls(columns=columns, questions=numbers, reliability=tuple(map(float, reliabilities)), **more)  # type: ignore[arg-type]

    @property
    def asked(self) -> set[int]:
        """Numbers of the questions to answer, including the primary criterion's question."""
        return {*self.questions, CRITERIA[self.criterion].question}

    @property
    def thresholds(self) -> dict[str, Any]:
        """Primary criterion and largest acceptable gap, for the evidence file (zip)."""
        return {"criterion": self.criterion, "max_gap": self.max_gap}

    @property
    def of_table(self) -> dict[str, Any]:
        """Options of :meth:`fairdash.auditing.table.AuditTable.of`, without the columns."""
        return {name: getattr(self, name) for name in ("random_state", "cap", "currency", "period")}

    @property
    def gap_in_words(self) -> str:
        """Largest acceptable gap in words, in per cent of the mean price."""
        return f"{100 * self.max_gap:g} %"

    def gap_allowed(self, mean_price: float) -> float:
        """Convert the largest acceptable gap from a share to an amount δ in units of the price."""
        return self.max_gap * mean_price


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
