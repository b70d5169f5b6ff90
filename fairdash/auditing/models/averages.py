"""Averages of the five premiums in each band of s with intervals, and prices repaired at several strengths.

A premium P estimated by trees differs from the true premium by the error of the trees. The average E[P | S ∈
b] over a band b of s (a fifth of the exposure, or a class) has an influence function, which corrects the
average's bias. Only products of two models' errors remain as bias, and the interval includes the noise of the
correction (double machine learning, Chernozhukov et al. 2018). Each model predicts only rows to which it was
not fitted. With g_b(x) = P(S ∈ b | x), its mean p_b, the best estimate μ, and the indicator 1_b of b, the
contribution of a row to p_b E[P | b] is:

- best estimate: 1_b Y;
- unaware h(x) = E[Y | x]: 1_b h + g_b (Y − h);
- aware a(x) = E_S[μ(x, S)]: 1_b a + g_b p_k / g_k (Y − μ) + m_b(s) − E[m_b(S)], where k is the row's band
and m_b(s) = E[μ(X, s) 1_b];
- corrective C: p_b Y, because its distribution is the same in all bands;
- hyperaware k(x) = E[C | x]: 1_b k + g_b (C − k) + α_b (Y − μ) + L_b.

C is the quantile of the common distribution at the rank U of μ among rows with equal s. α_b is the derivative
of E[C g_b] with respect to μ: the slope of C along μ times (g_b minus its mean given U and s), plus the mean
of g_b given U. L_b is the row's influence on the estimated distributions of μ given s and the estimated
frequency of s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.data import Progress
from fairdash.auditing.gaps import joint_limit_factor
from fairdash.auditing.models.premiums import N_NODES, PREMIUMS, Costs, corrective_premium, folds_of
from fairdash.auditing.table import AuditTable
from fairdash.dependence import assess_dependence
from fairdash.dependence.classical import quantiles
from fairdash.dependence.conditional_means import N_FOLDS, ridge_out_of_fold, spline_functions, split_columns
from fairdash.training.losses import LOSSES
from fairdash.training.references import sensitive_nodes
from fairdash.utils.text import percent

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Number of bands of s with equal exposure. If s has classes, each class is a band instead.
BANDS = 5
#: Lower limit for the probability of a band. It limits the weight of a row to about 1 / 0.02.
_MIN_PROBABILITY = 0.02
#: `_LEVELS`: number of quantile levels for costs. `_CELLS`: number of coarser levels, for averages of
#: derivatives.
_LEVELS, _CELLS = 50, 10


def premium_averages(costs: Costs, *, random_state: int | None = 0) -> pd.DataFrame:
    """Return the debiased average of each premium in each band of s, with 95 % limits.

    Returns
    -------
    DataFrame
        Columns premium, low and high (of s), rows, and value, ci_low, ci_high in units of the price. The
        limits of a premium hold for all bands simultaneously. The limits include the noise of costs, the
        error of the models, and the error of the portfolio's loss ratio.
    """
    table, share = costs.table, costs.table.share
    _, band = np.unique(table.bands(BANDS), return_inverse=True)
    in_band = np.eye(band.max() + 1)[band]
    premiums = dict(costs.premiums)
    # The rank of a row is computed from other rows, because the row itself would move it towards the middle.
    best_estimate = premiums["best_estimate"]
    for test_mask in folds_of(table):
        premiums["corrective"] = np.where(
            test_mask, corrective_premium(best_estimate, table, learned=~test_mask), premiums["corrective"]
        )
    # The corrective premium is shifted so that its mean is that of the best estimate.
    premiums["corrective"] = premiums["corrective"] + share @ (best_estimate - premiums["corrective"])
    means = {"unaware": costs.cost, "hyperaware": premiums["corrective"]}
    # Splines predict the residuals of the two conditional means given x, and the probabilities of the bands.
    residuals = [values - premiums[name] for name, values in means.items()]
    predictions = _by_splines(table, np.column_stack([*residuals, in_band]))
    premiums |= {name: premiums[name] + predictions[:, k] for k, name in enumerate(means)}
    g = predictions[:, len(means) :].clip(_MIN_PROBABILITY, 1.0)
    g /= g.sum(axis=1, keepdims=True)
    p, cost = share @ in_band, costs.cost
    # Influence of each row on the estimated factor that scales costs to the level of the price.
    level = (table.price - cost) / table.mean_price
    s = pd.Series(table.sensitive).groupby(band)
    frames = []
    for name, parts in _contributions(replace(costs, premiums=premiums), band, in_band, g).items():
        value = share @ parts / p
        influence = parts - share @ parts if name == "corrective" else parts - value * in_band
        row_errors = share[:, None] * (influence / p + np.outer(level, value))
        unit_errors = np.column_stack([table.per_unit(errors) for errors in row_errors.T])
        gram = unit_errors.T @ unit_errors
        error = joint_limit_factor(gram, random_state) * np.sqrt(np.diag(gram))
        columns = {"premium": name, "low": s.min(), "high": s.max(), "rows": s.size(), "value": value}
        frames.append(pd.DataFrame(columns | {"ci_low": value - error, "ci_high": value + error}))
    return pd.concat(frames, ignore_index=True)


def _by_splines(table: AuditTable, targets: Array) -> Array:
    """Predict columns (n, T) from the features, out of fold, by splines, whose errors differ from those of
    trees.
    """
    imputed = table.features.fillna(table.features.median(numeric_only=True))
    if (imputed.nunique() < 2).all():
        return np.tile(table.share @ targets, (table.n, 1))
    functions, penalty, _ = spline_functions(split_columns(imputed.dropna(axis=1), table.n), table.weight)
    return ridge_out_of_fold(functions, penalty, targets, table.weight, table.folds(N_FOLDS))


def _contributions(costs: Costs, band: Index, in_band: Array, g: Array) -> dict[str, Array]:
    """Return the contribution of each row to p_b E[P | b], (n, B), by premium."""
    table, share, cost, premiums = costs.table, costs.table.share, costs.cost, costs.premiums
    p, residual = share @ in_band, (cost - premiums["best_estimate"])[:, None]
    unaware_premium, aware_premium = premiums["unaware"], premiums["aware"]
    # E[μ(X, s) 1_b] is computed at the nodes of s, and interpolated at each row's s.
    nodes, _ = sensitive_nodes(table.sensitive, sample_weight=table.weight, max_nodes=N_NODES)
    at_nodes = (share[:, None] * in_band).T @ costs.at_nodes
    at_s = np.column_stack([np.interp(table.sensitive, nodes, values) for values in at_nodes])
    reweighted = g * (p[band] / np.take_along_axis(g, band[:, None], axis=1)[:, 0])[:, None]
    contributions = {
        "best_estimate": in_band * cost[:, None],
        "unaware": in_band * unaware_premium[:, None] + g * (cost - unaware_premium)[:, None],
        "aware": in_band * aware_premium[:, None] + reweighted * residual + at_s - share @ at_s,
        "hyperaware": _hyperaware(costs, band, in_band, g),
        "corrective": np.outer(cost, p),
    }
    return {name: contributions[name] for name in PREMIUMS}


def _hyperaware(costs: Costs, band: Index, in_band: Array, g: Array) -> Array:
    table, share, premiums = costs.table, costs.table.share, costs.premiums
    best, corrective, mean = (premiums[name] for name in ("best_estimate", "corrective", "hyperaware"))
    p, levels = share @ in_band, (np.arange(_LEVELS) + 0.5) / _LEVELS
    # In each band, the distribution of μ given s is centred on a straight line in s.
    centre = _lines_along_s(best, table, band)
    centred = best - centre
    band_quantiles = np.array(
        [_weighted_quantiles(centred[band == k], table.weight[band == k], levels) for k in range(len(p))]
    )
    slopes = np.gradient(band_quantiles, levels, axis=1)
    common, slope = share @ centre + p @ band_quantiles, p @ slopes
    rank = np.interp(corrective, common, levels)
    level, cell = ((rank * count).astype(np.intp).clip(0, count - 1) for count in (_LEVELS, _CELLS))
    # The first array contains the means of g_b given U, the second the means of g_b given U and s.
    given_rank = _means_by_code(cell, _CELLS, g, table)
    given_both = _means_by_code(band * _CELLS + cell, len(p) * _CELLS, g, table).reshape(len(p), _CELLS, -1)
    slope_ratio = np.clip(slope[level] / np.maximum(slopes[band, level], 1e-12), 0.2, 5.0)[:, None]
    alpha = slope_ratio * (g - given_both[band, cell]) + given_rank[cell]
    # A row influences three things: the distribution at its s, the common quantiles, and the frequency of its
    # s.
    grid = (levels * _CELLS).astype(np.intp)
    step = (rank[:, None] <= levels) - levels
    influence = np.einsum("nl,nlb->nb", step * slope, given_both[:, grid][band])
    influence += (centre[:, None] + band_quantiles[band] - step * slopes[band]) @ given_rank[grid]
    influence /= _LEVELS
    debiased = in_band * mean[:, None] + g * (corrective - mean)[:, None]
    return np.asarray(debiased + alpha * (costs.cost - best)[:, None] + influence - share @ influence)


def _lines_along_s(values: Array, table: AuditTable, band: Index) -> Array:
    """Fit a straight line of values (n,) along s in each band; return the lines' values at the rows, (n,)."""
    lines = np.empty(table.n)
    for k in np.unique(band):
        rows = band == k
        weight, s = table.weight[rows], table.sensitive[rows]
        deviation = s - np.average(s, weights=weight)
        slope = float(weight @ (deviation * values[rows])) / max(float(weight @ deviation**2), 1e-300)
        lines[rows] = np.average(values[rows], weights=weight) + slope * deviation
    return lines


