"""What an audit is asked: columns, the primary criterion and the threshold, written down before any result.

Nothing heavy is imported here, so that a form can be drawn and a plan kept by what never carries one out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from fairdash.auditing.columns import Columns
from fairdash.errors import Checks, OptionError
from fairdash.registry import get_entry

#: The questions that an audit answers, by number, in the order in which they are asked.
QUESTIONS: Mapping[int, str] = MappingProxyType(
    {
        1: "Does the price follow it?",
        2: "Where?",
        3: "Is it earned?",
        4: "Among equals?",
        5: "At a given price, who is undercharged?",
        6: "Through what?",
        7: "How much money, and whose?",
        8: "What could be charged instead?",
        9: "How sure?",
        10: "How does the second price compare?",
    }
)

#: Names of the tables that belong to each question.
TABLES: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        1: ("curve", "candidate_curve"),
        2: ("curve", "dearest_curve"),
        3: ("bridge_points",),
        4: ("controlled_curve",),
        5: (
            *("bias_surface", "autocalibration", "residual_curve", "actual_to_expected", "calibration"),
            *("murphy", "lorenz", "deviances"),
        ),
        6: ("drivers", "proxies", "surrogate_fit"),
        7: ("money_along_s", "segments"),
        8: ("premium_curves", "premiums", "premium_differences"),
        9: ("power", "missing_by_price", "reliability", "reliability_curve"),
        10: (
            *("two_prices", "candidate_verdicts", "candidate_answers"),
            *("double_lift", "change_along_s", "change_segments"),
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A way to say what it means that a price is fair.

    Parameters
    ----------
    id, title
        For programs, and for people.
    meaning
        What it asks, in one plain sentence.
    gap
        What is held against the largest gap allowed.
    question
        The number of the question that it answers.
    picture
        The table that shows it.
    needs
        The role in :class:`Columns` without which it can't be measured; empty where price and s are enough.
    missing
        What is said where that is missing.
    """

    id: str
    title: str
    meaning: str
    gap: str
    question: int
    picture: str
    needs: str = ""
    missing: str = ""


_NO_OUTCOME = "Not asked: there is no outcome, such as claims."
#: The criteria by id; one is named as primary before results are seen, and all are shown.
CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {
        each.id: each
        for each in (
            Criterion(
                id="independence",
                title="Independence",
                meaning="The price does not follow the sensitive attribute.",
                gap="highest less lowest point of the price's curve",
                question=1,
                picture="curve",
            ),
            Criterion(
                id="conditional_independence",
                title="Independence among equals",
                meaning="The price does not follow the sensitive attribute among rows that are equal in the "
                "factors named as legitimate.",
                gap="highest less lowest point of the price's curve among equals",
                question=4,
                picture="controlled_curve",
                needs="controls",
                missing="Not asked: no factor is named as legitimate (controls).",
            ),
            Criterion(
                id="sufficiency",
                title="Sufficiency",
                meaning="Among those who pay the same, expected cost does not depend on the sensitive "
                "attribute.",
                gap="root mean square, over cells of price and attribute, of how far cost differs from what "
                "rows of that price cost; cost is at the price's level, and noise is taken off",
                question=5,
                picture="bias_surface",
                needs="outcome",
                missing=_NO_OUTCOME,
            ),
            Criterion(
                id="equalized_residuals",
                title="Equalized residuals",
                meaning="Cost at the price's level less the price does not follow the sensitive attribute.",
                gap="highest less lowest point of the curve of cost, at the price's level, less price",
                question=5,
                picture="residual_curve",
                needs="outcome",
                missing=_NO_OUTCOME,
            ),
        )
    }
)


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """What an audit is asked.

    Parameters
    ----------
    columns
        Which column is what.
    criterion
        The primary one of :data:`CRITERIA`.
    max_gap
        δ, the largest gap allowed as a share of the mean price, in (0, 1).
    questions
        Numbers of :data:`QUESTIONS`; the primary criterion's is always answered.
    reliability
        Shares of the sensitive attribute's variance that are no error of measurement, in (0, 1]: what the
        curve would be without that error is asked at these and at usual ones; not asked where empty.
    random_state
        Seeds folds and draws; without one they are drawn anew.
    written
        When it was written down, ISO 8601 with its zone; "" where nobody has said. It stands in the evidence.

    Raises
    ------
    OptionError
        An option that can't be used, or a primary criterion whose input is not named.
    """

    columns: Columns
    criterion: str = "independence"
    max_gap: float = 0.05
    questions: tuple[int, ...] = tuple(QUESTIONS)
    reliability: tuple[float, ...] = ()
    random_state: int | None = 0
    written: str = ""

    def __post_init__(self) -> None:
        primary = get_entry(CRITERIA, self.criterion, option="criterion")
        checks = Checks(OptionError)
        checks.require(
            isinstance(self.max_gap, int | float) and 0 < self.max_gap < 1,
            "max_gap",
            "It is no share of the mean price",
            "Give a number above 0 and below 1, such as 0.05 for 5 %.",
        )
        checks.require(
            not primary.needs or getattr(self.columns, primary.needs),
            "criterion",
            f"{primary.title} can't be the primary criterion without {primary.needs}",
            f"Name {primary.needs}, or another criterion.",
        )
        checks.require(
            all(0 < each <= 1 for each in self.reliability),
            "reliability",
            "It is no share of a variance",
            "Give numbers above 0 and at most 1, such as 0.7.",
        )
        checks.require(
            set(self.questions) <= set(QUESTIONS),
            "questions",
            "There is no such question",
            f"Name some of 1 to {max(QUESTIONS)}, or “all”.",
        )
        checks.require(
            not self.written or _is_time(self.written),
            "written",
            "It is no time",
            "Give a date and a time with its zone, such as 2026-01-31T12:00:00+00:00.",
        )
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
        """A plan whose questions may be ``"all"``, and whose reliability one number or none; `more` are its
        other fields."""
        chosen = tuple(QUESTIONS) if isinstance(questions, str) else tuple(questions)
        single = isinstance(reliability, int | float)
        stated = (reliability,) if single else () if reliability is None else tuple(reliability)  # type: ignore[arg-type]
        return cls(columns=columns, questions=chosen, reliability=tuple(map(float, stated)), **more)  # type: ignore[arg-type]

    @property
    def asked(self) -> set[int]:
        """The questions, with that of the primary criterion."""
        return {*self.questions, CRITERIA[self.criterion].question}


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
