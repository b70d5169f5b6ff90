"""Conditional dependence of u on s given columns C, measured by the residuals of u and s.

The test regresses u, and functions ψ of s, on C. Under conditional independence, the residuals of u and the
residuals of ψ(s) are uncorrelated. If the sign of an effect changes with C, the effect may average to 0.
Multiplying the residuals by functions of C reveals such an effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.api import Pairs
from fairdash.dependence.classical import standardised, symmetric_root
from fairdash.dependence.conditional_means import (
    LEFT_OF_S,
    N_FOLDS,
    Given,
    determined_error,
    draw_folds,
    indicators,
    require_differences,
    ridge_out_of_fold,
    smooth_functions,
    spline_functions,
    split_columns,
    trees_out_of_fold,
)
from fairdash.dependence.grouping import as_groups, group_rows
from fairdash.errors import Checks, OptionError
from fairdash.utils.rounding import varies
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: `_WEIGHTS_OF_NUMBER` is the maximum number of weight functions of a numeric column of C.
#: `_WEIGHTS_OF_LEVELS` is the maximum number for a categorical column of C.
_WEIGHTS_OF_NUMBER, _WEIGHTS_OF_LEVELS = 2, 8
#: At most `_MAX_PAIRS` products of functions of two columns are used, and at most one per `_ROWS_A_PAIR`
#: rows, because a single large |t| is harder to detect among many |t|. Both functions are nonzero in at least
#: `_ROWS_IN_A_CELL` rows, because means over fewer are not normal.
_ROWS_A_PAIR, _MAX_PAIRS, _ROWS_IN_A_CELL = 50, 30, 30
_EQUAL = 1e-9
#: Number of smooth functions ψ of each sensitive column, in addition to two indicators of extreme values.
_SMOOTH = 4
#: Share of the rows at each end of s that an indicator marks, because smooth functions miss steps there.
_END_SHARE = 0.05
#: Maximum number of rows used to fit the trees.
TREE_ROWS = 20_000
_MIN_ROWS = 50


@dataclass(frozen=True, kw_only=True)
class ConditionalDependence:
    """Test result and effect size: dependence of u on s among rows with equal values in the given columns.

    Attributes
    ----------
    statistic
        Largest absolute t statistic of the mean products of residuals. Under independence, this statistic is
        mostly between 1 and 3.
    p_value
        P-value in [1 / (1 + n_draws), 1]. If E[u|C, s] = E[u|C], the p-value is at most α with a probability
        of about α.
    size
        Partial correlation ratio √(1 − squared error ÷ variance), in [0, 1], on held-out rows. The effect
        size measures how well functions of s, alone and multiplied by functions of C, predict the residual of
        u given C. A size of 0 means that these functions predict nothing on held-out rows. A size of 1 means
        that these functions, together with C, predict u exactly.
    u_explained, s_explained
        Shares of variance, in [0, 1], that C explains on held-out rows: of u, and of the smooth functions of
        s (mean). If `s_explained` is near 1, few rows with equal C differ in s.
    varies_with
        Given column, or pair of columns such as "area and bonus", with which the dependence of u on s varies.
        In the product with the largest |t|, functions of these columns multiply the residuals. ``None`` if
        this product weights all rows equally.
    given
        Names of the given columns that take more than one value.
    regressions
        Description of the method that fits E[·|C].
    n
        Number of rows with a positive weight.
    n_used
        Number of rows used for all results, which is below `n` if trees are fitted to a large table.
    n_products
        Number of mean products of residuals that the test compares.
    n_draws
        Number of random draws from which the p-value is computed.
    """

    statistic: float
    p_value: float
    size: float
    u_explained: float
    s_explained: float
    varies_with: str | None
    given: tuple[str, ...]
    regressions: str
    n: int
    n_used: int
    n_products: int
    n_draws: int


def assess_conditional_dependence(
    u: ArrayLike,
    s: ArrayLike,
    *,
    given: ArrayLike | pd.Series | pd.DataFrame,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    regression: Literal["splines", "trees"] = "splines",
    n_draws: int = 1999,
    random_state: int | None = 0,
) -> ConditionalDependence:
    """Test whether the mean of u depends on s among rows with equal values in the given columns C.

    Parameters
    ----------
    u : (n,) array
        Predictions, prices or residuals.
    s : (n,) or (n, d) array
        One or several sensitive columns; only their ranks are used. Text and categories are treated as
        classes, and each class is compared with all other rows.
    given : (n,) or (n, c) array, Series or DataFrame
        The given columns C. Text, booleans and categories are treated as levels. Of numeric columns, only the
        ranks are used.
    sample_weight : (n,) array, optional
        Non-negative weights, such as exposure, for the regressions and the mean products.
    groups : (n,) array, optional
        Groups of rows, such as policies. Each group stays in one fold and counts as one unit.
    regression
        ``"splines"``: ridge regression on splines of normal scores, means of levels and products of two
        columns. ``"trees"``: gradient boosted trees on all columns, fitted on at most 20,000 random rows, for
        interactions of three or more columns.
    n_draws
        Number of random draws from which the p-value is computed, at least 19.
    random_state
        Seed of the folds, the selected rows and the draws.

    Returns
    -------
    ConditionalDependence

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`~fairdash.dependence.measure`, or if a given value is
        missing, no given column varies, or fewer than 50 rows have a positive weight.
    DeterminedError
        Raised if the given columns determine s. DeterminedError is a subclass of OptionError.

    Notes
    -----
    Let R = w · (u − E[u|C]) · (ψⱼ(s) − E[ψⱼ(s)|C]) · hₖ(C) for every row, with h₀ = 1, summed within groups.
    Each t is ΣR ÷ √Σ(R − R̄)², and the statistic is the largest |t|. The p-value comes from the Gaussian
    multiplier bootstrap, which draws normal variables with the correlations of the R. The test is the
    weighted generalised covariance measure with fixed weight functions of Scheidegger, Hörrmann and Bühlmann
    (2022, JMLR 23), after Shah and Peters (2020, Annals of Statistics 48), with cross-fitted regressions.

    The test has limits. If the regressions miss the way in which both u and s depend on C, the test raises
    false alarms. No test of conditional independence avoids this weakness (Shah and Peters 2020). The test
    needs rows with equal C and different s. If C predicts s well, such rows are rare. If C predicts u nearly
    exactly, the residual of u is mainly the error of the regression of u. The test concerns the mean of u.
    The test does not detect a link in which only the spread of u depends on s. The test also misses an effect
    with more than a few waves along s. It misses an effect whose sign depends on three or more columns
    jointly but not on any two of them. Levels of a category with fewer than five rows, and levels beyond the
    300 most frequent, are merged into one level.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> c, s, noise = rng.normal(size=(3, 1000))
    >>> s = s + c
    >>> found = assess_conditional_dependence(c + noise, s, given=c)
    >>> found.p_value > 0.05
    True
    >>> found = assess_conditional_dependence(c + 0.3 * c * s + noise, s, given=c)
    >>> found.p_value < 0.01, round(found.size, 1)
    (True, 0.2)
    """
    checks = Checks(OptionError)
    checks.require(
        regression in ("splines", "trees"),
        "regression",
        "This kind of regression is unknown",
        "Choose splines or trees.",
    )
    checks.require(
        n_draws == int(n_draws) and n_draws >= 19,
        "n_draws",
        "Too few draws",
        "Give a whole number of at least 19.",
    )
    checks.finish()
    table, codes = split_columns(given, len(np.asarray(u))), as_groups(groups, len(np.asarray(u)))
    residuals = double_residuals(
        u,
        s,
        given=table,
        sample_weight=sample_weight,
        groups=codes,
        regression=regression,
        random_state=random_state,
    )
    units = None if codes is None else as_groups(codes[residuals.rows], len(residuals.rows))
    weights, columns = weight_functions(table.of(residuals.rows))
    # Only smooth ψ are multiplied by functions of C, because few rows of a level have an extreme value of s.
    base = residuals.psi * residuals.u[:, None]
    products = np.concatenate([base, *(base[:, residuals.smooth] * h[:, None] for h in weights.T)], axis=1)
    names = [None] * base.shape[1] + [name for name in columns for _ in range(int(residuals.smooth.sum()))]
    t, p_value = _largest_statistic(products * residuals.weight[:, None], units, n_draws, random_state)
    strongest = int(t.argmax())
    return ConditionalDependence(
        statistic=float(t[strongest]),
        p_value=p_value,
        size=_effect(residuals, weights, units, random_state),
        u_explained=float(np.clip(1 - residuals.left_of_u, 0.0, 1.0)),
        s_explained=float(np.clip(1 - residuals.left_of_psi[residuals.smooth].mean(), 0.0, 1.0)),
        varies_with=names[strongest],
        given=table.names,
        regressions=residuals.regressions,
        n=_n_weighted_rows(sample_weight, len(np.asarray(u))),
        n_used=len(residuals.rows),
        n_products=len(t),
        n_draws=int(n_draws),
    )


@dataclass(frozen=True, eq=False)
class DoubleResiduals:
    """Cross-fitted residuals of u and of functions of s, given C.

    Attributes
    ----------
    u : (n,) array
        u − E[u|C], in the units of u.
    psi : (n, J) array
        ψ(s) − E[ψ(s)|C]. The functions ψ have variance 1, and the smooth functions of each column of s come
        first.
    smooth : (J,) array of bool
        Mask of the smooth functions ψ; the other functions indicate the lowest and the highest values of s.
    left_of_u, left_of_psi : float, (J,) array
        Shares of the variance of u and of each function ψ that C does not explain.
    weight : (n,) array
        Weights of the rows, scaled to mean 1.
    rows : (n,) array of int
        Positions of the rows in the data.
    regressions
        Description of the method that fits E[·|C].
    """

    u: Array
    psi: Array
    smooth: NDArray[np.bool_]
    left_of_u: float
    left_of_psi: Array
    weight: Array
    rows: Index
    regressions: str


def double_residuals(
    u: ArrayLike,
    s: ArrayLike,
    *,
    given: ArrayLike | pd.Series | pd.DataFrame | Given,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    regression: Literal["splines", "trees"] = "splines",
    random_state: int | None = 0,
) -> DoubleResiduals:
    """Return residuals of u and of functions of s given C; see :func:`assess_conditional_dependence`.

    Use these residuals to fit the mean of u as a function of s among rows with equal C (Robinson 1988,
    Econometrica 56).

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`assess_conditional_dependence`.
    """
    pair = Pairs.of(u, s, sample_weight, groups, single=True)
    a, weight, codes, n = pair.u, pair.weight, pair.groups, pair.u.shape[1]
    b = pair.v[0][:, None] if pair.v.ndim == 2 else pair.v[0]
    table = given if isinstance(given, Given) else split_columns(given, n)
    rows = np.arange(n) if weight is None else np.flatnonzero(weight[0] > 0)
    sample_note = ""
    if regression == "trees" and len(rows) > TREE_ROWS:
        rng = rng_of(Stream.CONDITIONAL_ROWS, random_state)
        if codes is None:
            rows = np.sort(rng.choice(rows, TREE_ROWS, replace=False))
        else:
            rows = rows[group_rows(np.unique(codes[rows], return_inverse=True)[1], rng, at_most=TREE_ROWS)]
        sample_note = f" on {len(rows):,} rows drawn at random"
    if len(rows) < _MIN_ROWS:
        raise OptionError.of(
            "Too few rows for regressions on the given columns",
            f"At least {_MIN_ROWS} rows must have a positive weight.",
            column="given",
            count=len(rows),
        )
    mass = np.ones(len(rows)) if weight is None else weight[0][rows] / weight[0][rows].mean()
    table = table.of(rows)
    require_differences(table, b[rows], None if codes is None else codes[rows])
    psi, smooth = _functions_of_s(b[rows])
    targets = np.column_stack([standardised(a[0][rows], mass), psi])
    folds = draw_folds(len(rows), None if codes is None else as_groups(codes[rows], len(rows)), random_state)
    if regression == "trees":
        predicted_values = trees_out_of_fold(table, targets, mass, folds, random_state)
        method = "boosted trees"
    else:
        functions, penalty, method = spline_functions(table)
        predicted_values = ridge_out_of_fold(functions, penalty, targets, mass, folds)
    residuals = targets - predicted_values
    spread = np.average(targets**2, axis=0, weights=mass) - np.average(targets, axis=0, weights=mass) ** 2
    share = np.average(residuals**2, axis=0, weights=mass) / np.where(spread > 0, spread, 1.0)
    usable = (share[1:] > LEFT_OF_S) & (spread[1:] > 0)
    if not (usable & smooth).any():
        raise determined_error()
    scale = np.sqrt(np.average((a[0][rows] - np.average(a[0][rows], weights=mass)) ** 2, weights=mass))
    return DoubleResiduals(
        u=residuals[:, 0] * scale,
        psi=residuals[:, 1:][:, usable],
        smooth=smooth[usable],
        left_of_u=float(share[0]),
        left_of_psi=share[1:][usable],
        weight=mass,
        rows=rows,
        regressions=f"{method}{sample_note}, {N_FOLDS} folds",
    )


def _functions_of_s(s: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the functions ψ(s), (n, J), and a mask of the smooth functions, (J,).

    The functions ψ are smooth functions of each column, products of the smoothest functions of two columns,
    and indicators of the lowest and the highest values of each column.
    """
    smooth = [smooth_functions(column, _SMOOTH) for column in s.T if varies(column)]
    if not smooth:
        raise OptionError.of("The sensitive column is constant", "Choose another column.", column="s")
    # These products of two sensitive columns are later multiplied by functions of C, like the other smooth ψ.
    products = [
        (smooth[i][:, :2, None] * smooth[j][:, None, :2]).reshape(len(s), -1)
        for i in range(len(smooth))
        for j in range(i)
    ]
    end_masks = []
    for column in s.T:
        order = np.sort(column)
        n_end_rows = int(len(column) * _END_SHARE)
        end_masks += [column <= order[n_end_rows], column >= order[-1 - n_end_rows]]
    end_indicators = standardised(np.array(end_masks, dtype=np.float64)).T
    # If a column has few distinct values, the smooth functions already separate its extreme values.
    has_many_values = np.repeat([len(np.unique(x)) > 2 * _SMOOTH for x in s.T], 2)
    end_indicators = end_indicators[:, end_indicators.any(axis=0) & has_many_values]
    functions = np.concatenate([*smooth, *products, end_indicators], axis=1)
    return functions, np.arange(functions.shape[1]) < functions.shape[1] - end_indicators.shape[1]


