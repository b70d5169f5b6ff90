"""Questions 3 and 4: do expected cost or legitimate factors explain the gap?

Question 3 splits the gap between two points of s into a part that expected cost justifies and an unexplained
part. One half of the units selects the lowest and the highest point of the price's curve, the other half
measures the gap between them, and vice versa. A point that is high only by noise in one half therefore does
not enlarge the gap. The gap between the 10th and the 90th percentile of s is also reported.

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
from fairdash.auditing.gaps import LEVEL, Estimate, Gap, largest_gap, noise_in_words, of_mean, within
from fairdash.auditing.plan import QUESTIONS
from fairdash.auditing.questions.robustness import as_measures, robustness_among_equals, robustness_in_words
from fairdash.auditing.table import AuditTable
from fairdash.dependence.conditional import TREE_ROWS
from fairdash.dependence.conditional_means import (
    LEFT_OF_S,
    N_FOLDS,
    as_given,
    determined,
    require_differences,
    ridge_out_of_fold,
    spline_functions,
)
from fairdash.errors import DeterminedError
from fairdash.utils.seeds import Stream, seed_of
from fairdash.utils.text import few, p_equals

Array = NDArray[np.float64]

#: Factor that reduces the curve's penalty, and thus the bias, in the comparison of two fixed points.
LESS_PENALTY = 0.1
LOW_POINT, HIGH_POINT = 0.10, 0.90
#: Maximum number of rows with a single factor. With several factors, trees use at most :data:`TREE_ROWS`.
_MAX_ROWS = 100_000
_TREES = 60
#: Minimum weight of a leaf, in rows of average weight.
_LEAF = 10


def is_it_earned(data: AuditData, _: Answered) -> Part:
    """Answer question 3: split the gap into the part that expected cost explains and an unexplained part."""
    data = data.on("cost")
    chosen = chosen_decomposition(data.table, data.cost)
    fixed = None
    if not data.table.classes:
        fixed = fixed_decomposition(data.table, data.basis, data.curve, data.cost)
    points, measures = [], []
    for name, values in (("", chosen), ("_s10_s90", fixed)):
        if values is None:
            continue
        parts, ends = values
        measures += [data.measure(f"{part}{name}", each) for part, each in parts.items()]
        points += [
            {"measure": f"gap{name}", "part": k, "from": low, "to": high}
            for k, (low, high) in enumerate(ends, start=1)
        ]
    few_rows = "There are too few rows to select the lowest and highest point on one half of them."
    split = chosen or fixed
    if split is None:
        return Part(sentences=(few_rows,))
    return Part(
        sentences=(in_words(*split, data.table.mean_price, data.table.columns.sensitive, data.table.called),),
        tables={"bridge_points": pd.DataFrame(points)},
        measures=tuple(measures),
        notes=(few_rows,) if chosen is None else (),
    )


def among_equals(data: AuditData, _: Answered) -> Part:
    """Answer question 4: estimate the largest gap given all legitimate factors, and given each factor."""
    data = data.on("controls")
    table, factors = data.table, data.table.columns.controls
    sets = [factors] if len(factors) == 1 else [factors, *((each,) for each in factors)]
    measures: list[dict[str, Any]] = []
    answer = Part(sentences=())
    for k, among in enumerate(sets):
        data.say(f"{QUESTIONS[4].title} {few(among)}", 4, k / len(sets))
        try:
            part, basis, left = left_among_equals(table, among, random_state=data.seed)
            if among is factors:
                if not _varied(part, among):
                    return _all_are_equals(data, among)
                any_link = p_among_equals(table, table.price, among, random_state=data.seed)
        except DeterminedError:
            if among is factors:
                answer = Part(sentences=(_determined_in_words(among, table.columns.sensitive),))
            continue
        curve = _curve_of(part, basis, left)
        gap, band = largest_gap(curve, data.delta, random_state=data.seed)
        if among is factors:
            sentences = _equals_in_words(gap, table.mean_price, among, any_link=any_link)
            drawn = f"These figures come from a random sample of {part.n:,} rows."
            robust = robustness_among_equals(part, basis, left, among, partial(_residuals_by_splines, part))
            sentences = (*sentences, robustness_in_words(robust, table.columns.sensitive, among))
            measures += as_measures(robust)
            measured = Measured(
                found=gap, p_any_link=any_link, table=part, mean_price=table.mean_price, curve=curve
            )
            answer = Part(
                sentences=(*sentences, drawn) if part.n < table.n else sentences,
                tables={"controlled_curve": band},
                criteria={"conditional_independence": measured},
            )
        if len(among) == 1:
            measures.append(data.measure(f"among_equals_in_{among[0]}", gap))
    return replace(answer, measures=tuple(measures))


#: Gap of the price between two points of s with its parts, in units of the price, and the pairs of points.
#: ``gap`` is E[π|s₂] − E[π|s₁]. With a cost, ``earned`` is the part that cost explains at the portfolio's
#: loss ratio, and ``left`` is the unexplained part. If the data select s₁ and s₂, each half has its own pair.
Decomposition = tuple[dict[str, Estimate], list[tuple[float, float]]]


def fixed_decomposition(table: AuditTable, basis: Basis, curve: Curve, cost: Array | None) -> Decomposition:
    """Decompose the gap between the 10th and the 90th percentile of s; `cost` (n,) may be in any unit."""
    low, high = basis.nearest(LOW_POINT), basis.nearest(HIGH_POINT)
    parts = _parts(table, basis, curve.lam * LESS_PENALTY, low, high, cost)
    return _averaged([parts], [(basis.at[low], basis.at[high])])


def chosen_decomposition(table: AuditTable, cost: Array | None) -> Decomposition | None:
    """Decompose the gap between the curve's lowest and highest points, selected on the other half of units.

    The result is None if one of the halves has no cost, or too few rows for a curve.
    """
    in_first = table.folds(2) == 0
    halves = []
    for rows in (in_first, ~in_first):
        half = table.take(rows)
        basis = basis_of(half)
        if len(basis.at) < 2 or (cost is not None and half.mean(cost[rows]) <= 0):
            return None
        halves.append((half, basis, fit_curve(half.price, half, basis), None if cost is None else cost[rows]))
    parts, points = [], []
    for (half, basis, curve, own_cost), (_, other, chooser, _) in zip(halves, halves[::-1], strict=True):
        low, high = (_same_point(basis, other, int(pick(chooser.values))) for pick in (np.argmin, np.argmax))
        parts.append(_parts(half, basis, curve.lam * LESS_PENALTY, low, high, own_cost))
        points.append((basis.at[low], basis.at[high]))
    return _averaged(parts, points)


def _same_point(basis: Basis, other: Basis, point: int) -> int:
    """Map a point of the basis fitted on one half of the rows to the same point in the other half's basis."""
    kind = other.kind[point]
    if kind in ("below", "above") and kind in basis.kind:
        return basis.kind.index(kind)
    if kind == "level":
        inner = np.array([each == "level" for each in basis.kind])
        return int(np.argmin(np.where(inner, np.abs(basis.at - other.at[point]), np.inf)))
    return basis.nearest(other.share[point])


