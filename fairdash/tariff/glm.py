"""Fitting of the GLM (λ = 0) with scikit-learn, or by Newton's method if curves are smooth or constrained."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from fairdash.tariff.shape import Shape
from fairdash.training.losses import Loss

Array = NDArray[np.float64]

#: Maximum number of Newton steps after scikit-learn's solver. Each step doubles the number of correct digits.
_NEWTON_STEPS = 5
#: If a table has more than twice this number of rows, the GLM is first fitted to a sample of this number of
#: rows. Newton's method on all rows then starts near the solution.
SAMPLE = 30_000
#: Number of rows per block of a computation.
BLOCK = 16_384
#: Newton's method for smooth or constrained curves. `_STEPS`: maximum number of steps. `_MIN_DECREASE`: the
#: method stops if half the predicted decrease of the objective is below this value.
_STEPS, _MIN_DECREASE = 50, 1e-12


def fit_glm(
    x: Array,
    y: Array,
    weight: Array,
    *,
    loss: Loss,
    shape: Shape,
    offset: Array | None = None,
    start: Array | None = None,
) -> tuple[Array, int]:
    """Fit the GLM of the loss's family and link, and return (P + 1,) coefficients and the number of steps.

    The last coefficient is the intercept. The solver of scikit-learn fits x (n, P) and y (n,), in the units
    of the loss. Newton steps follow as long as they reduce the gradient, so the result is exact up to
    rounding.

    scikit-learn does not support an offset (n,), so :func:`remove_offset` converts the GLM to an equivalent
    GLM without an offset.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import TweedieRegressor

    if offset is not None:
        total = weight.sum()
        y, weight = remove_offset(y, weight, loss=loss, offset=offset)
        # The deviance is now a mean with the new weights. The penalty is rescaled by the ratio of the sums of
        # old and new weights, so that the minimum does not change.
        shape = shape.times(total, weight.sum())
    if (
        start is None
        and shape.is_ridge
        and len(y) > 2 * SAMPLE
        and y[(sampled_rows := _evenly_spaced(len(y)))].any()
    ):
        start, _ = fit_glm(x[sampled_rows], y[sampled_rows], weight[sampled_rows], loss=loss, shape=shape)
    with_ones = np.column_stack([x, np.ones(len(x))])
    if start is not None or not shape.is_ridge:
        return _fit_shape(with_ones, y, weight, loss=loss, shape=shape, start=start)
    model = TweedieRegressor(
        power=loss.power,
        link="log" if loss.has_log_link else "identity",
        alpha=shape.alpha,
        solver="newton-cholesky",
        max_iter=200,
        tol=1e-6,
    )
    # If x has no columns, a column of zeros gives the constant model.
    columns = x if x.shape[1] else np.zeros((len(y), 1))
    with warnings.catch_warnings():
        # If the line search fails, the solver continues with L-BFGS and reports whether it has converged.
        warnings.filterwarnings("ignore", message="Line search of Newton solver", category=ConvergenceWarning)
        model.fit(columns, y, sample_weight=weight)
    beta = np.append(model.coef_[: x.shape[1]], model.intercept_)
    slope, curvature = derivatives(with_ones, y, weight, beta, loss, shape)
    steps = int(model.n_iter_)
    for _ in range(_NEWTON_STEPS):
        steps += 1
        refined = beta - np.linalg.lstsq(curvature, slope)[0]
        new_slope, new_curvature = derivatives(with_ones, y, weight, refined, loss, shape)
        if not np.abs(new_slope).max() < np.abs(slope).max():
            break
        beta, slope, curvature = refined, new_slope, new_curvature
    return beta, steps


def _evenly_spaced(n: int) -> NDArray[np.int64]:
    """Return :data:`SAMPLE` evenly spaced row numbers out of n; unlike a random sample, they need no seed."""
    return np.linspace(0, n - 1, SAMPLE).astype(np.int64)


