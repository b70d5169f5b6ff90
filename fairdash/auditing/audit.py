"""The verb ``fairdash.audit``: a frame of prices in, answers with verdicts out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing import words
from fairdash.auditing.basis import Basis, basis_of
from fairdash.auditing.bridge import Bridge, Estimate, chosen_bridge, fixed_bridge, typical_gap
from fairdash.auditing.columns import columns_of
from fairdash.auditing.conclusion import conclude, decide, together
from fairdash.auditing.controlled import controlled_curve
from fairdash.auditing.curve import Curve, fit_curve
from fairdash.auditing.dearest import dearest_curve
from fairdash.auditing.evidence import environment, hash_of_rows
from fairdash.auditing.gaps import Band, Gap, largest_gap
from fairdash.auditing.learned import costs_of, through_what, what_instead
from fairdash.auditing.links import p_among_equals, p_of_any_link
from fairdash.auditing.money_answers import how_much_money, insurance_views
from fairdash.auditing.plan import CRITERIA, QUESTIONS, AuditPlan
from fairdash.auditing.premiums import Costs
from fairdash.auditing.result import AuditResult
from fairdash.auditing.sureness import how_sure
from fairdash.auditing.surface import Surface, autocalibration, bias_surface
from fairdash.auditing.table import AuditTable
from fairdash.auditing.two_prices import OF_EACH_PRICE, compare
from fairdash.errors import DataError
from fairdash.text import few

Array = NDArray[np.float64]

#: Told what is being done and how much of the whole is, in [0, 1]; it may raise Cancelled to stop.
Progress = Callable[[str, float], None]


def audit(
    frame: pd.DataFrame,
    *,
    price: str,
    sensitive: str | Sequence[str],
    exposure: str | None = None,
    outcome: str | None = None,
    controls: Sequence[str] = (),
    criterion: str = "independence",
    expected_cost: str | None = None,
    candidate: str | None = None,
    groups: str | None = None,
    reliability: float | Sequence[float] | None = None,
    max_gap: float = 0.05,
    questions: str | Sequence[int] = "all",
    totals: Sequence[str] = (),
    features: Sequence[str] | None = None,
    random_state: int | None = 0,
    against: AuditResult | str | PathLike[str] | None = None,
) -> AuditResult:
    """Say whether a price follows a sensitive attribute, where, whether it is earned, and how sure that is.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names. Rows with a missing cell in a column that is
        named are left out and counted.
    price, sensitive
        Columns of the price or prediction π, per unit of exposure, and of the attribute s that it must not
        follow. Several attributes are audited one after another, with Holm's correction over them.
    exposure
        Column that says how much a row counts; all means are weighted by it.
    outcome, expected_cost
        Columns of claims or cost Y, and of the user's own expectation of it, per unit of exposure.
    controls
        Columns of factors that are named as legitimate, numbers or not.
    criterion
        The primary one, named before results are seen: ``"independence"``, ``"conditional_independence"``,
        ``"sufficiency"`` or ``"equalized_residuals"``.
    candidate
        Column of a second price: every answer is given for both, with the difference.
    groups
        Column of what rows have in common, such as a policy: folds and variances are by group.
    reliability
        Shares of the attribute's variance that are no error of measurement, in (0, 1]: the direction gap and
        the curve without such an error, at these and at 1, .9, .7 and .5.
    max_gap
        δ, the threshold for the largest gap as a share of the mean price, in (0, 1).
    questions
        Numbers of the questions to answer, or ``"all"``; the primary criterion's is always answered.
    totals
        Those of the columns that are sums over the exposure, and are divided by it.
    against
        Another audit, or where one was saved: see :meth:`AuditResult.compare`.
    features
        Columns of what the price may be made of, numbers or not: what models of it and of the outcome learn
        from. By default every column without another role.

    Returns
    -------
    AuditResult
        ``verdict`` is ``"below"``, ``"above"`` or ``"undecided"``.

    Raises
    ------
    OptionError
        A column or an option that can't be used, or a primary criterion whose input is missing.
    DataError
        A column that can't be what it is said to be; fewer than 100 complete rows or groups.
    """
    columns = columns_of(
        price,
        sensitive,
        exposure=exposure,
        outcome=outcome,
        controls=controls,
        expected_cost=expected_cost,
        candidate=candidate,
        groups=groups,
        totals=totals,
        features=features,
    )
    plan = AuditPlan.of(
        columns,
        criterion=criterion,
        max_gap=max_gap,
        questions=questions,
        reliability=reliability,
        random_state=random_state,
    )
    result = carry_out(frame, plan)
    return result if against is None else result.compare(against)


def carry_out(
    frame: pd.DataFrame,
    plan: AuditPlan,
    *,
    origin: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Carry out a plan on a frame; see :func:`audit` for what it gives and raises.

    Parameters
    ----------
    origin
        Where the frame came from, as :class:`~fairdash.auditing.evidence.KeptPlan` has it.
    progress
        Told what is being done and the share that is, before each step; may raise
        :class:`~fairdash.errors.Cancelled`.
    """
    names = plan.columns.each
    parts, done = len(names) * (1 if plan.columns.candidate is None or 10 not in plan.asked else 2), 0

    def tell(doing: str, share: float) -> None:
        if progress is not None:
            progress(doing, (done + share) / parts)

    tell("Reading the rows", 0.0)
    tables = [AuditTable.of(frame, columns, random_state=plan.random_state) for columns in names]
    works, others = [], []
    for table in tables:
        own = replace(plan, columns=table.columns)
        work = _answered(_Work(table=table, frame=frame, plan=own, tell=tell))
        works.append(work)
        done += 1
        if table.candidate is None or 10 not in plan.asked:
            continue
        columns = table.columns.of_candidate
        same = replace(own, columns=columns, questions=tuple(own.asked & OF_EACH_PRICE), reliability=())
        seen = replace(table, price=table.candidate, candidate=None, columns=columns, notes=())
        others.append(_answered(_Work(table=seen, frame=frame, plan=same, tell=tell)))
        done += 1
    verdicts = decide(works)
    for work, second, of_second in zip(works, others, decide(others), strict=False):
        compare(work, second, conclude(second, of_second))
    origin = {**(origin or {}), "rows_sha256": hash_of_rows(frame, plan.columns)}
    results = [conclude(work, said, origin) for work, said in zip(works, verdicts, strict=True)]
    tell("Done", 0.0)
    return replace(together(results, plan), made_with=environment())