def _weighted_quantiles(values: Array, weight: Array, levels: Array) -> Array:
    order = np.argsort(values, kind="stable")
    return quantiles(values[order], weight[order], levels)


def _means_by_code(code: Index, count: int, values: Array, table: AuditTable) -> Array:
    """Return weighted means of columns (n, B) over each code's rows, (count, B); 0 without rows."""
    total = np.bincount(code, weights=table.weight, minlength=count)
    sums = [np.bincount(code, weights=table.weight * column, minlength=count) for column in values.T]
    return np.column_stack(sums) / np.maximum(total, 1e-300)[:, None]


ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: A price counts as changed if its relative change is at least this value.
CHANGE_COLUMN = 0.1
#: Columns with shares, in the table of repaired prices.
SHARES = ("mean change", "moved by a tenth")
#: Two ways to compute a repaired price: from s and the other columns, or from the other columns only.
WITH_S, WITHOUT_S = "known", "not known"


def repair_price(
    table: AuditTable, *, random_state: int | None = 0, progress: Progress = lambda *_: None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Repair an audit's price with :class:`fairdash.FairPostprocessor`, cross-fitted; `progress` may raise
    Cancelled.

    Returns
    -------
    figures
        One row for each way to compute the price (with or without s) and each strength: the dependence and
        the noise floor (HGR, splines), the mean absolute change as a share of the mean price, the share of
        the exposure whose price changes by more than a tenth, and, with an outcome, the error divided by the
        error of the mean outcome.
    prices
        The audit's rows in their order, with columns for the price, s, and each way and strength.
    """
    # scikit-learn is loaded only here, because a page that shows an audit does not need it.
    from fairdash.tariff.postprocessor import FairPostprocessor

    seed, price, columns = random_state or 0, table.price, table.columns
    x = table.features.assign(**{columns.price: price})
    fold, s = table.folds(N_FOLDS), pd.Series(table.s_for_tests)
    predictions: dict[tuple[str, float], Array] = {
        (use_of_s, alpha): np.empty(table.n) for use_of_s in (WITH_S, WITHOUT_S) for alpha in ALPHAS
    }
    for k in np.unique(fold):
        progress("repairing the price", 0.7 * k / N_FOLDS)
        in_fold, training = fold == k, fold != k
        repair = FairPostprocessor(columns.price, random_state=seed)
        repair.fit(x[training], sensitive_features=s[training], sample_weight=table.weight[training])
        for use_of_s, given_s in ((WITH_S, s[in_fold]), (WITHOUT_S, None)):
            full = repair.predict(x[in_fold], sensitive_features=given_s, alpha=1.0)
            for alpha in ALPHAS:
                predictions[use_of_s, alpha][in_fold] = (1 - alpha) * price[in_fold] + alpha * full
    rows: list[dict[str, str | float]] = []
    v = np.column_stack(table.s_columns)
    for (use_of_s, alpha), each in predictions.items():
        progress("measuring repaired prices", 0.7 + 0.3 * len(rows) / len(predictions))
        result = assess_dependence("hgr_spline", each, v, n_permutations=39, n_bootstrap=0, random_state=seed)
        change = np.abs(each - price)
        row: dict[str, str | float] = {"s at pricing": use_of_s, "strength": alpha}
        row |= {"dependence": result.value, "floor": result.floor}
        row |= {"mean change": table.mean(change) / table.mean_price}
        row |= {"moved by a tenth": table.mean((change > CHANGE_COLUMN * np.abs(price)).astype(float))}
        if table.outcome is not None:
            is_finite = np.isfinite(table.outcome)
            part = table.take(is_finite)
            y = part.outcome_at_price_level
            loss = (
                LOSSES["poisson"] if min(each.min(), price.min()) > 0 <= y.min() else LOSSES["squared_error"]
            )
            mean = np.full(part.n, part.mean(y))
            error, error_of_mean = (
                part.mean(loss.deviances(y, each[is_finite])),
                part.mean(loss.deviances(y, mean)),
            )
            row["error"] = error / error_of_mean
        rows.append(row)
    prices = {
        f"s {use_of_s}, strength {alpha:g}": each for (use_of_s, alpha), each in predictions.items() if alpha
    }
    return pd.DataFrame(rows), pd.DataFrame(
        {columns.price: price, columns.sensitive: table.s_for_tests, **prices}
    )


def reach_in_words(figures: pd.DataFrame) -> str:
    """State how much of a repair remains if prices can't use s. Figures are from :func:`repair_price`."""
    dependence = figures.set_index(["s at pricing", "strength"])["dependence"]
    before, with_s, without_s = (dependence[key] for key in ((WITH_S, 0.0), (WITH_S, 1.0), (WITHOUT_S, 1.0)))
    text = (
        f"At full strength, the dependence (HGR, splines) changes from {before:.2f} to {with_s:.2f} if the "
        f"attribute is known at pricing, and to {without_s:.2f} if it is not."
    )
    if before <= with_s:
        return text
    share = np.clip((before - without_s) / (before - with_s), 0.0, 1.0)
    return f"{text} Without the attribute, the repair reaches {percent(share, decimals=0)} of this reduction."