def _parts(
    table: AuditTable, basis: Basis, lam: float, low: int, high: int, cost: Array | None
) -> dict[str, tuple[float, float]]:
    """Return the values and the variances of the gap and of its parts."""
    price = fit_curve(table.price, table, basis, lam=lam)
    correction = table.n_units / max(table.n_units - price.edf, 1.0)
    gap, of_gap = price.difference(low, high, table)
    parts = {"gap": (gap, of_gap)}
    if cost is not None:
        ratio = table.mean_price / table.mean(cost)
        apart, of_apart = fit_curve(cost, table, basis, lam=lam).difference(low, high, table)
        # The loss ratio is also estimated, with the influence function (π − ratio Y) / E[Y].
        of_ratio = table.per_unit(table.share * (table.price - ratio * cost)) / table.mean(cost)
        of_earned = ratio * of_apart + apart * of_ratio
        parts["earned"] = (ratio * apart, of_earned)
        parts["left"] = (gap - ratio * apart, of_gap - of_earned)
    return {name: (value, float(of @ of) * correction) for name, (value, of) in parts.items()}


def _averaged(
    parts: list[dict[str, tuple[float, float]]], points: list[tuple[float, float]]
) -> Decomposition:
    """Return the mean of the results of the two independent halves."""
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
    called: Callable[[float], str] = "{:,.4g}".format,
) -> str:
    """Answer question 3 in words; with two pairs of points, each pair was selected on the other half."""
    low, high = (" or ".join(dict.fromkeys(map(called, ends))) for ends in zip(*points, strict=True))
    chosen = "selected on separate rows" if len(points) > 1 else "its 10th and 90th percentile"
    whole = parts["gap"]
    gap = (
        f"From “{name}” {low} to {high} ({chosen}) the price changes by {within(whole, mean)} "
        "of the mean price."
    )
    if "left" not in parts:
        return f"{gap} To see whether cost justifies this change, name an outcome or an expected cost."
    cost, left = within(parts["earned"], mean), parts["left"]
    can_be_noise = left.ci_low <= 0 <= left.ci_high
    if not can_be_noise and (left.value < 0) != (whole.value < 0):
        low_end, high_end = sorted((abs(left.ci_low), abs(left.ci_high)))
        more = within(Estimate(value=abs(left.value), ci_low=low_end, ci_high=high_end), mean)
        return f"{gap} Expected cost changes even more, by {cost}. The difference is {more}."
    noise = ", which may be noise" if can_be_noise else ""
    return (
        f"{gap} Expected cost would justify a change of {cost}. The difference, {within(left, mean)}, is "
        f"unexplained{noise}."
    )


def controlled_curve(
    table: AuditTable, factors: tuple[str, ...], *, random_state: int | None = 0
) -> tuple[AuditTable, Curve]:
    """Return the price's curve along s among rows with equal factors, and the rows used.

    The rows used are all rows or a random sample. Given the factors, the data identify only differences along
    s, so the curve's level is set to the mean price.
    """
    part, basis, left = left_among_equals(table, factors, random_state=random_state)
    return part, _curve_of(part, basis, left)