def _answered(work: _Work) -> _Work:
    """The work, with every question asked answered but for what its verdicts are."""
    work.price_curve()
    for question, answer in _ANSWERS.items():
        if question in work.plan.asked:
            work.tell(QUESTIONS[question], work.share(question, 0))
            answer(work)
    return work


@dataclass(kw_only=True)
class _Work:
    """What has been found so far."""

    table: AuditTable
    frame: pd.DataFrame
    plan: AuditPlan
    tell: Progress
    basis: Basis = field(init=False)
    curve: Curve = field(init=False)
    found: dict[str, Gap | Surface] = field(default_factory=dict)
    curves: dict[str, tuple[Curve, AuditTable]] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    p_values: dict[str, float] = field(default_factory=dict)
    band: Band = field(init=False)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    measures: list[dict[str, Any]] = field(default_factory=list)
    #: Question to its answer, and what more is said.
    sentences: dict[int, tuple[str, ...]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def delta(self) -> float:
        """The largest gap allowed, in units of the price."""
        return self.plan.max_gap * self.table.mean_price

    @property
    def seed(self) -> int | None:
        return self.plan.random_state

    def price_curve(self) -> None:
        self.basis = basis_of(self.table)
        if len(self.basis.at) < 2:
            raise DataError.of(
                "it has too few values with 20 rows or more to draw a curve along",
                "Choose another column, or join its values.",
                column=self.table.columns.sensitive,
            )
        self.curve = fit_curve(self.table.price, self.table, self.basis)
        self.curves["independence"] = self.curve, self.table
        gap, self.band = largest_gap(self.curve, self.delta, random_state=self.seed)
        self.found["independence"], self.units["independence"] = gap, self.table.n
        self.p_values["independence"] = p_of_any_link(self.table, self.table.price, random_state=self.seed)
        self.tables["curve"] = self.band.frame()

    def share(self, question: int, part: float) -> float:
        """The share of the whole that is done, with a part of a question's work done."""
        return (question + part) / (max(QUESTIONS) + 1)

    @cached_property
    def costs(self) -> Costs | None:
        """What policies cost, learned once for all questions; None where there is nothing to learn from."""
        return costs_of(self)

    @property
    def cost(self) -> Array | None:
        """What is expected: the user's own, or the outcome."""
        own = self.table.expected_cost
        return self.table.outcome if own is None else own

    def measure(self, question: int, name: str, each: Estimate, *, of_price: bool = True) -> None:
        mean = self.table.mean_price if of_price else 1.0
        row: dict[str, Any] = {"question": question, "measure": name}
        for key in ("value", "ci_low", "ci_high"):
            row[key] = getattr(each, key) / mean
        for key, money in (("value", "money"), ("ci_low", "money_low"), ("ci_high", "money_high")):
            row[money] = getattr(each, key) if of_price else math.nan
        self.measures.append(row)


def _does_it_follow(work: _Work) -> None:
    gap = work.found["independence"]
    assert isinstance(gap, Gap)
    work.sentences[1] = words.follows(
        gap, work.table.mean_price, work.table.columns.sensitive, any_link=work.p_values["independence"]
    )
    work.measure(1, "direction", fixed_bridge(work.table, work.basis, work.curve, None).gap)
    typical, _ = typical_gap(work.table, work.basis, work.curve)
    work.measure(1, "typical_gap", typical)
    if work.table.candidate is not None:
        curve = fit_curve(work.table.candidate, work.table, work.basis)
        other, band = largest_gap(curve, work.delta, random_state=work.seed)
        work.tables["candidate_curve"] = band.frame()
        work.measure(
            1, "candidate_gap", Estimate(value=other.value, ci_low=other.ci_low, ci_high=other.ci_high)
        )


def _where(work: _Work) -> None:
    gap = work.found["independence"]
    assert isinstance(gap, Gap)
    named = [
        f"the rows {kind} the {'5th' if kind == 'below' else '95th'} percentile"
        if kind in ("below", "above")
        else f"{at:,.4g}"
        for kind, at in zip(work.basis.kind, work.basis.at, strict=True)
    ]
    name = work.table.columns.sensitive
    said = words.where(gap, work.band, named, work.table.mean_price, name)
    dearest = dearest_curve(work.table, work.basis, random_state=work.seed)
    if dearest is not None:
        work.tables["dearest_curve"] = dearest[0].frame()
    work.sentences[2] = (said, *([] if dearest is None else [words.dearest(*dearest, name)]))


def _is_it_earned(work: _Work) -> None:
    chosen = chosen_bridge(work.table, work.cost)
    fixed = fixed_bridge(work.table, work.basis, work.curve, work.cost)
    points = []
    for name, bridge in (("", chosen), ("_s10_s90", fixed)):
        if bridge is not None:
            _measure_bridge(work, bridge, name)
            for k, (low, high) in enumerate(zip(bridge.low, bridge.high, strict=True), start=1):
                points.append({"measure": f"gap{name}", "part": k, "from": low, "to": high})
    work.tables["bridge_points"] = pd.DataFrame(points)
    mean, name = work.table.mean_price, work.table.columns.sensitive
    if chosen is None:
        work.notes.append("Too few rows to choose the lowest and highest point on one half of them.")
    work.sentences[3] = (words.earned(fixed if chosen is None else chosen, mean, name),)


def _measure_bridge(work: _Work, bridge: Bridge, name: str) -> None:
    for part in ("gap", "earned", "left"):
        each = getattr(bridge, part)
        if each is not None:
            work.measure(3, f"{part}{name}", each)


def _among_equals(work: _Work) -> None:
    table = work.table
    factors = table.columns.controls
    if not factors:
        work.sentences[4] = (CRITERIA["conditional_independence"].missing,)
        return
    sets = [factors] if len(factors) == 1 else [factors, *((each,) for each in factors)]
    for k, among in enumerate(sets):
        work.tell(f"{QUESTIONS[4]} {few(among)}", work.share(4, k / len(sets)))
        part = controlled_curve(table, table.price, among, random_state=work.seed)
        gap, band = largest_gap(part.curve, work.delta, random_state=work.seed)
        if among is factors:
            work.found["conditional_independence"] = gap
            work.curves["conditional_independence"] = part.curve, part.table
            work.units["conditional_independence"] = part.table.n
            p_value = p_among_equals(table, table.price, among, random_state=work.seed)
            work.p_values["conditional_independence"] = p_value
            work.tables["controlled_curve"] = band.frame()
            said = words.among_equals(gap, table.mean_price, among, any_link=p_value)
            drawn = f"Looked at on {part.table.n:,} rows drawn at random."
            work.sentences[4] = (*said, *([drawn] if part.table.n < table.n else []))
        if len(among) == 1:
            each = Estimate(value=gap.value, ci_low=gap.ci_low, ci_high=gap.ci_high)
            work.measure(4, f"among_equals_in_{among[0]}", each)


def _undercharged(work: _Work) -> None:
    table = work.table
    if table.outcome is None:
        work.sentences[5] = (CRITERIA["sufficiency"].missing,)
        return
    surface = bias_surface(table, work.delta, random_state=work.seed)
    calibrated = autocalibration(table, work.delta, random_state=work.seed)
    off = table.outcome_at_price_level - table.price
    curve = fit_curve(off, table, work.basis)
    residuals, band = largest_gap(curve, work.delta, random_state=work.seed)
    work.curves["equalized_residuals"] = curve, table
    work.p_values["equalized_residuals"] = p_of_any_link(table, off, random_state=work.seed)
    work.found |= {"sufficiency": surface, "equalized_residuals": residuals}
    work.units |= dict.fromkeys(("sufficiency", "equalized_residuals"), table.n)
    work.tables["residual_curve"] = band.frame()
    work.tables["bias_surface"], work.tables["autocalibration"] = surface.cells, calibrated.cells
    work.measure(
        5,
        "autocalibration",
        Estimate(value=calibrated.value, ci_low=calibrated.ci_low, ci_high=calibrated.ci_high),
    )
    work.measures.append({"question": 5, "measure": "loss_ratio", "value": table.loss_ratio})
    work.sentences[5] = words.undercharged(
        surface,
        residuals,
        calibrated,
        mean=table.mean_price,
        loss_ratio=table.loss_ratio,
        name=table.columns.sensitive,
    )
    insurance_views(work)


#: What answers each question, in order.
_ANSWERS = {
    1: _does_it_follow,
    2: _where,
    3: _is_it_earned,
    4: _among_equals,
    5: _undercharged,
    6: through_what,
    7: how_much_money,
    8: what_instead,
    9: how_sure,
}
