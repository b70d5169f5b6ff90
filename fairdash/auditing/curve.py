"""Basis functions of s, and the estimated curve E[y|s] with its standard errors.

Between the 5th and the 95th percentile of s, a curve is a cubic spline with penalised roughness (O'Sullivan
1986; Wand and Ormerod 2008). If s has few levels, the curve is the mean of y at each level. The tails are the
rows below the 5th and above the 95th percentile. In each tail, the curve is a single mean. A surcharge on the
highest values of s is therefore visible, and does not distort the adjacent curve. A separate penalty limits
the distance of a tail's mean from the curve's linear extrapolation.

The coefficients β minimise Σ w (y − B(s)β)² / Σ w + λ β'Pβ + κ β'Qβ, where P measures the curve's roughness,
and Q measures the distance of the tails' means from the curve's linear extrapolation. Restricted maximum
likelihood selects λ and κ (Wahba 1985; Wood 2011). The selected λ is then reduced, so that the bias is small
compared with the noise. κ is at most 0.2: a tail's estimated mean depends on the tail's rows at least five
times as much as on the adjacent curve. The covariance of the curve is the sum of three parts: the remaining
bias (Wahba 1983; Nychka 1988), the error of the estimated percentiles of s, and the noise. The noise is a
sandwich estimate from sums over independent units (rows or policies), and allows for unequal variances.

The test of a flat curve does not use the fitted curve: the penalty is selected on the same rows, and the
curve's limits allow for bias. If E[y|s] = E[y], the product of y and any fixed function of s with mean 0 has
mean 0. The test of a flat curve uses cosine waves of the rank of s, from slow to fast, and indicators of the
tails. If s has levels, the test compares each pair of levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import csr_matrix, hstack, issparse

from fairdash.auditing.table import AuditTable
from fairdash.dependence.classical import quantiles
from fairdash.evaluation.insurance import MIN_SHOWN

Array = NDArray[np.float64]

#: The curve is evaluated between these quantiles of s, given as shares of the exposure.
LOW, HIGH = 0.05, 0.95
#: Maximum number of distinct values of s that are treated as levels, without a spline.
MAX_LEVELS = 25
_DEGREE = 3
_MIN_KNOTS, _MAX_KNOTS = 6, 40
#: Maximum length of the curve's linear extrapolation into a tail, as a share of the curve's range.
_MAX_EXTENSION = 0.5
#: Test of a flat curve with at most `_MAX_WAVES` waves. `_DISCOUNT` divides |t| of all waves except the
#: `_SLOW_WAVES` slowest ones, which gives them less weight, because few prices oscillate along s.
_MAX_WAVES, _SLOW_WAVES, _DISCOUNT = 24, 4, 1.25
#: Maximum number of rows to fit the waves, spread evenly over the sorted values of s.
_MAX_WAVE_ROWS = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Basis:
    """Basis functions of s, evaluated at the rows and at the points of a curve.

    Attributes
    ----------
    rows : (n, p) sparse array
        Value of each basis function at each row. In every row, the basis functions add up to 1.
    points : (J, p) array
        Value of each basis function at each point, so that ``points @ coefficients`` is the curve.
    penalty : (p, p) array
        Roughness ∫ f''² of the curve f as a quadratic form of the coefficients; 0 for levels and tails.
    steps : (p, p) array
        Quadratic form of the coefficients: the sum over both tails of (tail's mean − linear extrapolation
        of the curve)² times the tail's share of the exposure. All entries are 0 if s has levels.
    at : (J,) array
        The value of s at each point. A tail has one point, at the mean s of its rows.
    share : (J,) array
        Share of the exposure at or below each point.
    kind : tuple of J strings
        ``"curve"``, ``"level"``, ``"below"`` (the mean of the rows below the 5th percentile) or ``"above"``.
    ends : (2,) array
        Shares of the exposure below the lower end, and up to the upper end, of the curve's range of s.
    table
        Source of the rows.
    """

    rows: csr_matrix
    points: Array
    penalty: Array
    steps: Array
    at: Array
    share: Array
    kind: tuple[str, ...]
    ends: Array
    table: AuditTable

    @cached_property
    def contrasts(self) -> tuple[Array, Array]:
        """Coefficients (p, q) of contrasts with mean 0 that test for a flat curve; divisors (q,) of |t|."""
        return _contrasts(self.rows, self.points, self.penalty, self.table)

    @property
    def is_curve(self) -> NDArray[np.bool_]:
        return np.array([kind == "curve" for kind in self.kind])

    def nearest(self, share: float) -> int:
        """Return the point within the range that is nearest to a share of the exposure."""
        is_not_tail = np.array([kind in ("curve", "level") for kind in self.kind])
        return int(np.argmin(np.where(is_not_tail, np.abs(self.share - share), np.inf)))


def basis_of(table: AuditTable) -> Basis:
    """Return the basis for a table's s and the points where a curve along s is evaluated."""
    s, weight = table.sensitive, table.weight
    low, high = quantiles(s, weight, np.array([LOW, HIGH]))
    if table.classes:
        # Classes have no order, so the class with the lowest or highest code is not a tail.
        low, high = s[0], s[-1]
    is_not_tail = (s >= low) & (s <= high)
    values = np.unique(s[is_not_tail])
    if len(values) <= MAX_LEVELS or table.classes:
        core = _levels(table, is_not_tail, values)
    else:
        core = _spline(s, weight, is_not_tail, knots=_knots(table.n_units))
    rows, points, penalty, at_points, kind, straight_line = core
    steps = np.zeros_like(penalty)
    total = weight.sum()
    share = np.cumsum(weight)[np.searchsorted(s, at_points, side="right") - 1] / total
    tails = np.array([weight[s < low].sum(), weight[s <= high].sum()]) / total
    for name, tail, where in (("below", s < low, tails[0]), ("above", s > high, tails[1])):
        if not tail.any():
            continue
        rows = hstack([rows, csr_matrix(tail[:, None].astype(float))], format="csr")
        points = np.pad(points, ((0, 0), (0, 1)))
        penalty, steps = (np.pad(matrix, (0, 1)) for matrix in (penalty, steps))
        mean = weight[tail] @ s[tail] / weight[tail].sum()
        if straight_line is not None:
            step = np.append(np.zeros(points.shape[1] - 1), 1.0)
            straight = straight_line(mean)
            step[: len(straight)] -= straight
            steps += weight[tail].sum() / total * np.outer(step, step)
        if len(np.unique(table.units[tail])) < MIN_SHOWN:
            continue  # too few rows to show; the tail's coefficient keeps these rows from affecting the curve
        points = np.vstack([points, np.eye(points.shape[1])[-1]])
        at_points = np.append(at_points, mean)
        share, kind = np.append(share, where), (*kind, name)
    return Basis(
        rows=rows, points=points, penalty=penalty, steps=steps, at=at_points, share=share, kind=kind,
        ends=tails, table=table,
    )  # fmt: skip


