"""Fitting of the GLM at λ = 0: with scikit-learn, or with Newton's method if curves are shaped."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from fairdash.tariff.shape import Shape
from fairdash.training.losses import Loss

Array = NDArray[np.float64]

#: Maximum number of Newton steps after scikit-learn's solver; each step doubles the number of correct digits.
_NEWTON_STEPS = 5
#: Number of rows to fit first in a table of more than twice this size, so that Newton's method on all rows
#: begins near its end.
SAMPLE = 30_000
#: Number of rows that are processed together.
BLOCK = 16_384
#: Maximum number of Newton steps with a shape, from the constant model, and half the predicted decrease that
#: counts as 0.
_STEPS, _DECREASE = 50, 1e-12


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
    """Fit the GLM of the loss's family and link; return coefficients (P + 1,), intercept last, and steps.

    The solver of scikit-learn fits x (n, P) and y (n,) in the loss's units. Newton steps follow as long as
    the slope becomes smaller, so that only rounding affects the result.

    The function :func:`without_offset` replaces an offset (n,), because scikit-learn does not support
    offsets.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import TweedieRegressor

    if offset is not None:
        total = weight.sum()
        y, weight = without_offset(y, weight, loss=loss, offset=offset)
        # The deviance is averaged over the new weights, so α is rescaled from the old weights.
        shape = shape.times(total, weight.sum())
    if start is None and shape.is_ridge and len(y) > 2 * SAMPLE and y[(drawn := _evenly(len(y)))].any():
        start, _ = fit_glm(x[drawn], y[drawn], weight[drawn], loss=loss, shape=shape)
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
    # If all columns are constant, the constant model is the fit.
    columns = x if x.shape[1] else np.zeros((len(y), 1))
    with warnings.catch_warnings():
        # After a line-search warning, the solver continues with L-BFGS and reports whether it has converged.
        warnings.filterwarnings("ignore", message="Line search of Newton solver", category=ConvergenceWarning)
        model.fit(columns, y, sample_weight=weight)
    beta = np.append(model.coef_[: x.shape[1]], model.intercept_)
    slope, curvature = derivatives(with_ones, y, weight, beta, loss, shape)
    steps = int(model.n_iter_)
    for _ in range(_NEWTON_STEPS):
        steps += 1
        nearer = beta - np.linalg.lstsq(curvature, slope)[0]
        new_slope, new_curvature = derivatives(with_ones, y, weight, nearer, loss, shape)
        if not np.abs(new_slope).max() < np.abs(slope).max():
            break
        beta, slope, curvature = nearer, new_slope, new_curvature
    return beta, steps


def _evenly(n: int) -> NDArray[np.int64]:
    """Return :data:`SAMPLE` of n rows, spread evenly, so that the start does not depend on a seed."""
    return np.linspace(0, n - 1, SAMPLE).astype(np.int64)


def without_offset(y: Array, weight: Array, *, loss: Loss, offset: Array) -> tuple[Array, Array]:
    """Return targets and weights (n,) of the GLM without offset that is equivalent to one with offset o (n,).

    The deviance of power p at y and exp(o) μ is exp((2 − p) o) times that at exp(−o) y and μ. With the
    identity link, o is 0.
    """
    return y * np.exp(-offset), weight * np.exp((2 - loss.power) * offset)


def _fit_shape(
    x: Array, y: Array, weight: Array, *, loss: Loss, shape: Shape, start: Array | None
) -> tuple[Array, int]:
    """Return the coefficients (P + 1,) of a GLM with a shape, by Newton's method, and the number of steps.

    Newton's method minimises half the mean deviance plus half the shape penalty, which are both convex,
    starting from `start` (P + 1,) or the constant model. The last column of x (n, P + 1) is a column of ones.
    """
    share = weight / weight.sum()
    if start is None:
        mean = share @ y
        start = np.append(np.zeros(x.shape[1] - 1), np.log(mean) if loss.has_log_link else mean)
    beta = start

    def value(at: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(share @ loss.unit_deviance(x @ at, y) + shape.value_and_pull(at)[0]) / 2

    best, steps, decrease = value(beta), 0, np.inf
    curvature: Array | None = None
    for _ in range(_STEPS):
        steps += 1
        if curvature is None:
            slope, curvature = derivatives(x, y, weight, beta, loss, shape)
            # Linearly dependent columns have no curvature in some direction.
            curvature[np.diag_indices_from(curvature)] += 1e-10 * curvature.diagonal().mean()
        else:
            slope = slope_of(x, y, weight, beta, loss, shape)
        way = np.linalg.solve(curvature, slope)
        length, before, decrease = 1.0, decrease, float(slope @ way) / 2
        while not (trial := value(beta - length * way)) <= best - 1e-4 * length * decrease and length > 1e-6:
            length /= 2
        if not trial < best:
            break
        beta, best = beta - length * way, trial
        if decrease < _DECREASE:
            break
        # The Hessian takes most of the time, and hardly changes once a step improves the fit by less than a
        # tenth.
        if decrease > before / 10 or len(shape.rises):
            curvature = None
    return beta, steps


def derivatives(
    x: Array, y: Array, weight: Array, beta: Array, loss: Loss, shape: Shape
) -> tuple[Array, Array]:
    """Return slope (P + 1,) and curvature (P + 1, P + 1) of half the mean deviance plus half the shape."""
    share = weight / weight.sum()
    first, second = _along_eta(x @ beta, y, loss)
    curvature = gram(x, share * second) + shape.quadratic + shape.stiffness(beta)
    return x.T @ (share * first) + shape.value_and_pull(beta)[1], curvature


def gram(x: Array, weight: Array) -> Array:
    """Return X' diag(w) X, (P, P), of x (n, P) and w (n,), by blocks of rows that fit in the CPU's cache."""
    matrix = np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), BLOCK):
        rows = slice(start, start + BLOCK)
        matrix += (x[rows] * weight[rows, None]).T @ x[rows]
    return matrix


def slope_of(x: Array, y: Array, weight: Array, beta: Array, loss: Loss, shape: Shape) -> Array:
    """Return only the slope of :func:`derivatives`, which is fast to compute."""
    first, _ = _along_eta(x @ beta, y, loss)
    return x.T @ (weight / weight.sum() * first) + shape.value_and_pull(beta)[1]


def _along_eta(eta: Array, y: Array, loss: Loss) -> tuple[Array, Array]:
    """Return the first and second derivative (n,) of half the deviance by η (n,)."""
    if not loss.has_log_link:
        return eta - y, np.ones_like(y)
    p = loss.power
    with np.errstate(over="ignore"):
        mean, scaled_y = np.exp((2 - p) * eta), y * np.exp((1 - p) * eta)
    return mean - scaled_y, (2 - p) * mean - (1 - p) * scaled_y