def remove_offset(y: Array, weight: Array, *, loss: Loss, offset: Array) -> tuple[Array, Array]:
    """Return targets and weights (n,) for a GLM without offset that equals the GLM with offset o (n,).

    With variance power p, the deviance of y from exp(o) μ is exp((2 − p) o) times the deviance of exp(−o) y
    from μ. With the identity link, o is 0.
    """
    return y * np.exp(-offset), weight * np.exp((2 - loss.power) * offset)


def _fit_shape(
    x: Array, y: Array, weight: Array, *, loss: Loss, shape: Shape, start: Array | None
) -> tuple[Array, int]:
    """Fit a GLM with smooth or monotone curves; return (P + 1,) coefficients and the number of Newton steps.

    Newton's method minimises half the mean deviance plus half the shape penalty; both are convex. The method
    starts from `start` (P + 1,), or from the constant model. The last column of x (n, P + 1) consists of
    ones.
    """
    share = weight / weight.sum()
    if start is None:
        mean = share @ y
        start = np.append(np.zeros(x.shape[1] - 1), np.log(mean) if loss.has_log_link else mean)
    beta = start

    def value(b: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(share @ loss.unit_deviance(x @ b, y) + shape.value_and_half_gradient(b)[0]) / 2

    best, steps, decrease = value(beta), 0, np.inf
    curvature: Array | None = None
    for _ in range(_STEPS):
        steps += 1
        if curvature is None:
            slope, curvature = derivatives(x, y, weight, beta, loss, shape)
            # If columns are linearly dependent, the curvature is 0 in some direction, so a small ridge is
            # added.
            curvature[np.diag_indices_from(curvature)] += 1e-10 * curvature.diagonal().mean()
        else:
            slope = gradient_of(x, y, weight, beta, loss, shape)
        direction = np.linalg.solve(curvature, slope)
        length, last_decrease, decrease = 1.0, decrease, float(slope @ direction) / 2
        while (
            not (trial := value(beta - length * direction)) <= best - 1e-4 * length * decrease
            and length > 1e-6
        ):
            length /= 2
        if not trial < best:
            break
        beta, best = beta - length * direction, trial
        if decrease < _MIN_DECREASE:
            break
        # Most of the time is spent on the Hessian. Without constraints, it is reused if the predicted
        # decrease is at most a tenth of the previous one, because the Hessian then hardly changes.
        if decrease > last_decrease / 10 or len(shape.rises):
            curvature = None
    return beta, steps


def derivatives(
    x: Array, y: Array, weight: Array, beta: Array, loss: Loss, shape: Shape
) -> tuple[Array, Array]:
    """Return the gradient and the Hessian of half the mean deviance plus half the shape penalty."""
    share = weight / weight.sum()
    first, second = _along_eta(x @ beta, y, loss)
    curvature = gram(x, share * second) + shape.quadratic + shape.violation_hessian(beta)
    return x.T @ (share * first) + shape.value_and_half_gradient(beta)[1], curvature


def gram(x: Array, weight: Array) -> Array:
    """Return X' diag(w) X, (P, P), of x (n, P) and w (n,), computed in blocks that fit in the CPU's cache."""
    matrix = np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), BLOCK):
        rows = slice(start, start + BLOCK)
        matrix += (x[rows] * weight[rows, None]).T @ x[rows]
    return matrix


def gradient_of(x: Array, y: Array, weight: Array, beta: Array, loss: Loss, shape: Shape) -> Array:
    """Return only the gradient of :func:`derivatives`, which is faster than gradient and Hessian."""
    first, _ = _along_eta(x @ beta, y, loss)
    return x.T @ (weight / weight.sum() * first) + shape.value_and_half_gradient(beta)[1]


def _along_eta(eta: Array, y: Array, loss: Loss) -> tuple[Array, Array]:
    """Return the first and second derivatives (n,) of half the deviance with respect to η (n,)."""
    if not loss.has_log_link:
        return eta - y, np.ones_like(y)
    p = loss.power
    with np.errstate(over="ignore"):
        mean, scaled_y = np.exp((2 - p) * eta), y * np.exp((1 - p) * eta)
    return mean - scaled_y, (2 - p) * mean - (1 - p) * scaled_y