def weight_functions(given: Given) -> tuple[Array, list[str]]:
    """Return non-constant weight functions h of C, (n, K), and the name of the column of each function.

    A numeric column contributes the two smoothest functions of its ranks. A categorical column contributes
    indicators of its most frequent levels. The last functions are products of the functions of two columns.
    If the sign of an effect depends on two columns jointly, the effect may average to 0 over each column.
    These products detect such an effect. For every pair of columns, the product of the smoothest functions or
    most frequent levels comes first.
    """
    parts: list[Array] = []
    names: list[str] = []
    for name in given.names:
        if name in given.numbers:
            part = smooth_functions(given.numbers[name], _WEIGHTS_OF_NUMBER)
        else:
            part = indicators(given.levels[name])[:, :_WEIGHTS_OF_LEVELS]
        parts.append(part)
        names += [name] * part.shape[1]
    for product, pair in _products_of_pairs(parts, given.names):
        parts.append(product[:, None])
        names.append(pair)
    return np.concatenate(parts, axis=1), names


def _products_of_pairs(parts: list[Array], names: tuple[str, ...]) -> list[tuple[Array, str]]:
    """Return products (n,) of functions of two columns, smoothest or most frequent first, and both names."""
    n = len(parts[0])
    products: list[tuple[Array, str]] = []
    candidates = [
        ((k + 1) * (m + 1), i, j, k, m)
        for i, j in combinations(range(len(parts)), 2)
        for k in range(parts[i].shape[1])
        for m in range(parts[j].shape[1])
    ]
    # Because functions are centred, an interaction of two binary columns changes the mean over all rows.
    centred = [part - part.mean(axis=0) for part in parts]
    for _, i, j, k, m in sorted(candidates):
        if len(products) >= min(n // _ROWS_A_PAIR, _MAX_PAIRS):
            break
        if np.count_nonzero(parts[i][:, k] * parts[j][:, m]) >= _ROWS_IN_A_CELL:
            products.append((centred[i][:, k] * centred[j][:, m], f"{names[i]} and {names[j]}"))
    return products


def _largest_statistic(
    products: Array, groups: Index | None, n_draws: int, random_state: int | None
) -> tuple[Array, float]:
    """Return |t| of the mean of each column of products, (M,), and the p-value of the largest |t|."""
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(groups))[:-1]])
        products = np.add.reduceat(products[order], starts, axis=0)
    centred = products - products.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    varied = size > _EQUAL * np.abs(products).max(initial=0.0)
    t = np.zeros(products.shape[1])
    t[varied] = np.abs(products[:, varied].sum(axis=0)) / size[varied]
    if not varied.any():
        return t, 1.0
    correlation = centred[:, varied].T @ centred[:, varied] / np.outer(size[varied], size[varied])
    draws = rng_of(Stream.CONDITIONAL_DRAWS, random_state).standard_normal((n_draws, len(correlation)))
    largest = np.abs(draws @ symmetric_root(correlation)).max(axis=1)
    n_reached = int(np.count_nonzero(largest >= t.max() - _EQUAL))
    return t, (1 + n_reached) / (1 + n_draws)


def _effect(parts: DoubleResiduals, weights: Array, groups: Index | None, random_state: int | None) -> float:
    """Return √(1 − squared error ÷ variance) of predicting u's residuals from ψ(s) residuals and h(C)."""
    variance = np.average(parts.u**2, weights=parts.weight)
    if variance <= 0:
        return 0.0
    smooth = parts.psi[:, parts.smooth]
    functions = np.concatenate([parts.psi, *(smooth * h[:, None] for h in weights.T)], axis=1)
    folds = draw_folds(len(parts.u), groups, random_state)
    target = (parts.u / np.sqrt(variance))[:, None]
    predicted_values = ridge_out_of_fold(functions, np.ones(functions.shape[1]), target, parts.weight, folds)
    error = np.average((target - predicted_values)[:, 0] ** 2, weights=parts.weight)
    return float(np.sqrt(np.clip(1 - error, 0.0, 1.0)))


def _n_weighted_rows(sample_weight: ArrayLike | None, n: int) -> int:
    return n if sample_weight is None else int(np.count_nonzero(np.asarray(sample_weight) > 0))
