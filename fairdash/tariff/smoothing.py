"""Select the smoothness of a tariff's curves by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairdash.tariff.glm import derivatives, fit_glm, without_offset
from fairdash.tariff.shape import Shape, is_curve
from fairdash.tariff.terms import Term
from fairdash.training.feature_encoder import TargetScale
from fairdash.training.losses import Loss
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]

#: Requests a search for the smoothness.
AUTO: Final = "auto"
#: Weights γ that are compared, the smoothest first; and the first one of the search.
SMOOTHS, _FIRST = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0), 0.1
#: Folds of the cross-validation, the rows that it takes at most and at least, and how often it goes over the
#: factors.
FOLDS, MAX_ROWS, MIN_ROWS, _SWEEPS = 5, 30_000, 100, 2
#: A smoother curve is chosen up to this number of standard errors above the smallest deviance.
_TOLERANCE = 0.5


def drawn_rows(n: int) -> NDArray[np.int64]:
    """All n rows in random order; every fifth row belongs to a fold.

    The seed is fixed, so a tariff for filing is the same in every fit.
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
    """Select each numeric column's weight γ of second differences by cross-validation; 0 for too few rows.

    It is the smoothest of :data:`SMOOTHS` whose deviance on held-out rows exceeds the smallest by at most
    half a standard error of that difference. Within noise it predicts equally well, and it changes direction
    less often. Factors are selected one after another, twice, so a jump in one factor leaves the others
    smooth.

    Parameters
    ----------
    terms
        Terms with design x, without monotone constraints.
    x, y, sample_weight, offset
        As in :func:`fairdash.tariff.fit.fit_stack`.

    Notes
    -----
    The noise of a curve falls with the number of rows, and so does the suitable γ, which is therefore scaled
    from the rows of the folds to all rows. Breiman et al. (1984) bear one standard error, here of paired
    differences, since deviances of the same rows go up and down together. Of jumps that took too much in
    simulations; with none, curves that follow chance turn more often. A fold's GLM is fitted once a sweep;
    for other γ one of Newton's steps follows.
    """
    n, chosen = len(y), {term.column: _FIRST for term in terms if is_curve(term) and term.n_places > 2}
    rows = drawn_rows(n)[:MAX_ROWS]
    weight = np.ones(n) if sample_weight is None else sample_weight / sample_weight.mean()
    target = TargetScale.of(y, loss, weight).apply(y)
    fixed = np.zeros(n) if offset is None else offset
    # Only the sampled rows: a copy of a long table's design would double the memory.
    x, target, weight, fixed = x[rows], target[rows], weight[rows], fixed[rows]
    place = np.arange(len(rows))
    held_out = [place[k::FOLDS] for k in range(FOLDS)]
    training = [np.delete(place, np.s_[k::FOLDS]) for k in range(FOLDS)]
    has_claims = not loss.has_log_link or all(target[train].any() for train in training)
    if n < MIN_ROWS or not chosen or not has_claims:
        return dict.fromkeys(chosen, 0.0)
    x = np.column_stack([x, np.ones(len(x))])
    fits: list[tuple[Array, Array, Array, float]] = []

    def shape(smooth: Mapping[str, float]) -> Shape:
        return Shape.of(terms, alpha=alpha, smooth=smooth, monotone={})

    def losses(smooth: Mapping[str, float]) -> Array:
        """Out-of-fold deviance of each row by the GLM, times its weight."""
        found, square = [], shape(smooth).quadratic
        for test, (beta, slope, curvature, factor) in zip(held_out, fits, strict=True):
            own = factor * square
            beta = beta - np.linalg.solve(curvature + own, slope + own @ beta)
            with np.errstate(over="ignore", invalid="ignore"):
                deviance = loss.unit_deviance(x[test] @ beta + fixed[test], target[test])
            found.append(weight[test] * deviance)
        return np.concatenate(found)

    for _ in range(_SWEEPS):
        starts: list[Array | None] = [each[0] for each in fits] or [None] * FOLDS
        fits = [_fold(x, target, weight, rows, fixed, loss, shape(chosen), start)
                for rows, start in zip(training, starts, strict=True)]  # fmt: skip
        for column in chosen:
            each = np.stack([losses(chosen | {column: smooth}) for smooth in SMOOTHS])
            # Too large a step gives numbers that are not finite, which are never chosen.
            with np.errstate(over="ignore", invalid="ignore"):
                excess = each - each[np.nanargmin(each.sum(axis=1))]
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
    """The GLM of some rows: β, slope and curvature of its deviance, and what the shape is multiplied by."""
    given = x[rows], y[rows], weight[rows]
    beta, _ = fit_glm(given[0][:, :-1], *given[1:], loss=loss, shape=shape, offset=offset[rows], start=start)
    own, mass = without_offset(*given[1:], loss=loss, offset=offset[rows])
    slope, curvature = derivatives(given[0], own, mass, beta, loss, Shape.ridge(x.shape[1] - 1, 0.0))
    curvature[np.diag_indices_from(curvature)] += 1e-10 * curvature.diagonal().mean()
    return beta, slope, curvature, float(given[2].sum() / mass.sum())