def _contrasts(rows: csr_matrix, points: Array, penalty: Array, table: AuditTable) -> tuple[Array, Array]:
    mean, is_bent = table.share @ rows, penalty.any(axis=0)
    if not is_bent.any():
        level_means = points.T / mean[:, None]
        first, second = np.triu_indices(len(points), 1)
        return level_means[:, first] - level_means[:, second], np.ones(len(first))
    count = min(_MAX_WAVES, int(is_bent.sum()) - 1)
    _, value = np.unique(table.sensitive, return_inverse=True)
    mass = np.bincount(value, weights=table.share)
    rank = (np.cumsum(mass) - mass / 2)[value]
    wave_rows = np.unique(np.linspace(0, table.n - 1, min(table.n, _MAX_WAVE_ROWS)).astype(np.intp))
    design, weight = rows[wave_rows], table.share[wave_rows]
    weighted = scale_rows(design, weight)
    gram = (design.T @ weighted).toarray()
    gram += 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram))
    waves = np.cos(np.pi * np.outer(rank[wave_rows], np.arange(1, count + 1)))
    contrasts = np.column_stack([np.linalg.solve(gram, weighted.T @ waves), np.eye(len(gram))[:, ~is_bent]])
    discount = np.ones(contrasts.shape[1])
    discount[_SLOW_WAVES:count] = _DISCOUNT
    # The contrasts are centred by subtracting means, because the basis functions add up to 1 in each row.
    return contrasts - mean @ contrasts, discount


def _knots(n: int) -> int:
    return int(np.clip(round(n ** (1 / 3)), _MIN_KNOTS, _MAX_KNOTS))


#: Parts of a basis: rows, points, penalty, at, kind, and a function for the linear extrapolation.
_CurveBasis = tuple[csr_matrix, Array, Array, Array, tuple[str, ...], Callable[[float], Array] | None]


