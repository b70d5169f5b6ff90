"""Immutable data that all questions of an audit share, and the type of an answer to a question.

The first p-value of a criterion tests the hypothesis of no gap. There is no gap if only the spread of the
price depends on s. A second p-value therefore tests for a link of any kind. Without controls, this is an
omnibus test (:mod:`fairdash.dependence.omnibus`). With controls, it is a test of products of double residuals
and functions of the factors (:mod:`fairdash.dependence.conditional`), which also detects opposite effects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.curve import Basis, Curve, basis_of, fit_curve
from fairdash.auditing.gaps import LEVEL, Estimate, Tested, largest_gap
from fairdash.auditing.models.premiums import Costs, learn_costs
from fairdash.auditing.plan import CRITERIA, QUESTIONS, AuditPlan, Columns
from fairdash.auditing.result import AMOUNT, MEASURE, SHARE, Findings
from fairdash.auditing.table import AuditTable, complete_rows
from fairdash.dependence.conditional import assess_conditional_dependence
from fairdash.dependence.omnibus import independence_test
from fairdash.errors import DataError, MissingPackageError
from fairdash.evaluation.crossed_cells import Cells, cells_of, crossing_name
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.utils.text import counted, p_equals

#: Questions answered for each price separately if there are two. The other questions need both prices.
QUESTIONS_OF_EACH_PRICE = frozenset(range(1, 8))
#: Questions that are answered for a combination of attributes, besides the question of the primary criterion.
#: Question 4 (links among rows with equal factors) is left out, because it is slow with 25 cells.
QUESTIONS_OF_A_CROSSING = frozenset({1, 2, 5, 10})
Array = NDArray[np.float64]

#: Function that receives the current step and the completed share, in [0, 1]. It may raise Cancelled to stop.
Progress = Callable[[str, float], None]
#: Maximum rows (whole units) in a test of independence, because with more it finds negligible links.
MAX_ROWS = 100_000
#: Fields of an estimate, and the columns that contain them as amounts of money.
_MONEY = {"value": "money", "ci_low": "money_low", "ci_high": "money_high"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured:
    """Estimate of a criterion, which is compared with the largest acceptable gap.

    Attributes
    ----------
    found
        The estimate, its interval and the p-value of the hypothesis of no gap.
    p_any_link
        p-value of the hypothesis of no link of any kind; NaN without this test.
    table
        The rows that the estimate uses.
    mean_price
        Mean price of the question's rows, the denominator of shares.
    curve
        Curve whose largest gap is the estimate; None if the estimate is not the gap of a curve.
    """

    found: Tested
    table: AuditTable
    mean_price: float
    p_any_link: float = math.nan
    curve: Curve | None = None

    def any_link_in_words(self, target: str = "") -> str:
        """Describe the test for any kind of link; it may find a link that averages don't show."""
        p = f"({p_equals(self.p_any_link)})"
        if self.p_any_link > LEVEL:
            return f"A joint test of several measures finds no link of any kind{target} {p}."
        if self.found.p_value > LEVEL:
            return (
                f"A joint test of several measures finds a link{target} {p}. The averages do not show this "
                "link, but the spread may."
            )
        return f"A joint test of several measures also finds a link{target} {p}."

    def rows_needed(self, plan: AuditPlan) -> float:
        """Return the number of similar rows that would show that a gap of 0 is acceptable."""
        return float(np.ceil(self.table.n * (self.found.smallest / plan.gap_allowed(self.mean_price)) ** 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Answer to one question, which is a part of the audit's result.

    Attributes
    ----------
    sentences
        The answer, then explanations.
    tables
        Map of table names to frames.
    measures
        Rows for the table of the result's measures, made by :meth:`AuditData.measure`.
    criteria
        Map of criteria to estimates, for the criteria that the question measures.
    notes
        Notes on rows left out or sampled.
    """

    sentences: tuple[str, ...]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    measures: tuple[Mapping[str, Any], ...] = ()
    criteria: Mapping[str, Measured] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditData:
    """Input shared by all questions: the rows, the plan and the price's curve.

    Attributes
    ----------
    table
        The cleaned and sorted rows of the audit.
    frame
        The input frame, including rows in which the attribute is missing.
    plan
        Plan of the audit, including the roles of the table's columns.
    tell
        Function that receives the current step and the share completed.
    cells
        Cells of a combination of attributes (crossing), audited like classes; None for a single attribute.
    crossings
        Data of each combination of attributes (crossing); empty except for the first attribute.
    is_first
        Whether this is the first attribute. Only the first attribute's results include class probabilities.
    roles
        Optional roles whose columns have no missing cells in the rows of `table`.
    """

    table: AuditTable
    frame: pd.DataFrame
    plan: AuditPlan
    tell: Progress
    cells: Cells | None = None
    crossings: tuple[AuditData, ...] = ()
    is_first: bool = True
    roles: frozenset[str] = frozenset()
    _parts: dict[frozenset[str], AuditData] = field(default_factory=dict)

    def on(self, *roles: str) -> AuditData:
        """Return the data of the rows without missing cells in further optional roles.

        Raises
        ------
        DataError
            Too few rows remain.
        """
        columns = self.plan.columns
        cost = "expected_cost" if columns.expected_cost else "outcome"
        roles_used = self.roles | {cost if role == "cost" else role for role in roles}
        if roles_used not in self._parts:
            table = self.table.on(roles_used)
            is_same_table = table is self.table
            self._parts[roles_used] = (
                self if is_same_table else replace(self, table=table, roles=roles_used, _parts={})
            )
        return self._parts[roles_used]

    def left_out(self, roles: Collection[str]) -> tuple[str, ...]:
        """Return notes on blank cells, and on rows left out because `roles` have missing cells in them."""
        columns, sentences = self.plan.columns, []
        complete, _ = complete_rows(self.frame, columns)
        for name in dict.fromkeys(name for role in roles for name in columns.of(role)):
            if count := int((complete & self.frame[name].isna().to_numpy()).sum()):
                rows = f"{counted(count, 'row')} in which it is missing"
                blank = " An empty cell may mean no claim. Then write 0." if name == columns.outcome else ""
                sentences.append(f"Figures that use “{name}” leave out {rows}.{blank}")
        return tuple(sentences)

    @cached_property
    def basis(self) -> Basis:
        """Basis functions of the sensitive attribute s.

        Raises
        ------
        DataError
            The attribute has too few values for a curve.
        """
        basis = basis_of(self.table)
        if len(basis.at) < 2:
            raise DataError.of(
                "a curve needs more values that occur in at least 20 rows",
                "Choose another column, or merge its values.",
                column=self.table.columns.sensitive,
            )
        return basis

    @cached_property
    def curve(self) -> Curve:
        """Curve of the price along the sensitive attribute s."""
        return fit_curve(self.table.price, self.table, self.basis)

    @cached_property
    def _tested(self) -> tuple[Measured, pd.DataFrame]:
        return gap_along(self.table, self.table.price, self.curve, self.plan)

    @property
    def independence(self) -> Measured:
        """Largest gap of the price's curve along the sensitive attribute."""
        return self._tested[0]

    @property
    def band(self) -> pd.DataFrame:
        """Confidence band of the price's curve."""
        return self._tested[1]

    @property
    def delta(self) -> float:
        """Largest acceptable gap, in units of the price."""
        return self.plan.gap_allowed(self.table.mean_price)

    @property
    def seed(self) -> int | None:
        return self.plan.random_state

    @property
    def cost(self) -> Array | None:
        """Expected cost or, if the user gave none, the outcome."""
        expected = self.table.expected_cost
        return self.table.outcome if expected is None else expected

    @property
    def costs(self) -> Costs | None:
        """Estimated cost of each policy, computed once for all questions; None without a cost or outcome."""
        return self.on("expected_cost", "outcome", "features")._costs

    @cached_property
    def _costs(self) -> Costs | None:
        table, cost = self.table, self.cost
        if cost is None or table.features.columns.empty or not float(table.weight @ cost) > 0:
            return None
        return learn_costs(
            table,
            tell=lambda share: self.report_progress("Estimating the expected cost", 6, 0.6 + 0.4 * share),
            random_state=self.seed,
        )

    def report_progress(self, message: str, question: int, part: float = 0.0) -> None:
        """Report the completed share `part` of a question's work."""
        self.tell(message, (question + part) / (max(QUESTIONS) + 1))

    def measure(self, name: str, each: Estimate, *, of_price: bool = True) -> dict[str, Any]:
        """Return a row for a measure, with amounts and shares of the mean price, or with plain numbers."""
        mean = self.table.mean_price if of_price else 1.0
        shares = {key: getattr(each, key) / mean for key in _MONEY}
        amounts = {money: getattr(each, key) if of_price else math.nan for key, money in _MONEY.items()}
        return {"measure": name, **shares, **amounts}


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered:
    """Answers for one attribute before the verdicts are known, as a map of question numbers to answers."""

    data: AuditData
    parts: Mapping[int, Part] = field(default_factory=dict)
    #: Result with verdicts, or None until the verdicts are known.
    result: Findings | None = None
    #: Answers for the second of two prices on the same rows, or None if only one price is audited.
    pair: Answered | None = None

    def answer_further(self, questions: Collection[int]) -> Answered:
        """Answer further questions, each from the data and the answers to previous questions."""
        parts = dict(self.parts)
        for number in sorted(questions):
            question = QUESTIONS[number]
            if question.is_answerable(self.data.table.columns):
                self.data.report_progress(question.title, number)
                n_dropped = self.data.left_out(question.uses)
                try:
                    part = question.answer(self.data, replace(self, parts=parts))
                except MissingPackageError as missing:
                    part = Part(sentences=(f"Not answered here: {missing}.",))
                except DataError as error:
                    if number == CRITERIA[self.data.plan.criterion].question or not n_dropped:
                        raise
                    part = Part(sentences=(f"Not answered: {error}",))
                parts[number] = replace(part, sentences=(*part.sentences, *n_dropped))
            elif question.missing:
                parts[number] = Part(sentences=(question.missing,))
        return replace(self, parts=parts)

    @property
    def criteria(self) -> dict[str, Measured]:
        """Map of criteria to estimates."""
        parts = [{"independence": self.data.independence}, *(part.criteria for part in self.parts.values())]
        return {name: each for criteria in parts for name, each in criteria.items()}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Map of names to tables; if two questions have a table of the same name, the later one is kept."""
        parts = [{"curve": self.data.band}, *(part.tables for part in self.parts.values())]
        return {name: table for part in parts for name, table in part.items()}

    @property
    def measures(self) -> Iterator[dict[str, Any]]:
        """Yield each question's measures: one row with shares and, if amounts are known, one with amounts."""
        for number, part in self.parts.items():
            for row in part.measures:
                key = {"question": number, "measure": row["measure"], "quantity": MEASURE}
                for unit, keys in ((SHARE, _MONEY), (AMOUNT, _MONEY.values())):
                    value, low, high = (row.get(key, math.nan) for key in keys)
                    if unit == SHARE or not math.isnan(value):
                        yield key | {"value": value, "low": low, "high": high, "unit": unit}


def gap_along(table: AuditTable, y: Array, curve: Curve, plan: AuditPlan) -> tuple[Measured, pd.DataFrame]:
    """Test the largest gap of the curve of y, (n,), along s; return the test and the curve's band."""
    gap, band = largest_gap(curve, plan.gap_allowed(table.mean_price), random_state=plan.random_state)
    p_any_link = p_of_any_link(table, y, random_state=plan.random_state)
    return Measured(
        found=gap, table=table, mean_price=table.mean_price, p_any_link=p_any_link, curve=curve
    ), band


def p_of_any_link(table: AuditTable, u: Array, *, random_state: int | None) -> float:
    """Return the p-value, in (0, 1], of independence of u (n,) and s, in a test against any kind of link."""
    rows, options = _test_options(table, random_state)
    return independence_test(u[rows], table.s_for_tests[rows], **options).p_value


def p_among_equals(
    table: AuditTable, u: Array, factors: tuple[str, ...], *, random_state: int | None
) -> float:
    """Return the p-value, in (0, 1], of the hypothesis that E[u|s, factors], u (n,), does not vary with s."""
    rows, options = _test_options(table, random_state)
    factor_cells = table.controls.loc[rows, list(factors)]
    s = table.s_for_tests[rows]
    return assess_conditional_dependence(u[rows], s, given=factor_cells, **options).p_value


def _test_options(table: AuditTable, random_state: int | None) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return the rows for a test, (n,), and options of the test: weights, groups and seed."""
    rows = table.deal < MAX_ROWS / table.n
    # Constant weights, and groups of one row, are left out, because they would require separate permutations.
    is_constant = np.ptp(table.weight) == 0
    return rows, {
        "sample_weight": None if is_constant else table.weight[rows],
        "groups": None if table.n_units == table.n else table.units[rows],
        "random_state": random_state,
    }


def data_of(
    frame: pd.DataFrame, plan: AuditPlan, *, tell: Progress, notes: tuple[str, ...] = ()
) -> list[AuditData]:
    """Return the data of each sensitive attribute, then of each combination of them with enough rows."""
    tables = [AuditTable.of(frame, columns, **plan.of_table) for columns in plan.columns.each]
    features = tuple(map(str, tables[0].features))
    crossings, crossing_notes = _data_of_crossings(frame, plan, features, tell=tell)
    attributes = []
    for table in tables:
        is_first = table is tables[0]
        all_notes = (*notes, *table.notes, *(crossing_notes if is_first else ()))
        data = AuditData(
            table=replace(table.on(()), notes=all_notes), frame=frame,
            plan=replace(plan, columns=table.columns), tell=tell, crossings=crossings if is_first else (),
            is_first=is_first,
        )  # fmt: skip
        # This access raises an error if the audit has too few rows for the primary criterion.
        data.on(*_primary_roles(plan))
        attributes.append(data)
    return [*attributes, *crossings]


def _primary_roles(plan: AuditPlan) -> Sequence[str]:
    roles_needed = QUESTIONS[CRITERIA[plan.criterion].question].needs
    return [roles_needed] if roles_needed else []


def _data_of_crossings(
    frame: pd.DataFrame, plan: AuditPlan, features: tuple[str, ...], *, tell: Progress
) -> tuple[tuple[AuditData, ...], tuple[str, ...]]:
    """Return the data of each combination of attributes, and sentences on combinations with too few rows."""
    crossings, sentences = [], []
    questions = plan.asked & QUESTIONS_OF_A_CROSSING
    # Only question 5 (who is undercharged) and question 10 (a second price) have tables along other columns.
    coverage = plan.columns.coverage if 5 in questions else None
    for names in plan.columns.crossings:
        name, cells = crossing_name(names), crossed_cells(frame, plan.columns, names)
        other_columns = [
            name for name in features if (questions & {5, 10} and name not in names) or name == coverage
        ]
        columns = replace(
            plan.columns, sensitive=name, also=(), probabilities=(), known_class=None,
            features=tuple(other_columns), coverage=coverage,
        )  # fmt: skip
        restricted = replace(plan, columns=columns, questions=tuple(sorted(questions)))
        extended = frame.assign(**{name: cells.codes})
        try:
            table = AuditTable.of(extended, columns, **plan.of_table)
            table = replace(table.on(()), classes=cells.names)
            data = AuditData(
                table=table, frame=extended, plan=restricted, tell=tell, cells=cells, is_first=False
            )
            cell_note = _note_on_small_cells(data)
            notes = (*table.notes, *filter(None, (cells.note, cell_note)))
            data = replace(data, table=replace(table, notes=notes), _parts={})
            # With too few rows or cells for the primary criterion, this access raises an error.
            _ = data.on(*_primary_roles(plan)).basis
        except DataError as error:
            sentences.append(f"fairdash can't judge the combination “{name}”: {error}")
            continue
        crossings.append(data)
    return tuple(crossings), tuple(sentences)


def crossed_cells(frame: pd.DataFrame, columns: Columns, names: Sequence[str]) -> Cells:
    """Return the cells of a combination; each numeric attribute has bands of about equal exposure."""
    exposure, groups = columns.exposure, columns.groups
    return cells_of(
        frame,
        names,
        weight=None if exposure is None else frame[exposure].to_numpy(float, na_value=np.nan),
        units=None if groups is None else pd.factorize(frame[groups])[0],
    )


def _note_on_small_cells(data: AuditData) -> str:
    """Return a sentence on rows in cells that are too small for a verdict; "" if there are none."""
    table = data.table
    if not (count := int((~np.isin(table.sensitive, data.basis.at)).sum())):
        return ""
    return (
        f"{counted(count, 'row')} of {table.n:,} are in cells of “{table.columns.sensitive}” with fewer than "
        f"{MIN_SHOWN} rows or policies. These cells get no verdict."
    )


def _answers_for_second_price(data: AuditData) -> Answered:
    """Return the answers for the second price alone, on the same rows."""
    assert data.table.candidate is not None
    columns = data.table.columns.of_candidate
    plan = replace(
        data.plan, columns=columns, questions=tuple(data.plan.asked & QUESTIONS_OF_EACH_PRICE), reliability=()
    )
    table = replace(data.table, price=data.table.candidate, candidate=None, columns=columns, notes=())
    frame = data.frame[data.frame[data.plan.columns.price].notna()]
    second = replace(data, table=table, frame=frame, plan=plan, crossings=(), roles=frozenset(), _parts={})
    return Answered(data=second).answer_further(plan.asked)
