"""The curve among equals: what is left of price and s when factors named as legitimate are taken out.

Robinson (1988): π = g(s) + h(C) + noise, so π − E[π|C] is regressed on ψ(s) − E[ψ(s)|C], where ψ are the
functions of :mod:`fairdash.auditing.basis`. What C tells is learned on other folds: by splines and levels of
each factor, and where there are several, by products of two and by trees on what these leave, so that
factors may act together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from scipy.interpolate import BSpline

from fairdash.auditing.basis import Basis, basis_of, quantiles
from fairdash.auditing.curve import Curve, fit_curve
from fairdash.auditing.table import FEWEST_SHOWN, AuditTable
from fairdash.seeds import Stream, seed_of

Array = NDArray[np.float64]

#: Rows that one factor, and all of them jointly by trees, are looked at on.
MOST_ROWS, MOST_ROWS_JOINTLY = 100_000, 20_000
_FOLDS = 5
_KNOTS = 8
_TREES = 60
_RIDGE = 1e-8
#: Columns of products of two factors, and levels of a factor in them, at most.
_MOST_PRODUCTS, _MOST_LEVELS = 120, 6
#: Rows in a leaf of a tree, at least.
_LEAF = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Controlled:
    """A curve among equals.

    Attributes
    ----------
    factors
        Which were taken out.
    table
        The rows that were looked at: all, or some that the seed has drawn.
    curve
        In units of the price; its level is that of the mean price.
    """

    factors: tuple[str, ...]
    table: AuditTable
    curve: Curve


def controlled_curve(
    table: AuditTable, y: Array, factors: tuple[str, ...], *, random_state: int | None = 0
) -> Controlled:
    """The curve of y (n,) along s among rows that are equal in some factors."""
    most = MOST_ROWS if len(factors) == 1 else MOST_ROWS_JOINTLY
    # Folds are cut of what the kept rows are dealt, which is to fill [0, 1) again.
    share = min(1.0, most / table.n)
    kept = table.deal < share
    part, y = table.take(kept), y[kept]
    part = replace(part, deal=part.deal / share)
    basis = basis_of(part)
    both = np.column_stack([y, basis.rows.toarray()])
    left = _left(both, part, factors, random_state=random_state)
    curve = fit_curve(left[:, 0], part, basis, rows=left[:, 1:])
    return Controlled(factors=factors, table=part, curve=_level(curve, basis, part, y))


def _level(curve: Curve, basis: Basis, table: AuditTable, y: Array) -> Curve:
    """The curve at the level of y's mean: among equals only differences along s are known."""
    share = table.weight / table.weight.sum()
    shift = float(share @ (y - np.asarray(basis.rows @ curve.coefficients).ravel()))
    return replace(curve, values=curve.values + shift)


def _left(both: Array, table: AuditTable, factors: tuple[str, ...], *, random_state: int | None) -> Array:
    """What the factors do not tell of some columns (n, k), told by the other folds."""
    folds = table.folds(_FOLDS)
    alone = [_functions(table, name) for name in factors]
    told = np.column_stack([np.ones(table.n), *alone, *_together(table, factors)])
    left = np.empty_like(both)
    for fold in range(_FOLDS):
        out = folds == fold
        weighted = told[~out] * table.weight[~out][:, None]
        gram = weighted.T @ told[~out]
        gram += _RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
        left[out] = both[out] - told[out] @ np.linalg.solve(gram, weighted.T @ both[~out])
    if len(factors) == 1:
        return left
    from sklearn.ensemble import ExtraTreesRegressor

    codes = np.column_stack([_as_numbers(table.controls[name]) for name in factors])
    more = np.empty_like(left)
    for fold in range(_FOLDS):
        out = folds == fold
        trees = ExtraTreesRegressor(
            n_estimators=_TREES,
            min_samples_leaf=_LEAF,
            max_features=1.0,
            random_state=None if random_state is None else seed_of(Stream.AUDIT_ROWS, random_state, fold),
        )
        # Columns of one spread, so that each counts alike where a tree is cut.
        spread = left.std(axis=0) + 1e-300
        trees.fit(codes[~out], left[~out] / spread, sample_weight=table.weight[~out])
        more[out] = left[out] - trees.predict(codes[out]) * spread
    return more


def _functions(table: AuditTable, name: str) -> Array:
    """Functions of one factor at the rows, (n, k): its levels, or splines of a number; none is a constant."""
    column = table.controls[name]
    distinct = column.nunique()
    if not is_numeric_dtype(column) or distinct <= _KNOTS + 4:
        codes, _ = pd.factorize(column, sort=True)
        counts = np.bincount(codes)
        # Levels of few rows are one.
        place = np.where(counts >= FEWEST_SHOWN, np.cumsum(counts >= FEWEST_SHOWN), 0)
        return np.eye(int(place.max()) + 1)[place[codes]][:, 1:]
    x = column.to_numpy()
    order = np.argsort(x, kind="stable")
    cuts = np.unique(quantiles(x[order], table.weight[order], np.linspace(0.01, 0.99, _KNOTS)))
    if len(cuts) < 2:
        return (x[:, None] - x.mean()) / (x.std() + 1e-300)
    full = np.concatenate([[cuts[0]] * 3, cuts, [cuts[-1]] * 3])
    inner = BSpline.design_matrix(np.clip(x, cuts[0], cuts[-1]), full, 3).toarray()[:, 1:]
    # Beyond the outermost percentiles a straight line goes on.
    beyond = (x - np.clip(x, cuts[0], cuts[-1])) / (cuts[-1] - cuts[0])
    return np.column_stack([inner, beyond])


def _together(table: AuditTable, factors: tuple[str, ...]) -> list[Array]:
    """Products of short functions of two factors, as long as there are few: (n, k) arrays."""
    short = [_short(table, name) for name in factors]
    products: list[Array] = []
    for i, j in combinations(range(len(factors)), 2):
        made = (short[i][:, :, None] * short[j][:, None, :]).reshape(table.n, -1)
        if sum(each.shape[1] for each in products) + made.shape[1] <= _MOST_PRODUCTS:
            products.append(made)
    return products


def _short(table: AuditTable, name: str) -> Array:
    """A number within its 1st and 99th percentile and its square, or the most frequent levels."""
    column = table.controls[name]
    if is_numeric_dtype(column) and column.nunique() > 2:
        x = column.to_numpy()
        low, high = np.quantile(x, [0.01, 0.99])
        x = (np.clip(x, low, high) - x.mean()) / (x.std() + 1e-300)
        return np.column_stack([x, x**2])
    counts = column.value_counts()
    named = sorted(counts.index[counts >= FEWEST_SHOWN], key=lambda level: (-counts[level], str(level)))
    levels = [(column == level).to_numpy(dtype=float) for level in named[:_MOST_LEVELS]]
    return np.column_stack(levels) if levels else np.empty((table.n, 0))


def _as_numbers(column: pd.Series) -> Array:
    if is_numeric_dtype(column):
        return column.to_numpy(dtype=float)
    return pd.factorize(column, sort=True)[0].astype(float)