def left_among_equals(
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
    if varied := _varied(part, factors):
        factor_columns = as_given(part.controls[varied], part.n)
        require_differences(factor_columns, np.column_stack(part.s_columns), part.units)
    basis = basis_of(part)
    both = np.column_stack([part.price, basis.rows.toarray()])
    left = _residuals(both, part, factors, random_state=random_state)
    before = both[:, 1:] - part.share @ both[:, 1:]
    if (part.share @ left[:, 1:] ** 2).sum() <= LEFT_OF_S * (part.share @ before**2).sum():
        raise determined()
    return part, basis, left


def _curve_of(part: AuditTable, basis: Basis, left: Array) -> Curve:
    curve = fit_curve(left[:, 0], part, basis, rows=left[:, 1:])
    shift = part.mean_price - part.mean(np.asarray(basis.rows @ curve.coefficients).ravel())
    return replace(curve, values=curve.values + shift)


def _residuals(
    both: Array, table: AuditTable, factors: tuple[str, ...], *, random_state: int | None
) -> Array:
    """Return cross-fitted residuals of columns (n, k) given the factors."""
    left = _residuals_by_splines(table, factors, both)
    varied = _varied(table, factors)
    if len(varied) < 2:
        return left
    factor_columns = as_given(table.controls[varied], table.n)
    folds = table.folds(N_FOLDS)
    # The same trees predict all columns, because separate boosted trees for each column would be slow.
    from sklearn.ensemble import ExtraTreesRegressor

    codes = np.column_stack([*factor_columns.numbers.values(), *factor_columns.levels.values()])
    by_cell = pd.DataFrame(codes).groupby(list(range(codes.shape[1])), sort=False, dropna=False)
    cell = by_cell.ngroup().to_numpy()
    first = np.unique(cell, return_index=True)[1]
    more = np.empty_like(left)
    for fold in range(N_FOLDS):
        out = folds == fold
        trees = ExtraTreesRegressor(
            n_estimators=_TREES,
            # The limit on a leaf is a weight, so that a duplicated row has the effect of a row of weight 2.
            min_weight_fraction_leaf=_LEAF / table.n_units,
            max_features=1.0,
            random_state=None if random_state is None else seed_of(Stream.AUDIT_ROWS, random_state, fold),
        )
        # The columns are scaled to equal spread, so each has the same influence on a tree's splits.
        spread = np.sqrt(np.average(left**2, axis=0, weights=table.weight)) + 1e-300
        # Rows with equal factors are always in the same leaf, so trees can use their means.
        own, weight = cell[~out], table.weight[~out]
        mass = np.bincount(own, weights=weight, minlength=len(first))
        sums = csr_matrix((weight, (own, np.arange(len(own)))), (len(first), len(own))) @ left[~out]
        seen = mass > 0
        means = sums[seen] / mass[seen, None] / spread
        trees.fit(codes[first[seen]], means, sample_weight=mass[seen])
        more[out] = left[out] - (trees.predict(codes[first]) * spread)[cell[out]]
    return more


def _varied(table: AuditTable, factors: tuple[str, ...]) -> list[str]:
    return [name for name in factors if table.controls[name].nunique() > 1]


def _residuals_by_splines(table: AuditTable, factors: tuple[str, ...], both: Array) -> Array:
    """Return cross-fitted residuals of columns (n, k) given the factors, by splines only."""
    varied = _varied(table, factors)
    if not varied:
        return np.asarray(both - np.average(both, axis=0, weights=table.weight))
    factor_columns = as_given(table.controls[varied], table.n)
    functions, penalty, _ = spline_functions(factor_columns, table.weight)
    return both - ridge_out_of_fold(functions, penalty, both, table.weight, table.folds(N_FOLDS))


def _all_are_equals(data: AuditData, factors: tuple[str, ...]) -> Part:
    """Return the answer to question 1, which also answers question 4 if all factors are constant."""
    sentence = f"{few(factors)} {'has' if len(factors) == 1 else 'have'} the same value in all rows."
    return Part(
        sentences=(f"{sentence} All rows are equals, so the answer to question 1 applies.",),
        tables={"controlled_curve": data.band},
        criteria={"conditional_independence": data.independence},
    )


def _determined_in_words(factors: tuple[str, ...], name: str) -> str:
    return (
        f"The legitimate factors (controls) determine “{name}”: rows that are equal in {few(factors)} do not "
        "differ in it. There is nothing to compare. To answer this question, name fewer factors."
    )


def _equals_in_words(gap: Gap, mean: float, factors: tuple[str, ...], *, any_link: float) -> tuple[str, ...]:
    """Return the answer and further sentences; `any_link` is the p-value of no link, whether or not it varies
    with the factors."""
    return (
        f"Among rows that are equal in {few(factors)}, the highest average price exceeds the lowest by "
        f"{of_mean(gap, mean)}.",
        noise_in_words(gap, mean),
        "A test that also counts links that vary with the factors finds "
        f"{'a link' if any_link <= LEVEL else 'no link'} ({p_equals(any_link)}).",
    )