def _levels(table: AuditTable, is_not_tail: NDArray[np.bool_], values: Array) -> _CurveBasis:
    s = table.sensitive
    code = np.searchsorted(values, s[is_not_tail])
    counts = np.array([len(np.unique(table.units[is_not_tail][code == k])) for k in range(len(values))])
    where = (np.flatnonzero(is_not_tail), code)
    rows = csr_matrix((np.ones(len(code)), where), shape=(len(s), len(values)))
    dense = counts >= MIN_SHOWN
    points = np.eye(len(values))[dense]
    return rows, points, np.zeros((len(values),) * 2), values[dense], ("level",) * int(dense.sum()), None


def _spline(s: Array, weight: Array, is_not_tail: NDArray[np.bool_], *, knots: int) -> _CurveBasis:
    inner_s, inner_weight = s[is_not_tail], weight[is_not_tail]
    low, high = inner_s[0], inner_s[-1]
    # x is s scaled to [0, 1], so that the penalty does not depend on the unit of s.
    x = (inner_s - low) / (high - low)
    inner_knots = np.unique(quantiles(x, inner_weight, np.linspace(0, 1, knots + 2)[1:-1]))
    inner_knots = inner_knots[(inner_knots > 0) & (inner_knots < 1)]
    edges = np.concatenate([[0.0], inner_knots, [1.0]])
    knot_vector = np.concatenate([[0.0] * _DEGREE, edges, [1.0] * _DEGREE])
    values = csr_matrix(BSpline.design_matrix(x, knot_vector, _DEGREE))
    p = values.shape[1]
    # Rows outside the range have zeros here; they are at the start and the end of the sorted s.
    first = int(is_not_tail.argmax())
    starts = np.pad(values.indptr, (first, len(s) - len(x) - first), mode="edge")
    values = csr_matrix((values.data, values.indices, starts), (len(s), p))
    functions = BSpline(knot_vector, np.eye(p), _DEGREE)
    second = functions.derivative(2)
    # Gauss's rule with two nodes is exact because f'' is linear between knots.
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    second_at_nodes = np.vstack([second(centre - half / np.sqrt(3)), second(centre + half / np.sqrt(3))])
    penalty = second_at_nodes.T @ (second_at_nodes * np.tile(half, 2)[:, None])
    shares = np.linspace(LOW, HIGH, 37)
    at = np.unique(quantiles(s, weight, shares))
    points = BSpline.design_matrix((at - low) / (high - low), knot_vector, _DEGREE).toarray()

    def straight_line(value: float) -> Array:
        edge = 0.0 if value < low else 1.0
        # Far from the range, in a long tail, a linear extrapolation is not meaningful.
        extension = np.clip((value - low) / (high - low) - edge, -_MAX_EXTENSION, _MAX_EXTENSION)
        return functions(edge) + extension * functions(edge, 1)

    return values, points, penalty, at, ("curve",) * len(at), straight_line


#: Values of functions at the rows, as a sparse or a dense array.
Rows = Any

