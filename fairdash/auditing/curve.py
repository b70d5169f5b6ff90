"""A curve E[y|s] along the sensitive attribute, with what is known of how far it is off.

The coefficients minimise Σ w (y − B(s)β)² / Σ w + λ β'Pβ + κ β'Qβ: P is the curve's roughness, Q how far the
tails' means step away from where it goes straight on. λ and κ are found by restricted maximum likelihood
(Wahba 1985; Wood 2011); λ is then made smaller, and κ is at most .2, so that a tail's own rows count at least
five times as much as the curve beside it: bias is small beside noise. What is left of it stands in the
covariance beside the noise (Wahba 1983; Nychka 1988); the noise is the sandwich over units, so that neither
unequal spread nor rows of one policy make it look smaller than it is. A point of a curve stands at a
percentile of s, and that percentile is estimated too: its part is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import csr_matrix, issparse

from fairdash.auditing.basis import Basis
from fairdash.auditing.table import AuditTable

Array = NDArray[np.float64]
#: Functions at rows: many zeros in a sparse array, or none.
Rows = Any

#: The penalty that restricted maximum likelihood finds is taken this many times.
UNDERSMOOTHING = 0.3
_LAMBDAS = np.logspace(-10, 4, 141)
#: How much the curve counts at a tail beside the tail's own rows.
_KAPPAS = (0.003, 0.01, 0.03, 0.1, 0.2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """Values of a curve at the points of a basis, and their covariance.

    Attributes
    ----------
    basis
        The functions and the points.
    values : (J,) array
        The curve, in units of y.
    covariance : (J, J) array
        Noise, bias and the percentiles' part; in units of y squared.
    coefficients : (p,) array
        Of the basis' functions.
    solve : (p, p) array
        Inverse of the penalised Gram matrix.
    scores : (U, p) array, sparse or dense
        What each unit adds to the normal equations at the solution; their sum is close to 0.
    rank_slope : (J,) array
        How fast the curve moves with the share of the exposure at a point.
    lam, edf
        The penalty, and how many free coefficients the curve is worth.
    """

    basis: Basis
    values: Array
    covariance: Array
    coefficients: Array
    solve: Array
    scores: Rows
    rank_slope: Array
    lam: float
    edf: float

    @property
    def standard_errors(self) -> Array:
        """(J,) array, in units of y."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def contrast(self, weights: Array, table: AuditTable) -> tuple[float, Array]:
        """The combination ``weights @ values`` of the points, and what each unit adds to its error, (U,)."""
        of_units = np.asarray(self.scores @ (self.solve @ (self.basis.points.T @ weights))).ravel()
        share = np.cumsum(table.weight) / table.weight.sum()
        per_row = np.zeros(table.n)
        for j in np.flatnonzero(weights * self.rank_slope):
            p = self.basis.share[j]
            per_row += weights[j] * self.rank_slope[j] * (p - (share <= p + 1e-12))
        per_row *= table.weight / table.weight.sum()
        return float(weights @ self.values), of_units + np.bincount(table.units, weights=per_row)


def fit_curve(
    y: Array, table: AuditTable, basis: Basis, *, rows: Rows | None = None, lam: float | None = None
) -> Curve:
    """The curve of y (n,) along s.

    Parameters
    ----------
    rows : (n, p) array, optional
        The basis' functions less what the controls tell of them, for a curve among equals; y then likewise.
    lam
        The penalty of roughness, with none on the tails' steps; both are found by default.
    """
    design = basis.rows if rows is None else rows
    weight = table.weight / table.weight.sum()
    weighted = design.multiply(weight[:, None]).tocsr() if issparse(design) else design * weight[:, None]
    gram = np.asarray((design.T @ weighted).todense() if issparse(design) else design.T @ weighted)
    size = np.trace(gram) / len(gram)
    gram = gram + 1e-10 * size * np.eye(len(gram))
    if not issparse(design):
        # The functions add up to 1, of which nothing is left among equals: that direction, the level, is
        # set to 0.
        gram = gram + size / len(gram)
    # The functions add up to 1: what is fitted is y about its mean, so that neither rounding nor the little
    # that keeps the Gram matrix regular bends a curve that is flat.
    level = float(weight @ y) if rows is None else 0.0
    about = y - level
    moment = np.asarray(weighted.T @ about).ravel()
    kappa = 0.0
    if lam is None:
        lam, kappa = _penalties(gram, basis, moment, float(weight @ about**2), table.n_distinct)
    penalty = lam * basis.penalty + kappa * basis.steps
    factor = cho_factor(gram + penalty)
    solve = cho_solve(factor, np.eye(len(gram)))
    coefficients = solve @ moment
    residual = about - np.asarray(design @ coefficients).ravel()
    scores = by_unit(weighted, residual, table)
    edf = float(np.trace(solve @ gram))
    n_units = scores.shape[0]
    meat = np.asarray((scores.T @ scores).todense() if issparse(scores) else scores.T @ scores)
    meat = meat * n_units / max(n_units - edf, 1.0)
    # How much noise a unit of Gram matrix carries, so that the bias is on the same scale: σ² A (λP + κQ) A.
    noise = float(np.trace(solve @ meat) / edf)
    of_coefficients = solve @ (meat + noise * penalty) @ solve
    values = basis.points @ coefficients + level
    slope = _rank_slope(values, basis)
    covariance = basis.points @ of_coefficients @ basis.points.T + _of_percentiles(slope, basis, table)
    return Curve(
        basis=basis,
        values=values,
        covariance=(covariance + covariance.T) / 2,
        coefficients=coefficients + level,
        solve=solve,
        scores=scores,
        rank_slope=slope,
        lam=lam,
        edf=edf,
    )


