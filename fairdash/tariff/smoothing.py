"""Selection of the smoothness of a tariff's curves by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairdash.tariff.glm import derivatives, fit_glm, remove_offset
from fairdash.tariff.shape import Shape, is_curve
from fairdash.tariff.terms import Term
from fairdash.training.feature_encoder import TargetScale
from fairdash.training.losses import Loss
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]

#: With this value of `smooth`, cross-validation selects the smoothness.
AUTO: Final = "auto"
#: `SMOOTHS`: weights γ to compare, from the smoothest curve to the roughest. `_FIRST`: weight with which the
#: search begins.
SMOOTHS, _FIRST = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0), 0.1
#: `FOLDS`: number of folds of the cross-validation. `MAX_ROWS` and `MIN_ROWS`: maximum and minimum number of
#: rows. `_SWEEPS`: number of passes over all factors.
FOLDS, MAX_ROWS, MIN_ROWS, _SWEEPS = 5, 30_000, 100, 2
#: The smoothest curve is selected whose deviance exceeds the smallest deviance by at most this number of
#: standard errors.
_TOLERANCE = 0.5


def drawn_rows(n: int) -> NDArray[np.int64]:
    """Return n row numbers in random order; every fifth number in this order belongs to the same fold.

    The seed is fixed, so that repeated fits give exactly the same tariff.
    """
    return rng_of(Stream.SHRINKAGE_ROWS, 0).permutation(n)


def choose_smooth(
    terms: Sequence[Term],
    x: Array,
    y: Array,
    *,
    sample_weight: Array | None,
    loss: Loss,
    alpha: float,
    offset: Array | None,
) -> dict[str, float]:
    """Select the weight γ of each curve's second differences by cross-validation; with too few rows, γ is 0.

    The selected γ is the largest of :data:`SMOOTHS` whose deviance on held-out rows exceeds the smallest
    deviance by at most half a standard error of the difference. The curve with this γ predicts as well as the
    best curve, up to noise, but changes direction less often. The weights γ of the factors are selected one
    after another, in two passes, so that a jump in one factor does not lead to a small γ for the others.

    Parameters
    ----------
    terms
        Terms whose design matrix is x. Monotone constraints are not used here.
    x, y, sample_weight, offset
        Same meaning as in :func:`fairdash.tariff.fit.fit_stack`.

    Notes
    -----
    With more rows, a curve has less noise and needs a smaller γ. The γ selected by cross-validation is
    therefore multiplied by the number of training rows of a fold divided by the number of all rows. Breiman
    and others (1984) accept an increase of the deviance by one standard error. This function accepts only
    half a standard error of the paired differences, because the deviances of two curves on the same rows are
    correlated. In simulations, a tolerance of one standard error smoothed jumps too much. With a tolerance of
    0, curves followed noise and changed direction more often. The GLM of a fold is fitted once per pass; for
    every other γ, one Newton step from this GLM is made.
    """
    n, chosen = len(y), {term.column: _FIRST for term in terms if is_curve(term) and term.n_places > 2}
    rows = drawn_rows(n)[:MAX_ROWS]
    weight = np.ones(n) if sample_weight is None else sample_weight / sample_weight.mean()
    target = TargetScale.of(y, loss, weight).apply(y)
    offsets = np.zeros(n) if offset is None else offset
    # Only the sampled rows are copied, because a copy of the whole design matrix would take twice the memory.
    x, target, weight, offsets = x[rows], target[rows], weight[rows], offsets[rows]
    row_index = np.arange(len(rows))
    held_out = [row_index[k::FOLDS] for k in range(FOLDS)]
    training = [np.delete(row_index, np.s_[k::FOLDS]) for k in range(FOLDS)]
    has_claims = not loss.has_log_link or all(target[train].any() for train in training)
    if n < MIN_ROWS or not chosen or not has_claims:
        return dict.fromkeys(chosen, 0.0)
    x = np.column_stack([x, np.ones(len(x))])
    fits: list[tuple[Array, Array, Array, float]] = []

    def shape(smooth: Mapping[str, float]) -> Shape:
        return Shape.of(terms, alpha=alpha, smooth=smooth, monotone={})

    def losses(smooth: Mapping[str, float]) -> Array:
        """Return the out-of-fold deviance of each row, multiplied by the weight of the row."""
        deviances, square = [], shape(smooth).quadratic
        for test, (beta, slope, curvature, factor) in zip(held_out, fits, strict=True):
            penalty = factor * square
            beta = beta - np.linalg.solve(curvature + penalty, slope + penalty @ beta)
            with np.errstate(over="ignore", invalid="ignore"):
                deviance = loss.unit_deviance(x[test] @ beta + offsets[test], target[test])
            deviances.append(weight[test] * deviance)
        return np.concatenate(deviances)

    for _ in range(_SWEEPS):
        starts: list[Array | None] = [fit[0] for fit in fits] or [None] * FOLDS
        fits = [_fold(x, target, weight, rows, offsets, loss, shape(chosen), start)
                for rows, start in zip(training, starts, strict=True)]  # fmt: skip
        for column in chosen:
            losses_of_column = np.stack([losses(chosen | {column: smooth}) for smooth in SMOOTHS])
            # A Newton step that is too long gives infinite or undefined deviances, so its γ is never
            # selected.
            with np.errstate(over="ignore", invalid="ignore"):
                excess = losses_of_column - losses_of_column[np.nanargmin(losses_of_column.sum(axis=1))]
                noise = np.sqrt(len(rows)) * excess.std(axis=1)
            chosen[column] = SMOOTHS[int(np.argmax(excess.sum(axis=1) <= _TOLERANCE * noise))]
    return {column: each * (1 - 1 / FOLDS) * len(rows) / n for column, each in chosen.items()}


def _fold(
    x: Array,
    y: Array,
    weight: Array,
    rows: NDArray[np.int64],
    offset: Array,
    loss: Loss,
    shape: Shape,
    start: Array | None,
) -> tuple[Array, Array, Array, float]:
    """Return the GLM's β on some rows, gradient and Hessian of its deviance, and a factor for penalties."""
    data = x[rows], y[rows], weight[rows]
    beta, _ = fit_glm(data[0][:, :-1], *data[1:], loss=loss, shape=shape, offset=offset[rows], start=start)
    target, mass = remove_offset(*data[1:], loss=loss, offset=offset[rows])
    slope, curvature = derivatives(data[0], target, mass, beta, loss, Shape.ridge(x.shape[1] - 1, 0.0))
    curvature[np.diag_indices_from(curvature)] += 1e-10 * curvature.diagonal().mean()
    return beta, slope, curvature, float(data[2].sum() / mass.sum())
