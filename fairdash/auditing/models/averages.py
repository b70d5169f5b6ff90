"""Averages of the five premiums by band of s, with intervals that count the errors of the models.

A premium P learned by trees misses the true one by the trees' own error. The average E[P | S ∈ b] over a band
b of s (a fifth of the exposure, or a class) has an influence function, so it can be debiased: the error of
one model enters only multiplied by that of another, and its noise enters the interval (double machine
learning, Chernozhukov et al. 2018). No model has learned from the row. With g_b(x) = P(S ∈ b | x), its mean
p_b, the best estimate μ, and 1_b for rows in b, a row contributes to p_b E[P | b]:

- best estimate: 1_b Y;
- unaware h(x) = E[Y | x]: 1_b h + g_b (Y − h);
- aware a(x) = E_S[μ(x, S)]: 1_b a + g_b p_k / g_k (Y − μ), where k is the row's band, and E[μ(X, s) 1_b] at
the row's s, minus its mean;
- corrective C: p_b Y, because its law is the same in all bands;
- hyperaware k(x) = E[C | x]: 1_b k + g_b (C − k) + α_b (Y − μ) + L_b.

C is the value, in the common law, at the rank U of μ among rows with the same s. α_b is the derivative of
E[C g_b] by μ: the slope of C along μ times (g_b less its mean given U and s), plus the mean of g_b given U.
L_b is the influence of the row on the laws of μ given s, and on the frequency of its s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.gaps import reach_of_all
from fairdash.auditing.models.premiums import N_NODES, PREMIUMS, Costs, corrective_of, folds_of
from fairdash.auditing.table import AuditTable
from fairdash.dependence.conditional_means import N_FOLDS, as_given, ridge_out_of_fold, spline_functions
from fairdash.dependence.ranks import quantiles
from fairdash.training.references import sensitive_nodes

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Bands of s of equal exposure; classes are bands of their own.
BANDS = 5
#: Probabilities of a band below this count as this, so that no row weighs more than 1 / 0.02 times.
_LEAST = 0.02
#: Levels of the quantiles of costs, and coarser ones for averages of derivatives.
_LEVELS, _CELLS = 50, 10


def premium_averages(costs: Costs, *, random_state: int | None = 0) -> pd.DataFrame:
    """Return the average of each premium in each band of s, debiased, with 95 % limits.

    Returns
    -------
    DataFrame
        Columns premium, low and high (of s), rows, and value, ci_low, ci_high in units of the price. The
        limits of a premium hold for all bands at once. They count the noise of costs, the error of the
        models, and that of the portfolio's loss ratio.
    """
    table, share = costs.table, costs.table.share
    _, band = np.unique(table.bands(BANDS), return_inverse=True)
    one = np.eye(band.max() + 1)[band]
    premiums = dict(costs.premiums)
    # A row that is part of its own law gets a rank too near the middle.
    best = premiums["best_estimate"]
    for out in folds_of(table):
        premiums["corrective"] = np.where(
            out, corrective_of(best, table, learned=~out), premiums["corrective"]
        )
    # The mean equals the best estimate's.
    premiums["corrective"] = premiums["corrective"] + share @ (best - premiums["corrective"])
    means = {"unaware": costs.cost, "hyperaware": premiums["corrective"]}
    # Residuals of the two means given x, and of the probabilities of bands given x.
    left = [values - premiums[name] for name, values in means.items()]
    predictions = _by_splines(table, np.column_stack([*left, one]))
    premiums |= {name: premiums[name] + predictions[:, k] for k, name in enumerate(means)}
    g = predictions[:, len(means) :].clip(_LEAST, 1.0)
    g /= g.sum(axis=1, keepdims=True)
    p, cost = share @ one, costs.cost
    # Costs are scaled to the level of the price, which is also an estimate.
    level = (table.price - cost) / table.mean_price
    s = pd.Series(table.sensitive).groupby(band)
    frames = []
    for name, parts in _contributions(replace(costs, premiums=premiums), band, one, g).items():
        value = share @ parts / p
        own = parts - share @ parts if name == "corrective" else parts - value * one
        off = share[:, None] * (own / p + np.outer(level, value))
        of_units = np.column_stack([table.per_unit(each) for each in off.T])
        gram = of_units.T @ of_units
        error = reach_of_all(gram, random_state) * np.sqrt(np.diag(gram))
        made = {"premium": name, "low": s.min(), "high": s.max(), "rows": s.size(), "value": value}
        frames.append(pd.DataFrame(made | {"ci_low": value - error, "ci_high": value + error}))
    return pd.concat(frames, ignore_index=True)


def _by_splines(table: AuditTable, targets: Array) -> Array:
    """Predict columns (n, T) from the features on rows left out; the errors differ from those of trees."""
    filled = table.features.fillna(table.features.median(numeric_only=True))
    if (filled.nunique() < 2).all():
        return np.tile(table.share @ targets, (table.n, 1))
    functions, penalty, _ = spline_functions(as_given(filled.dropna(axis=1), table.n), table.weight)
    return ridge_out_of_fold(functions, penalty, targets, table.weight, table.folds(N_FOLDS))


def _contributions(costs: Costs, band: Index, one: Array, g: Array) -> dict[str, Array]:
    """Return the contribution of each row to p_b E[P | b], (n, B), by premium."""
    table, share, cost, made = costs.table, costs.table.share, costs.cost, costs.premiums
    p, missed = share @ one, (cost - made["best_estimate"])[:, None]
    unaware, aware = made["unaware"], made["aware"]
    # E[μ(X, s) 1_b] at the nodes of s, and at each row's own s.
    nodes, _ = sensitive_nodes(table.sensitive, sample_weight=table.weight, max_nodes=N_NODES)
    at_nodes = (share[:, None] * one).T @ costs.at_nodes
    at_s = np.column_stack([np.interp(table.sensitive, nodes, each) for each in at_nodes])
    swapped = g * (p[band] / np.take_along_axis(g, band[:, None], axis=1)[:, 0])[:, None]
    found = {
        "best_estimate": one * cost[:, None],
        "unaware": one * unaware[:, None] + g * (cost - unaware)[:, None],
        "aware": one * aware[:, None] + swapped * missed + at_s - share @ at_s,
        "hyperaware": _hyperaware(costs, band, one, g),
        "corrective": np.outer(cost, p),
    }
    return {name: found[name] for name in PREMIUMS}


def _hyperaware(costs: Costs, band: Index, one: Array, g: Array) -> Array:
    table, share, made = costs.table, costs.table.share, costs.premiums
    best, corrective, mean = (made[name] for name in ("best_estimate", "corrective", "hyperaware"))
    p, at = share @ one, (np.arange(_LEVELS) + 0.5) / _LEVELS
    # The law of μ given s: about a straight line in each band.
    centre = _along_s(best, table, band)
    around = best - centre
    laws = np.array([_law(around[band == k], table.weight[band == k], at) for k in range(len(p))])
    slopes = np.gradient(laws, at, axis=1)
    common, slope = share @ centre + p @ laws, p @ slopes
    rank = np.interp(corrective, common, at)
    level, cell = ((rank * count).astype(np.intp).clip(0, count - 1) for count in (_LEVELS, _CELLS))
    # The mean of g_b given U, and given U and s.
    given_rank = _mean_in(cell, _CELLS, g, table)
    given_both = _mean_in(band * _CELLS + cell, len(p) * _CELLS, g, table).reshape(len(p), _CELLS, -1)
    steep = np.clip(slope[level] / np.maximum(slopes[band, level], 1e-12), 0.2, 5.0)[:, None]
    alpha = steep * (g - given_both[band, cell]) + given_rank[cell]
    # A row's influence on its own law, on the quantiles of the common law, and on the frequency of its s.
    grid = (at * _CELLS).astype(np.intp)
    step = (rank[:, None] <= at) - at
    law = np.einsum("nl,nlb->nb", step * slope, given_both[:, grid][band])
    law += (centre[:, None] + laws[band] - step * slopes[band]) @ given_rank[grid]
    law /= _LEVELS
    debiased = one * mean[:, None] + g * (corrective - mean)[:, None]
    return np.asarray(debiased + alpha * (costs.cost - best)[:, None] + law - share @ law)


def _along_s(values: Array, table: AuditTable, band: Index) -> Array:
    """Straight lines of values (n,) along s, one in each band, (n,)."""
    influence = np.empty(table.n)
    for k in np.unique(band):
        rows = band == k
        weight, s = table.weight[rows], table.sensitive[rows]
        away = s - np.average(s, weights=weight)
        slope = float(weight @ (away * values[rows])) / max(float(weight @ away**2), 1e-300)
        influence[rows] = np.average(values[rows], weights=weight) + slope * away
    return influence


def _law(values: Array, weight: Array, at: Array) -> Array:
    order = np.argsort(values, kind="stable")
    return quantiles(values[order], weight[order], at)


def _mean_in(code: Index, count: int, values: Array, table: AuditTable) -> Array:
    """Weighted means of columns (n, B) within codes, (count, B); 0 where a code has no row."""
    total = np.bincount(code, weights=table.weight, minlength=count)
    sums = [np.bincount(code, weights=table.weight * each, minlength=count) for each in values.T]
    return np.column_stack(sums) / np.maximum(total, 1e-300)[:, None]
