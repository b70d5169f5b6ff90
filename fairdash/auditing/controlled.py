"""The curve among equals: what is left of price and s when factors named as legitimate are taken out.

Robinson (1988): π = g(s) + h(C) + noise, so π − E[π|C] is regressed on ψ(s) − E[ψ(s)|C], where ψ are the
functions of :mod:`fairdash.auditing.basis`. What C tells is learned on other folds, by
:mod:`fairdash.dependence.conditional_means`: splines and levels of each factor with products of two, and
where there are several, trees on what these leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairdash.auditing.basis import Basis, basis_of
from fairdash.auditing.curve import Curve, fit_curve
from fairdash.auditing.table import AuditTable
from fairdash.dependence.conditional_means import N_FOLDS, as_given, ridge_out_of_fold, spline_functions
from fairdash.dependence.double_residuals import TREE_ROWS
from fairdash.seeds import Stream, seed_of

Array = NDArray[np.float64]

#: Rows that one factor is looked at on; several jointly, by trees, on :data:`TREE_ROWS`.
MOST_ROWS = 100_000
_TREES = 60
#: Rows of average weight in a leaf of a tree, at least.
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
    most = MOST_ROWS if len(factors) == 1 else TREE_ROWS
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
    varied = [name for name in factors if table.controls[name].nunique() > 1]
    if not varied:
        return both - np.average(both, axis=0, weights=table.weight)
    given = as_given(table.controls[varied], table.n)
    folds = table.folds(N_FOLDS)
    functions, penalty, _ = spline_functions(given, table.weight)
    left = both - ridge_out_of_fold(functions, penalty, both, table.weight, folds)
    if len(varied) == 1:
        return left
    # All columns by the same trees: boosted ones of each alone would take a minute.
    from sklearn.ensemble import ExtraTreesRegressor

    codes = np.column_stack([*given.numbers.values(), *given.levels.values()])
    more = np.empty_like(left)
    for fold in range(N_FOLDS):
        out = folds == fold
        trees = ExtraTreesRegressor(
            n_estimators=_TREES,
            # By weight: a row twice and a row of weight 2 are one and the same.
            min_weight_fraction_leaf=_LEAF / table.n_distinct,
            max_features=1.0,
            random_state=None if random_state is None else seed_of(Stream.AUDIT_ROWS, random_state, fold),
        )
        # Columns of one spread, so that each counts alike where a tree is cut.
        spread = np.sqrt(np.average(left**2, axis=0, weights=table.weight)) + 1e-300
        trees.fit(codes[~out], left[~out] / spread, sample_weight=table.weight[~out])
        more[out] = left[out] - trees.predict(codes[out]) * spread
    return more
