"""Data that all questions of an audit share, computed once and frozen, and the result type of each answer.

The verdict on a curve comes with a p-value for any kind of link, because the curve is flat if only the spread
of the price follows s. The p-value comes from the omnibus test of several measures
(:mod:`fairdash.dependence.omnibus`) and, among equals, from double residuals times functions of the factors
(:mod:`fairdash.dependence.conditional`), which detect effects of opposite sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.curve import Basis, Curve, basis_of, fit_curve
from fairdash.auditing.gaps import Estimate, Tested, largest_gap
from fairdash.auditing.models.premiums import Costs, learn_costs
from fairdash.auditing.plan import QUESTIONS, AuditPlan
from fairdash.auditing.result import Findings
from fairdash.auditing.table import AuditTable
from fairdash.dependence.conditional import assess_conditional_dependence
from fairdash.dependence.omnibus import independence_test
from fairdash.errors import DataError, MissingPackageError

Array = NDArray[np.float64]

#: Told what is being done and how much of the whole is, in [0, 1]; it may raise Cancelled to stop.
Progress = Callable[[str, float], None]
#: Rows, of units drawn by the seed, that a test of a link looks at; from there on it finds the faintest one.
MOST_ROWS = 100_000
#: An estimate's fields, and the columns of its amounts.
_MONEY = {"value": "money", "ci_low": "money_low", "ci_high": "money_high"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured:
    """Estimate of a criterion, to compare with the largest acceptable gap.

    Attributes
    ----------
    found
        The number, with all that can be said of it.
    p_value
        Of no link of any kind.
    table
        The rows that were looked at.
    curve
        Source of the largest gap; None if it is not the gap of a curve.
    """

    found: Tested
    p_value: float
    table: AuditTable
    curve: Curve | None = None

    def rows_needed(self, delta: float) -> float:
        """Return the whole number of similar rows that would show a gap of δ, in units of the price."""
        return float(np.ceil(self.table.n * (self.found.smallest / delta) ** 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Part of the result that answers one question.

    Attributes
    ----------
    sentences
        The answer, and what more is said.
    tables
        Name to frame.
    measures
        Rows of the result's measures, as :meth:`AuditData.measure` makes them.
    criteria
        Those of the criteria that it has measured.
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
        The table as it came: rows without the attribute are looked at, too.
    plan
        Plan of the audit; its columns are the table's.
    basis, curve, band
        The price along s.
    independence
        Its largest gap.
    tell
        Told of progress.
    also
        The further sensitive attributes that this one is crossed with.
    second
        Findings on the second price by itself, once available.
    """

    table: AuditTable
    frame: pd.DataFrame
    plan: AuditPlan
    basis: Basis
    curve: Curve
    band: pd.DataFrame
    independence: Measured
    tell: Progress
    also: tuple[str, ...] = ()
    second: Answered | None = None

    @classmethod
    def of(cls, table: AuditTable, frame: pd.DataFrame, plan: AuditPlan, *, tell: Progress) -> AuditData:
        """Prepare the input and fit the price's curve.

        Raises
        ------
        DataError
            The attribute has too few values for one.
        """
        basis = basis_of(table)
        if len(basis.at) < 2:
            raise DataError.of(
                "too few of its values have 20 rows or more for a curve",
                "Choose another column, or merge its values.",
                column=table.columns.sensitive,
            )
        first, band = along(table, table.price, basis, plan)
        assert first.curve is not None
        return cls(
            table=table, frame=frame, plan=plan, basis=basis, curve=first.curve, band=band,
            independence=first, tell=tell,
        )  # fmt: skip

    @property
    def delta(self) -> float:
        """Largest acceptable gap, in units of the price."""
        return self.plan.gap_allowed(self.table.mean_price)

    @property
    def seed(self) -> int | None:
        return self.plan.random_state

    @property
    def cost(self) -> Array | None:
        """Expected cost: your own, or the outcome."""
        own = self.table.expected_cost
        return self.table.outcome if own is None else own

    @cached_property
    def costs(self) -> Costs | None:
        """Learned cost of policies, computed once for all questions; None without data to learn from."""
        table, cost = self.table, self.cost
        if cost is None or table.features.columns.empty or not float(table.weight @ cost) > 0:
            return None
        return learn_costs(
            table,
            tell=lambda share: self.say("Estimating the expected cost", 6, 0.6 + 0.4 * share),
            random_state=self.seed,
        )

    def say(self, doing: str, question: int, part: float = 0.0) -> None:
        """Report progress: part of a question's work is done."""
        self.tell(doing, (question + part) / (max(QUESTIONS) + 1))

    def measure(self, name: str, each: Estimate, *, of_price: bool = True) -> dict[str, Any]:
        """Return a row of the measures: shares of the mean price with amounts, or plain numbers."""
        mean = self.table.mean_price if of_price else 1.0
        shares = {key: getattr(each, key) / mean for key in _MONEY}
        amounts = {money: getattr(each, key) if of_price else math.nan for key, money in _MONEY.items()}
        return {"measure": name, **shares, **amounts}