#: The penalty that restricted maximum likelihood selects is multiplied by this factor.
UNDERSMOOTHING = 0.3
_LAMBDAS = np.logspace(-10, 4, 141)
#: Candidates for κ, the weight of the adjacent curve relative to the rows of a tail.
_KAPPAS = (0.003, 0.01, 0.03, 0.1, 0.2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """Values of a curve at the points of a basis, with their covariance.

    Attributes
    ----------
    basis
        The basis functions and the points at which the curve is evaluated.
    values : (J,) array
        Value of the curve at each point, in units of y.
    covariance : (J, J) array
        Covariance of the curve from noise, bias and estimated percentiles, in squared units of y.
    coefficients : (p,) array
        Coefficients of the basis functions.
    solve : (p, p) array
        Inverse of the Gram matrix (cross products of the basis functions) plus penalties.
    scores : (U, p) array, sparse or dense
        Contributions of the units to the normal equations at the solution, which add up to about 0.
    rank_slope : (J,) array
        Derivative of the curve with respect to the share of the exposure, at each point.
    products : (U, p) array, sparse or dense
        Products of y − mean(y) and each basis function, summed within each unit.
    lam, edf
        Weight λ of the penalty on roughness, and effective degrees of freedom of the curve.
    freedom : (J,) array
        Degrees of freedom of the variance at each level, from its number of units; infinite for a spline.
    """

    basis: Basis
    values: Array
    covariance: Array
    coefficients: Array
    solve: Array
    scores: Rows
    rank_slope: Array
    products: Rows
    lam: float
    edf: float
    freedom: Array

    @property
    def standard_errors(self) -> Array:
        """Standard error of the curve at each point, (J,), in units of y."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def errors(self, weights: Array, table: AuditTable) -> Array:
        """Return each unit's contribution, (U, k), to the errors of k weighted sums of curve values."""
        unit_errors = np.asarray(self.scores @ (self.solve @ (self.basis.points.T @ weights)))
        below = np.cumsum(table.weight) / table.weight.sum()
        for k, each in enumerate(weights.T):
            per_row = np.zeros(table.n)
            for j in np.flatnonzero(each * self.rank_slope):
                p = self.basis.share[j]
                per_row += each[j] * self.rank_slope[j] * (p - (below <= p + 1e-12))
            unit_errors[:, k] += table.per_unit(per_row * table.share)
        return unit_errors

    def difference(self, low: int, high: int, table: AuditTable) -> tuple[float, Array]:
        """Return the curve's difference between two points, and each unit's part of its error, (U,)."""
        weights = np.zeros((len(self.values), 1))
        weights[high] += 1
        weights[low] -= 1
        return float(self.values @ weights[:, 0]), self.errors(weights, table)[:, 0]


def fit_curve(
    y: Array, table: AuditTable, basis: Basis, *, rows: Rows | None = None, lam: float | None = None
) -> Curve:
    """Fit the curve of y (n,) along s.

    Parameters
    ----------
    rows : (n, p) array, optional
        Basis functions minus their regression on the controls, for a curve given controls. With `rows`, `y`
        must also be residuals of a regression on the controls.
    lam
        Weight λ of the penalty on roughness; if it is given, κ is 0. By default both penalties are estimated.
    """
    design = basis.rows if rows is None else rows
    weight = table.share
    weighted = scale_rows(design, weight)
    gram = np.asarray((design.T @ weighted).todense() if issparse(design) else design.T @ weighted)
    size = np.trace(gram) / len(gram)
    gram = gram + 1e-10 * size * np.eye(len(gram))
    if not issparse(design):
        # The residuals of each row add up to 0, so the level of the curve is undetermined. It is set to 0.
        gram = gram + size / len(gram)
    # The curve is fitted to y minus its mean, so that a flat curve stays flat in spite of rounding and the
    # small ridge in the Gram matrix. The mean can be added later, because the basis functions add up to 1.
    level = float(weight @ y) if rows is None else 0.0
    centred = y - level
    moment = np.asarray(weighted.T @ centred).ravel()
    kappa = 0.0
    if lam is None:
        lam, kappa = _penalties(gram, basis, moment, float(weight @ centred**2), table.n_units)
    penalty = lam * basis.penalty + kappa * basis.steps
    factor = cho_factor(gram + penalty)
    solve = cho_solve(factor, np.eye(len(gram)))
    coefficients = solve @ moment
    residual = centred - np.asarray(design @ coefficients).ravel()
    scores = sum_by_unit(weighted, residual, table)
    edf = float(np.trace(solve @ gram))
    n_units = scores.shape[0]
    meat = _gram_matrix(scores) * n_units / max(n_units - edf, 1.0)
    # The trace divided by the effective degrees of freedom is σ², which scales the bias σ² A (λP + κQ) A.
    noise = float(np.trace(solve @ meat) / edf)
    coefficient_covariance = solve @ (meat + noise * penalty) @ solve
    values = basis.points @ coefficients + level
    slope = _rank_slope(values, basis)
    covariance = basis.points @ coefficient_covariance @ basis.points.T + _percentile_covariance(
        slope, basis, table
    )
    return Curve(
        basis=basis, values=values, coefficients=coefficients + level,
        covariance=(covariance + covariance.T) / 2, solve=solve, scores=scores, rank_slope=slope,
        products=sum_by_unit(weighted, centred, table),
        lam=lam, edf=edf, freedom=_degrees_of_freedom(basis, table),
    )  # fmt: skip


def predicted_out_of_fold(
    y: Array, table: AuditTable, basis: Basis, *, lam: float, n_folds: int = 5
) -> Array:
    """Predict y, (n,) or (n, k), at each row, with a curve fitted to the rows of the other folds."""
    folds = table.folds(n_folds)
    predictions = np.empty_like(y)
    for fold in range(n_folds):
        test = folds == fold
        rows = basis.rows[~test]
        weighted = scale_rows(rows, table.weight[~test] / table.weight[~test].sum())
        gram = np.asarray((rows.T @ weighted).todense())
        gram += 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram)) + lam * basis.penalty
        predictions[test] = basis.rows[test] @ np.linalg.solve(gram, np.asarray(weighted.T @ y[~test]))
    return predictions