def told_out_of_fold(y: Array, table: AuditTable, basis: Basis, *, lam: float, n_folds: int = 5) -> Array:
    """The curve of y (n,) at each row, learned on the other folds."""
    folds = table.folds(n_folds)
    told = np.empty(table.n)
    for fold in range(n_folds):
        out = folds == fold
        part = fit_curve(y[~out], table.take(~out), basis, rows=basis.rows[~out], lam=lam)
        told[out] = np.asarray(basis.rows[out] @ part.coefficients).ravel()
    return told


def _penalties(gram: Array, basis: Basis, moment: Array, square: float, n: int) -> tuple[float, float]:
    """λ and κ by restricted maximum likelihood, λ undersmoothed."""
    if not basis.penalty.any():
        return 0.0, 0.0
    tails = int(np.linalg.matrix_rank(basis.steps))
    found = []
    for kappa in _KAPPAS if tails else (0.0,):
        own = gram + kappa * basis.steps
        # own = LL', LᵀPL⁻¹ = V diag(γ) V': every λ is then a division.
        bent, vectors = eigh(basis.penalty, own)
        along = (vectors.T @ moment) ** 2
        bends = bent > 1e-8 * bent.max()
        strength = _LAMBDAS[:, None] * bent[bends]
        left = square - along[~bends].sum() - (along[bends] / (1 + strength)).sum(axis=1)
        degrees = max(n - int((~bends).sum()) + tails, 1)
        # −2 × the restricted log likelihood, without its constants.
        score = degrees * np.log(np.maximum(left, max(1e-14 * square, 1e-300))) + np.log1p(1 / strength).sum(
            axis=1
        )
        if tails:
            score += np.linalg.slogdet(own)[1] + np.log(bent[bends]).sum() - tails * np.log(kappa)
        best = int(np.argmin(score))
        found.append((score[best], float(_LAMBDAS[best] * UNDERSMOOTHING), kappa))
    return min(found)[1:]


def by_unit(weighted: Rows, residual: Array, table: AuditTable) -> Rows:
    """What each unit adds, (U, p): its rows of `weighted` (n, p) times their residuals (n,), added up."""
    if issparse(weighted):
        each = weighted.multiply(residual[:, None]).tocsr()
    else:
        each = weighted * residual[:, None]
    units = table.units
    if len(units) == table.n_units:
        return each
    into = csr_matrix((np.ones(len(units)), (units, np.arange(len(units)))))
    return into @ each


def _rank_slope(values: Array, basis: Basis) -> Array:
    """How a point's value moves with its percentile: dM/dp; of a tail's mean T(p), (M(p) − T)/p or (T −
    M)/(1 − p)."""
    slope = np.zeros(len(values))
    inner = basis.is_curve
    if inner.sum() < 3:
        return slope
    slope[inner] = np.gradient(values[inner], basis.share[inner])
    low, high = values[inner][0], values[inner][-1]
    for j, kind in enumerate(basis.kind):
        if kind == "below":
            slope[j] = (low - values[j]) / basis.ends[0]
        elif kind == "above":
            slope[j] = (values[j] - high) / (1 - basis.ends[1])
    return slope


def _of_percentiles(slope: Array, basis: Basis, table: AuditTable) -> Array:
    """M'(p) M'(q) (min(p, q) − pq) / n: percentiles are off as a Brownian bridge."""
    per_unit = np.bincount(table.units, weights=table.weight)
    per = float((per_unit**2).sum() / per_unit.sum() ** 2)
    p = basis.share
    return np.outer(slope, slope) * (np.minimum.outer(p, p) - np.outer(p, p)) * per
