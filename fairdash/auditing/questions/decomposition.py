"""Questions 3 and 4: do expected cost or legitimate factors explain the gap?

Question 3 splits the gap between two points of s into a part that expected cost justifies and an unexplained
part. One half of the units selects the lowest and the highest point of the price's curve. The other half
measures the gap between these points. Then the halves change roles. If a point is high in one half only
because of noise, it does not enlarge the gap in the other half. The answer also reports the gap between the
10th and the 90th percentile of s.

Question 4 follows Robinson (1988): π = g(s) + h(C) + noise, so π − E[π|C] is regressed on ψ(s) − E[ψ(s)|C],
where ψ are the functions of :mod:`fairdash.auditing.curve`. The conditional means are fitted on other folds
by :mod:`fairdash.dependence.conditional_means`: splines or levels of each factor with pairwise products and,
for several factors, trees on the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fairdash.auditing.curve import Basis, Curve, basis_of, fit_curve
from fairdash.auditing.data import Answered, AuditData, Measured, Part, p_among_equals
from fairdash.auditing.gaps import (
    LEVEL,
    Estimate,
    Gap,
    largest_gap,
    noise_in_words,
    percent_of_mean,
    with_interval,
)
from fairdash.auditing.plan import QUESTIONS
from fairdash.auditing.questions.robustness import as_measures, robustness_among_equals, robustness_in_words
from fairdash.auditing.table import AuditTable
from fairdash.dependence.conditional import TREE_ROWS
from fairdash.dependence.conditional_means import (
    LEFT_OF_S,
    N_FOLDS,
    determined_error,
    require_differences,
    ridge_out_of_fold,
    spline_functions,
    split_columns,
)
from fairdash.errors import DeterminedError
from fairdash.utils.seeds import Stream, seed_of
from fairdash.utils.text import few, p_equals

Array = NDArray[np.float64]

#: The penalty of the curve is multiplied by this factor, which reduces the bias, if two percentiles of s are
#: compared.
LESS_PENALTY = 0.1
LOW_POINT, HIGH_POINT = 0.10, 0.90
#: Maximum number of rows with one factor. With several factors, trees use at most :data:`TREE_ROWS` rows.
_MAX_ROWS = 100_000
_TREES = 60
#: Minimum weight of a leaf of a tree, in rows of average weight.
_LEAF = 10


def decompose_gap(data: AuditData, _: Answered) -> Part:
    """Answer question 3: split the gap into a part that expected cost explains and an unexplained part."""
    data = data.on("cost")
    chosen = chosen_decomposition(data.table, data.cost)
    fixed_part = None
    if not data.table.classes:
        fixed_part = fixed_decomposition(data.table, data.basis, data.curve, data.cost)
    points, measures = [], []
    for name, values in (("", chosen), ("_s10_s90", fixed_part)):
        if values is None:
            continue
        parts, endpoints = values
        measures += [data.measure(f"{part}{name}", each) for part, each in parts.items()]
        points += [
            {"measure": f"gap{name}", "part": k, "from": low, "to": high}
            for k, (low, high) in enumerate(endpoints, start=1)
        ]
    few_rows = "There are too few rows to select the lowest and highest point on one half of them."
    split = chosen or fixed_part
    if split is None:
        return Part(sentences=(few_rows,))
    return Part(
        sentences=(in_words(*split, data.table.mean_price, data.table.columns.sensitive, data.table.called),),
        tables={"bridge_points": pd.DataFrame(points)},
        measures=tuple(measures),
        notes=(few_rows,) if chosen is None else (),
    )


def conditional_gap(data: AuditData, _: Answered) -> Part:
    """Answer question 4: estimate the largest gap given all legitimate factors, and given each of them."""
    data = data.on("controls")
    table, factors = data.table, data.table.columns.controls
    sets = [factors] if len(factors) == 1 else [factors, *((factor,) for factor in factors)]
    measures: list[dict[str, Any]] = []
    answer = Part(sentences=())
    for k, chosen in enumerate(sets):
        data.report_progress(f"{QUESTIONS[4].title} {few(chosen)}", 4, k / len(sets))
        try:
            sample, basis, residuals = residuals_among_equals(table, chosen, random_state=data.seed)
            if chosen is factors:
                if not _varying_factors(sample, chosen):
                    return _answer_without_factors(data, chosen)
                any_link = p_among_equals(table, table.price, chosen, random_state=data.seed)
        except DeterminedError:
            if chosen is factors:
                answer = Part(sentences=(_determined_in_words(chosen, table.columns.sensitive),))
            continue
        curve = _curve_of(sample, basis, residuals)
        gap, band = largest_gap(curve, data.delta, random_state=data.seed)
        if chosen is factors:
            sentences = _equals_in_words(gap, table.mean_price, chosen, any_link=any_link)
            sample_note = f"These figures come from a random sample of {sample.n:,} rows."
            robustness = robustness_among_equals(
                sample, basis, residuals, chosen, partial(_residuals_by_splines, sample)
            )
            sentences = (*sentences, robustness_in_words(robustness, table.columns.sensitive, chosen))
            measures += as_measures(robustness)
            measured = Measured(
                found=gap, p_any_link=any_link, table=sample, mean_price=table.mean_price, curve=curve
            )
            answer = Part(
                sentences=(*sentences, sample_note) if sample.n < table.n else sentences,
                tables={"controlled_curve": band},
                criteria={"conditional_independence": measured},
            )
        if len(chosen) == 1:
            measures.append(data.measure(f"among_equals_in_{chosen[0]}", gap))
    return replace(answer, measures=tuple(measures))


#: Gap of the price between two points s₁ and s₂ with its parts, in units of the price, and the pairs of
#: points. ``gap`` is E[π|s₂] − E[π|s₁]. If there is a cost, ``earned`` is the part that cost explains at the
#: portfolio's loss ratio, and ``left`` is the unexplained part. If the data select s₁ and s₂, each half of
#: the rows has its own pair.
Decomposition = tuple[dict[str, Estimate], list[tuple[float, float]]]


def fixed_decomposition(table: AuditTable, basis: Basis, curve: Curve, cost: Array | None) -> Decomposition:
    """Decompose the gap between the 10th and the 90th percentile of s; `cost` (n,) may be in any unit."""
    low, high = basis.nearest(LOW_POINT), basis.nearest(HIGH_POINT)
    parts = _parts(table, basis, curve.lam * LESS_PENALTY, low, high, cost)
    return _mean_of_halves([parts], [(basis.at[low], basis.at[high])])


def chosen_decomposition(table: AuditTable, cost: Array | None) -> Decomposition | None:
    """Decompose the gap, on each half of the units, between extreme points selected on the other half.

    The result is None if one of the halves has no cost, or too few rows for a curve.
    """
    in_first = table.folds(2) == 0
    halves = []
    for rows in (in_first, ~in_first):
        sample = table.take(rows)
        basis = basis_of(sample)
        if len(basis.at) < 2 or (cost is not None and sample.mean(cost[rows]) <= 0):
            return None
        halves.append(
            (sample, basis, fit_curve(sample.price, sample, basis), None if cost is None else cost[rows])
        )
    parts, points = [], []
    for (sample, basis, curve, half_cost), (_, other, selecting_curve, _) in zip(
        halves, halves[::-1], strict=True
    ):
        low, high = (
            _matching_point(basis, other, int(pick(selecting_curve.values)))
            for pick in (np.argmin, np.argmax)
        )
        parts.append(_parts(sample, basis, curve.lam * LESS_PENALTY, low, high, half_cost))
        points.append((basis.at[low], basis.at[high]))
    return _mean_of_halves(parts, points)


def _matching_point(basis: Basis, other: Basis, point: int) -> int:
    """Find a point, given in the basis of one half of the rows, in the basis of the other half."""
    kind = other.kind[point]
    if kind in ("below", "above") and kind in basis.kind:
        return basis.kind.index(kind)
    if kind == "level":
        inner = np.array([kind == "level" for kind in basis.kind])
        return int(np.argmin(np.where(inner, np.abs(basis.at - other.at[point]), np.inf)))
    return basis.nearest(other.share[point])


def _parts(
    table: AuditTable, basis: Basis, lam: float, low: int, high: int, cost: Array | None
) -> dict[str, tuple[float, float]]:
    """Return the values and the variances of the gap and of its parts."""
    price = fit_curve(table.price, table, basis, lam=lam)
    correction = table.n_units / max(table.n_units - price.edf, 1.0)
    gap, gap_error = price.difference(low, high, table)
    parts = {"gap": (gap, gap_error)}
    if cost is not None:
        ratio = table.mean_price / table.mean(cost)
        cost_difference, cost_error = fit_curve(cost, table, basis, lam=lam).difference(low, high, table)
        # The loss ratio is estimated, too. Its influence function is (π − ratio Y) / E[Y].
        ratio_error = table.per_unit(table.share * (table.price - ratio * cost)) / table.mean(cost)
        earned_error = ratio * cost_error + cost_difference * ratio_error
        parts["earned"] = (ratio * cost_difference, earned_error)
        parts["left"] = (gap - ratio * cost_difference, gap_error - earned_error)
    return {name: (value, float(error @ error) * correction) for name, (value, error) in parts.items()}


def _mean_of_halves(
    parts: list[dict[str, tuple[float, float]]], points: list[tuple[float, float]]
) -> Decomposition:
    """Return the mean of the results of independent halves of the rows."""
    count = len(parts)
    estimates = {
        name: Estimate.of(
            sum(part[name][0] for part in parts) / count,
            float(np.sqrt(sum(part[name][1] for part in parts))) / count,
        )
        for name in parts[0]
    }
    return estimates, [(float(low), float(high)) for low, high in points]


def in_words(
    parts: Mapping[str, Estimate],
    points: Sequence[tuple[float, float]],
    mean: float,
    name: str,
    attribute_name: Callable[[float], str] = "{:,.4g}".format,
) -> str:
    """State how much of the gap cost explains; each of two pairs of points was selected on the other half."""
    low, high = (
        " or ".join(dict.fromkeys(map(attribute_name, labels))) for labels in zip(*points, strict=True)
    )
    chosen = "selected on separate rows" if len(points) > 1 else "its 10th and 90th percentile"
    total = parts["gap"]
    gap = (
        f"From “{name}” {low} to {high} ({chosen}) the price changes by {with_interval(total, mean)} "
        "of the mean price."
    )
    if "left" not in parts:
        return f"{gap} To see whether cost justifies this change, name an outcome or an expected cost."
    cost, unexplained = with_interval(parts["earned"], mean), parts["left"]
    can_be_noise = unexplained.ci_low <= 0 <= unexplained.ci_high
    if not can_be_noise and (unexplained.value < 0) != (total.value < 0):
        low_end, high_end = sorted((abs(unexplained.ci_low), abs(unexplained.ci_high)))
        excess = with_interval(Estimate(value=abs(unexplained.value), ci_low=low_end, ci_high=high_end), mean)
        return f"{gap} Expected cost changes even more, by {cost}. The difference is {excess}."
    noise = ", which may be noise" if can_be_noise else ""
    return (
        f"{gap} Expected cost would justify a change of {cost}. The difference, "
        f"{with_interval(unexplained, mean)}, is unexplained{noise}."
    )


def controlled_curve(
    table: AuditTable, factors: tuple[str, ...], *, random_state: int | None = 0
) -> tuple[AuditTable, Curve]:
    """Return the price's curve along s among rows with equal factors, and the rows used.

    The rows used are all rows or a random sample. Given the factors, the data identify only differences along
    s. The curve's level is therefore set to the mean price.
    """
    part, basis, residuals = residuals_among_equals(table, factors, random_state=random_state)
    return part, _curve_of(part, basis, residuals)


def residuals_among_equals(
    table: AuditTable, factors: tuple[str, ...], *, random_state: int | None = 0
) -> tuple[AuditTable, Basis, Array]:
    """Return the rows used, the basis functions of s, and the residuals of the price and of each basis
    function given the factors, (n, 1 + p).

    Raises
    ------
    DeterminedError
        The factors determine s.
    """
    part = table.sampled(_MAX_ROWS if len(factors) == 1 else TREE_ROWS)
    if varied := _varying_factors(part, factors):
        factor_columns = split_columns(part.controls[varied], part.n)
        require_differences(factor_columns, np.column_stack(part.s_columns), part.units)
    basis = basis_of(part)
    columns = np.column_stack([part.price, basis.rows.toarray()])
    residuals = _residuals(columns, part, factors, random_state=random_state)
    centred = columns[:, 1:] - part.share @ columns[:, 1:]
    if (part.share @ residuals[:, 1:] ** 2).sum() <= LEFT_OF_S * (part.share @ centred**2).sum():
        raise determined_error()
    return part, basis, residuals


def _curve_of(part: AuditTable, basis: Basis, residuals: Array) -> Curve:
    curve = fit_curve(residuals[:, 0], part, basis, rows=residuals[:, 1:])
    shift = part.mean_price - part.mean(np.asarray(basis.rows @ curve.coefficients).ravel())
    return replace(curve, values=curve.values + shift)


def _residuals(
    columns: Array, table: AuditTable, factors: tuple[str, ...], *, random_state: int | None
) -> Array:
    """Return cross-fitted residuals of columns (n, k) given the factors."""
    after_splines = _residuals_by_splines(table, factors, columns)
    varied = _varying_factors(table, factors)
    if len(varied) < 2:
        return after_splines
    factor_columns = split_columns(table.controls[varied], table.n)
    folds = table.folds(N_FOLDS)
    # All columns are predicted by the same trees, because separate boosted trees would be slow.
    from sklearn.ensemble import ExtraTreesRegressor

    codes = np.column_stack([*factor_columns.numbers.values(), *factor_columns.levels.values()])
    by_cell = pd.DataFrame(codes).groupby(list(range(codes.shape[1])), sort=False, dropna=False)
    cell = by_cell.ngroup().to_numpy()
    first = np.unique(cell, return_index=True)[1]
    residuals = np.empty_like(after_splines)
    for fold in range(N_FOLDS):
        in_fold = folds == fold
        trees = ExtraTreesRegressor(
            n_estimators=_TREES,
            # The limit on a leaf is a weight, so that two equal rows have the effect of one row of weight 2.
            min_weight_fraction_leaf=_LEAF / table.n_units,
            max_features=1.0,
            random_state=None if random_state is None else seed_of(Stream.AUDIT_ROWS, random_state, fold),
        )
        # The columns are scaled to equal spread, so that each has the same influence on the splits of a tree.
        scale = np.sqrt(np.average(after_splines**2, axis=0, weights=table.weight)) + 1e-300
        # Rows with equal factors are always in one leaf, so trees can use the means of these rows.
        training_cell, weight = cell[~in_fold], table.weight[~in_fold]
        cell_weight = np.bincount(training_cell, weights=weight, minlength=len(first))
        sums = (
            csr_matrix(
                (weight, (training_cell, np.arange(len(training_cell)))), (len(first), len(training_cell))
            )
            @ after_splines[~in_fold]
        )
        is_used = cell_weight > 0
        means = sums[is_used] / cell_weight[is_used, None] / scale
        trees.fit(codes[first[is_used]], means, sample_weight=cell_weight[is_used])
        residuals[in_fold] = after_splines[in_fold] - (trees.predict(codes[first]) * scale)[cell[in_fold]]
    return residuals


def _varying_factors(table: AuditTable, factors: tuple[str, ...]) -> list[str]:
    return [name for name in factors if table.controls[name].nunique() > 1]


def _residuals_by_splines(table: AuditTable, factors: tuple[str, ...], columns: Array) -> Array:
    """Return cross-fitted residuals of columns (n, k) given the factors, by splines only."""
    varied = _varying_factors(table, factors)
    if not varied:
        return np.asarray(columns - np.average(columns, axis=0, weights=table.weight))
    factor_columns = split_columns(table.controls[varied], table.n)
    functions, penalty, _ = spline_functions(factor_columns, table.weight)
    return columns - ridge_out_of_fold(functions, penalty, columns, table.weight, table.folds(N_FOLDS))


def _answer_without_factors(data: AuditData, factors: tuple[str, ...]) -> Part:
    """If all factors are constant, return the answer on all rows, which then also holds among equals."""
    sentence = f"{few(factors)} {'has' if len(factors) == 1 else 'have'} the same value in all rows."
    return Part(
        sentences=(f"{sentence} All rows are equal in the factors, so the answer to question 1 applies.",),
        tables={"controlled_curve": data.band},
        criteria={"conditional_independence": data.independence},
    )


def _determined_in_words(factors: tuple[str, ...], name: str) -> str:
    return (
        f"The legitimate factors (controls) determine “{name}”: rows that are equal in {few(factors)} do not "
        "differ in it. There is nothing to compare. To answer this question, name fewer factors."
    )


def _equals_in_words(gap: Gap, mean: float, factors: tuple[str, ...], *, any_link: float) -> tuple[str, ...]:
    """Return the answer, then explanations; `any_link` is the p-value of a test for any kind of link, which
    includes links that vary with the factors."""
    return (
        f"Among rows that are equal in {few(factors)}, the highest average price exceeds the lowest by "
        f"{percent_of_mean(gap, mean)}.",
        noise_in_words(gap, mean),
        "A test that also detects links that vary with the factors finds "
        f"{'a link' if any_link <= LEVEL else 'no link'} ({p_equals(any_link)}).",
    )