def _penalties(gram: Array, basis: Basis, moment: Array, square: float, n: int) -> tuple[float, float]:
    """Estimate λ and κ by restricted maximum likelihood, and reduce λ (undersmoothing)."""
    if not basis.penalty.any():
        return 0.0, 0.0
    tails = int(np.linalg.matrix_rank(basis.steps))
    penalties = []
    for kappa in _KAPPAS if tails else (0.0,):
        gram_with_steps = gram + kappa * basis.steps
        # With generalised eigenvalues of the penalty and the Gram matrix, each λ needs only a division.
        eigenvalues, vectors = eigh(basis.penalty, gram_with_steps)
        projected = (vectors.T @ moment) ** 2
        is_rough = eigenvalues > 1e-8 * eigenvalues.max()
        strength = _LAMBDAS[:, None] * eigenvalues[is_rough]
        remaining = square - projected[~is_rough].sum() - (projected[is_rough] / (1 + strength)).sum(axis=1)
        degrees = max(n - int((~is_rough).sum()) + tails, 1)
        # −2 × restricted log likelihood, without a constant.
        score = degrees * np.log(np.maximum(remaining, max(1e-14 * square, 1e-300)))
        score += np.log1p(1 / strength).sum(axis=1)
        if tails:
            score += np.linalg.slogdet(gram_with_steps)[1]
            score += np.log(eigenvalues[is_rough]).sum() - tails * np.log(kappa)
        best = int(np.argmin(score))
        penalties.append((score[best], float(_LAMBDAS[best] * UNDERSMOOTHING), kappa))
    return min(penalties)[1:]


def _gram_matrix(scores: Rows) -> Array:
    return np.asarray((scores.T @ scores).todense() if issparse(scores) else scores.T @ scores)


def scale_rows(design: Rows, factor: Array) -> Rows:
    """Multiply each row of a design matrix (n, p) by the row's factor (n,)."""
    if not issparse(design):
        return design * factor[:, None]
    # multiply() is slower, because it creates a sparse array of the factors.
    values = design.data * np.repeat(factor, np.diff(design.indptr))
    return csr_matrix((values, design.indices, design.indptr), design.shape)


def sum_by_unit(weighted: Rows, residual: Array, table: AuditTable) -> Rows:
    """Multiply `weighted` rows (n, p) by residuals (n,), and return the sums within each unit, (U, p)."""
    products, units = scale_rows(weighted, residual), table.units
    if len(units) == table.n_units:
        return products
    unit_indicators = csr_matrix((np.ones(len(units)), (units, np.arange(len(units)))))
    return unit_indicators @ products


def _degrees_of_freedom(basis: Basis, table: AuditTable) -> Array:
    """Return the degrees of freedom of the points' variances, (J,); unequal weights reduce them."""
    freedom = np.full(len(basis.at), np.inf)
    for j in np.flatnonzero(np.array(basis.kind) == "level"):
        squares = table.per_unit(table.weight * (table.sensitive == basis.at[j])) ** 2
        freedom[j] = max(squares.sum() ** 2 / max((squares**2).sum(), 1e-300) - 1, 1.0)
    return freedom


def _rank_slope(values: Array, basis: Basis) -> Array:
    """Return the derivative of each point's value with respect to its percentile, (J,): dM/dp for the curve
    M, (M(p) − T)/p for the lower tail's mean T, and (T − M(p))/(1 − p) for the upper tail's."""
    slope = np.zeros(len(values))
    is_not_tail = basis.is_curve
    if is_not_tail.sum() < 3:
        return slope
    slope[is_not_tail] = np.gradient(values[is_not_tail], basis.share[is_not_tail])
    low, high = values[is_not_tail][0], values[is_not_tail][-1]
    for j, kind in enumerate(basis.kind):
        if kind == "below":
            slope[j] = (low - values[j]) / basis.ends[0]
        elif kind == "above":
            slope[j] = (values[j] - high) / (1 - basis.ends[1])
    return slope


def _percentile_covariance(slope: Array, basis: Basis, table: AuditTable) -> Array:
    """Return the covariance due to estimated percentiles of s: M'(p) M'(q) (min(p, q) − pq) / n."""
    variance_factor = table.error(table.share) ** 2
    p = basis.share
    return np.outer(slope, slope) * (np.minimum.outer(p, p) - np.outer(p, p)) * variance_factor