@dataclass(frozen=True, eq=False, kw_only=True)
class Answered:
    """Findings along one attribute, before verdicts: the parts by question."""

    data: AuditData
    parts: Mapping[int, Part] = field(default_factory=dict)
    #: With its verdicts, where these are known already.
    result: Findings | None = None

    def go_on(self, questions: Collection[int]) -> Answered:
        """Answer further questions, each from the data and from earlier parts."""
        parts = dict(self.parts)
        for number in sorted(questions):
            question = QUESTIONS[number]
            if question.is_answerable(self.data.table.columns):
                self.data.say(question.title, number)
                try:
                    parts[number] = question.answer(self.data, Answered(data=self.data, parts=parts))
                except MissingPackageError as missing:
                    parts[number] = Part(sentences=(f"Not answered here: {missing}.",))
            elif question.missing:
                parts[number] = Part(sentences=(question.missing,))
        return replace(self, parts=parts)

    @property
    def criteria(self) -> dict[str, Measured]:
        """Estimates of each criterion."""
        found = [{"independence": self.data.independence}, *(part.criteria for part in self.parts.values())]
        return {name: each for criteria in found for name, each in criteria.items()}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables; if two questions share a name, the later question's table replaces the earlier one."""
        found = [{"curve": self.data.band}, *(part.tables for part in self.parts.values())]
        return {name: table for part in found for name, table in part.items()}

    @property
    def measures(self) -> pd.DataFrame:
        """Measures of all parts, with their question numbers."""
        rows = [{"question": number, **row} for number, part in self.parts.items() for row in part.measures]
        return pd.DataFrame(rows, columns=["question", "measure", *_MONEY, *_MONEY.values()])


def along(table: AuditTable, y: Array, basis: Basis, plan: AuditPlan) -> tuple[Measured, pd.DataFrame]:
    """Test the largest gap of y's curve (n,) along s against the plan's threshold, and return its band."""
    curve = fit_curve(y, table, basis)
    gap, band = largest_gap(curve, plan.gap_allowed(table.mean_price), random_state=plan.random_state)
    p_value = p_of_any_link(table, y, random_state=plan.random_state)
    return Measured(found=gap, p_value=p_value, table=table, curve=curve), band


def p_of_any_link(table: AuditTable, u: Array, *, random_state: int | None) -> float:
    """Return the p-value of independence between u (n,) and s, against any kind of link, in (0, 1]."""
    rows, counted = _counted(table, random_state)
    return independence_test(u[rows], table.s_for_tests[rows], **counted).p_value


def p_among_equals(
    table: AuditTable, u: Array, factors: tuple[str, ...], *, random_state: int | None
) -> float:
    """Return the p-value of no link between the mean of u (n,) and s given the factors, in (0, 1]."""
    rows, counted = _counted(table, random_state)
    given = table.controls.loc[rows, list(factors)]
    s = table.s_for_tests[rows]
    return assess_conditional_dependence(u[rows], s, given=given, **counted).p_value


def _counted(table: AuditTable, random_state: int | None) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Note on the rows and their weights."""
    rows = table.deal < MOST_ROWS / table.n
    # Weights and groups that say nothing would cost a second set of permutations.
    alike = np.ptp(table.weight) == 0
    return rows, {
        "sample_weight": None if alike else table.weight[rows],
        "groups": None if table.n_units == table.n else table.units[rows],
        "random_state": random_state,
    }
