"""Data that all questions of an audit share, computed once and frozen, and the result type of each answer.

The p-value of a criterion tests the hypothesis of no gap. A curve is flat if only the spread of the price
depends on s, so a second p-value tests for any kind of link. It comes from the omnibus test of several
measures (:mod:`fairdash.dependence.omnibus`). Given controls, it comes from double residuals times functions
of the factors (:mod:`fairdash.dependence.conditional`), which also detect effects with opposite signs.
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
from fairdash.auditing.gaps import (
    LEVEL,
    Estimate,
    Tested,
    largest_gap,
)
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

#: Questions that are answered for a second price separately; the others need both prices.
OF_EACH_PRICE = frozenset(range(1, 8))
#: Questions that are answered for a crossing, in addition to the primary criterion's. Question 4 is too slow
#: for 25 cells.
OF_A_CROSSING = frozenset({1, 2, 5, 10})
Array = NDArray[np.float64]

#: Function that receives the current step and the share completed, in [0, 1]; it may raise Cancelled to stop.
Progress = Callable[[str, float], None]
#: Maximum number of rows in a test of a link, drawn in whole units: with more, even negligible links show.
MAX_ROWS = 100_000
#: Fields of an estimate, with the columns that contain them as amounts.
_MONEY = {"value": "money", "ci_low": "money_low", "ci_high": "money_high"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured:
    """Estimate of a criterion, to compare with the largest acceptable gap.

    Attributes
    ----------
    found
        The estimate with its inference; its p-value tests the hypothesis of no gap.
    p_any_link
        p-value of the hypothesis of no link of any kind; NaN if not tested.
    table
        The rows that the estimate uses.
    mean_price
        Mean price of the question's rows, to which shares refer.
    curve
        Source of the largest gap; None if it is not the gap of a curve.
    """

    found: Tested
    table: AuditTable
    mean_price: float
    p_any_link: float = math.nan
    curve: Curve | None = None

    def any_link_in_words(self, between: str = "") -> str:
        """Describe the test of any link, which may detect a link that the averages don't show."""
        p = f"({p_equals(self.p_any_link)})"
        if self.p_any_link > LEVEL:
            return f"A joint test of several measures finds no link of any kind{between} {p}."
        if self.found.p_value > LEVEL:
            return (
                f"A joint test of several measures finds a link{between} {p}. The averages do not show this "
                "link, but the spread may."
            )
        return f"A joint test of several measures also finds a link{between} {p}."

    def rows_needed(self, plan: AuditPlan) -> float:
        """Return the number of similar rows needed to show a gap below the largest acceptable gap."""
        return float(np.ceil(self.table.n * (self.found.smallest / plan.gap_allowed(self.mean_price)) ** 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Part of the result that answers one question.

    Attributes
    ----------
    sentences
        The answer, followed by further sentences.
    tables
        Map of names to frames.
    measures
        Rows for the result's measures, from :meth:`AuditData.measure`.
    criteria
        Map of the criteria that the question measures to their estimates.
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
    """Input shared by the questions: the rows, the plan and the price's curve.

    Attributes
    ----------
    table
        The rows, cleaned and sorted.
    frame
        The input frame, including rows without the attribute.
    plan
        Plan of the audit, with the columns of the table.
    tell
        Function that receives progress.
    cells
        Cells of a crossing of attributes, which is audited like an attribute with the cells as its classes.
    crossings
        Data of each crossing, if this is the first attribute.
    is_first
        Whether this is the first attribute. Class probabilities have no attribute and are reported with it.
    roles
        Optional roles without missing cells in these rows.
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
        """Return the data of the rows in which the cells of further optional roles are known.

        Raises
        ------
        DataError
            There are too few such rows.
        """
        columns = self.plan.columns
        cost = "expected_cost" if columns.expected_cost else "outcome"
        wanted = self.roles | {cost if each == "cost" else each for each in roles}
        if wanted not in self._parts:
            table = self.table.on(wanted)
            same = table is self.table
            self._parts[wanted] = self if same else replace(self, table=table, roles=wanted, _parts={})
        return self._parts[wanted]

    def left_out(self, roles: Collection[str]) -> tuple[str, ...]:
        """Return notes on the rows that results leave out, given these column roles, and on blank cells."""
        columns, said = self.plan.columns, []
        kept, _ = complete_rows(self.frame, columns)
        for name in dict.fromkeys(name for role in roles for name in columns.of(role)):
            if count := int((kept & self.frame[name].isna().to_numpy()).sum()):
                rows = f"{counted(count, 'row')} in which it is missing"
                blank = " An empty cell may mean no claim: write 0 there." if name == columns.outcome else ""
                said.append(f"Figures that use “{name}” leave out {rows}.{blank}")
        return tuple(said)

    @cached_property
    def basis(self) -> Basis:
        """Basis functions of s.

        Raises
        ------
        DataError
            The attribute has too few values for a curve.
        """
        basis = basis_of(self.table)
        if len(basis.at) < 2:
            raise DataError.of(
                "too few of its values have 20 rows or more for a curve",
                "Choose another column, or merge its values.",
                column=self.table.columns.sensitive,
            )
        return basis

    @cached_property
    def curve(self) -> Curve:
        """Curve of the price along s."""
        return fit_curve(self.table.price, self.table, self.basis)

    @cached_property
    def _tested(self) -> tuple[Measured, pd.DataFrame]:
        return gap_along(self.table, self.table.price, self.curve, self.plan)

    @property
    def independence(self) -> Measured:
        """Largest gap of the price's curve."""
        return self._tested[0]

    @property
    def band(self) -> pd.DataFrame:
        """Band of the price's curve."""
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
        """Expected cost if given, or else the outcome."""
        own = self.table.expected_cost
        return self.table.outcome if own is None else own

    @property
    def costs(self) -> Costs | None:
        """Estimated cost of each policy, computed once for all questions; None without data to learn from."""
        return self.on("expected_cost", "outcome", "features")._costs

    @cached_property
    def _costs(self) -> Costs | None:
        table, cost = self.table, self.cost
        if cost is None or table.features.columns.empty or not float(table.weight @ cost) > 0:
            return None
        return learn_costs(
            table,
            tell=lambda share: self.say("Estimating the expected cost", 6, 0.6 + 0.4 * share),
            random_state=self.seed,
        )

    def say(self, doing: str, question: int, part: float = 0.0) -> None:
        """Report progress: the share `part` of a question's work is done."""
        self.tell(doing, (question + part) / (max(QUESTIONS) + 1))

    def measure(self, name: str, each: Estimate, *, of_price: bool = True) -> dict[str, Any]:
        """Return a row of the measures with shares of the mean price and amounts, or with plain numbers."""
        mean = self.table.mean_price if of_price else 1.0
        shares = {key: getattr(each, key) / mean for key in _MONEY}
        amounts = {money: getattr(each, key) if of_price else math.nan for key, money in _MONEY.items()}
        return {"measure": name, **shares, **amounts}


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered:
    """Findings for one attribute before verdicts, as a map of questions to parts."""

    data: AuditData
    parts: Mapping[int, Part] = field(default_factory=dict)
    #: Result with verdicts, if they are known.
    result: Findings | None = None
    #: Findings for the other price: those of the second price by itself, or of the first on the same rows.
    pair: Answered | None = None

    def go_on(self, questions: Collection[int]) -> Answered:
        """Answer further questions, each from the data and the previous parts."""
        parts = dict(self.parts)
        for number in sorted(questions):
            question = QUESTIONS[number]
            if question.is_answerable(self.data.table.columns):
                self.data.say(question.title, number)
                left_out = self.data.left_out(question.uses)
                try:
                    part = question.answer(self.data, replace(self, parts=parts))
                except MissingPackageError as missing:
                    part = Part(sentences=(f"Not answered here: {missing}.",))
                except DataError as error:
                    if number == CRITERIA[self.data.plan.criterion].question or not left_out:
                        raise
                    part = Part(sentences=(f"Not answered: {error}",))
                parts[number] = replace(part, sentences=(*part.sentences, *left_out))
            elif question.missing:
                parts[number] = Part(sentences=(question.missing,))
        return replace(self, parts=parts)

    @property
    def criteria(self) -> dict[str, Measured]:
        """Estimate for each criterion."""
        found = [{"independence": self.data.independence}, *(part.criteria for part in self.parts.values())]
        return {name: each for criteria in found for name, each in criteria.items()}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables; if two questions share a name, the later question's table replaces the earlier one."""
        found = [{"curve": self.data.band}, *(part.tables for part in self.parts.values())]
        return {name: table for part in found for name, table in part.items()}

    @property
    def measures(self) -> Iterator[dict[str, Any]]:
        """Yield the measures of all parts as rows of the figures: shares, and amounts if known."""
        for number, part in self.parts.items():
            for row in part.measures:
                key = {"question": number, "measure": row["measure"], "quantity": MEASURE}
                for unit, ends in ((SHARE, _MONEY), (AMOUNT, _MONEY.values())):
                    value, low, high = (row.get(each, math.nan) for each in ends)
                    if unit == SHARE or not math.isnan(value):
                        yield key | {"value": value, "low": low, "high": high, "unit": unit}


def gap_along(table: AuditTable, y: Array, curve: Curve, plan: AuditPlan) -> tuple[Measured, pd.DataFrame]:
    """Test the largest gap of y's curve (n,) along s against the plan's threshold, and return its band."""
    gap, band = largest_gap(curve, plan.gap_allowed(table.mean_price), random_state=plan.random_state)
    p_any_link = p_of_any_link(table, y, random_state=plan.random_state)
    return Measured(
        found=gap, table=table, mean_price=table.mean_price, p_any_link=p_any_link, curve=curve
    ), band


def p_of_any_link(table: AuditTable, u: Array, *, random_state: int | None) -> float:
    """Return the p-value, in (0, 1], of independence between u (n,) and s against any kind of link."""
    rows, counted = _counted(table, random_state)
    return independence_test(u[rows], table.s_for_tests[rows], **counted).p_value


def p_among_equals(
    table: AuditTable, u: Array, factors: tuple[str, ...], *, random_state: int | None
) -> float:
    """Return the p-value, in (0, 1], of no link between the mean of u (n,) and s given the factors."""
    rows, counted = _counted(table, random_state)
    given = table.controls.loc[rows, list(factors)]
    s = table.s_for_tests[rows]
    return assess_conditional_dependence(u[rows], s, given=given, **counted).p_value


def _counted(table: AuditTable, random_state: int | None) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return the rows that a test uses, (n,), with options for their weights, groups and seed."""
    rows = table.deal < MAX_ROWS / table.n
    # Constant weights or groups would need a second set of permutations.
    alike = np.ptp(table.weight) == 0
    return rows, {
        "sample_weight": None if alike else table.weight[rows],
        "groups": None if table.n_units == table.n else table.units[rows],
        "random_state": random_state,
    }


def data_of(
    frame: pd.DataFrame, plan: AuditPlan, *, tell: Progress, notes: tuple[str, ...] = ()
) -> list[AuditData]:
    """Return the data of each sensitive attribute and of each crossing that can be judged."""
    tables = [AuditTable.of(frame, columns, **plan.of_table) for columns in plan.columns.each]
    crossed, unjudged = _crossed(frame, plan, tuple(map(str, tables[0].features)), tell=tell)
    found = []
    for table in tables:
        is_first = table is tables[0]
        more = (*notes, *table.notes, *(unjudged if is_first else ()))
        data = AuditData(
            table=replace(table.on(()), notes=more), frame=frame, plan=replace(plan, columns=table.columns),
            tell=tell, crossings=crossed if is_first else (), is_first=is_first,
        )  # fmt: skip
        # An audit without rows for the primary criterion is an error.
        data.on(*_primary_roles(plan))
        found.append(data)
    return [*found, *crossed]


def _primary_roles(plan: AuditPlan) -> Sequence[str]:
    needed = QUESTIONS[CRITERIA[plan.criterion].question].needs
    return [needed] if needed else []


def _crossed(
    frame: pd.DataFrame, plan: AuditPlan, features: tuple[str, ...], *, tell: Progress
) -> tuple[tuple[AuditData, ...], tuple[str, ...]]:
    """Return the data of each crossing of sensitive attributes, and sentences on crossings not judged."""
    found, said = [], []
    asked = plan.asked & OF_A_CROSSING
    # Only questions 5 and 10 have tables along other columns.
    coverage = plan.columns.coverage if 5 in asked else None
    for names in plan.columns.crossings:
        name, cells = crossing_name(names), crossed_cells(frame, plan.columns, names)
        others = [each for each in features if (asked & {5, 10} and each not in names) or each == coverage]
        columns = replace(
            plan.columns, sensitive=name, also=(), probabilities=(), known_class=None,
            features=tuple(others), coverage=coverage,
        )  # fmt: skip
        own = replace(plan, columns=columns, questions=tuple(sorted(asked)))
        whole = frame.assign(**{name: cells.codes})
        try:
            table = AuditTable.of(whole, columns, **plan.of_table)
            table = replace(table.on(()), classes=cells.names)
            data = AuditData(table=table, frame=whole, plan=own, tell=tell, cells=cells, is_first=False)
            rest = _not_judged(data)
            notes = (*table.notes, *filter(None, (cells.note, rest)))
            data = replace(data, table=replace(table, notes=notes), _parts={})
            # An error on too few rows or cells for the primary criterion is raised here.
            _ = data.on(*_primary_roles(plan)).basis
        except DataError as error:
            said.append(f"fairdash can't judge the crossing “{name}”: {error}")
            continue
        found.append(data)
    return tuple(found), tuple(said)


def crossed_cells(frame: pd.DataFrame, columns: Columns, names: Sequence[str]) -> Cells:
    """Return the cells of a crossing, with bands of about equal exposure and policies as units."""
    exposure, groups = columns.exposure, columns.groups
    return cells_of(
        frame,
        names,
        weight=None if exposure is None else frame[exposure].to_numpy(float, na_value=np.nan),
        units=None if groups is None else pd.factorize(frame[groups])[0],
    )


def _not_judged(data: AuditData) -> str:
    """Return a sentence on the rows of cells with too few rows or policies to be judged; "" if none."""
    table = data.table
    if not (rest := int((~np.isin(table.sensitive, data.basis.at)).sum())):
        return ""
    return (
        f"{counted(rest, 'row')} of {table.n:,} are in cells of “{table.columns.sensitive}” with fewer than "
        f"{MIN_SHOWN} rows or policies. These cells are not judged."
    )


def _of_second_price(data: AuditData) -> Answered:
    """Return the findings for the second price alone, on the same rows."""
    assert data.table.candidate is not None
    columns = data.table.columns.of_candidate
    plan = replace(
        data.plan, columns=columns, questions=tuple(data.plan.asked & OF_EACH_PRICE), reliability=()
    )
    table = replace(data.table, price=data.table.candidate, candidate=None, columns=columns, notes=())
    frame = data.frame[data.frame[data.plan.columns.price].notna()]
    second = replace(data, table=table, frame=frame, plan=plan, crossings=(), roles=frozenset(), _parts={})
    return Answered(data=second).go_on(plan.asked)
