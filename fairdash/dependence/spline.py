"""Spline HGR: the first canonical correlation between smooth functions of the ranks of u and v.

HGR is the largest correlation of f(U) and g(V) over all functions. Over the span of finitely many functions
it is the first singular value of their cross-covariance. The training rows select the number of functions by
cross-validation; the value is the correlation on rows that neither selected nor fitted f and g.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.inference import weighted_orders
from fairdash.dependence.joint import with_products
from fairdash.dependence.spline_basis import (
    Basis,
    basis,
    cross_covariances,
    effective,
    of_all_rows,
    pairs,
    predicted_correlation,
)
from fairdash.dependence.spline_corrected import corrected_of
from fairdash.errors import OptionError

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Evaluation = Literal["cross_fit", "in_sample", "corrected"]

_FOLDS = 10
#: Rows of permuted pairs in memory at a time.
_PIECE = 200_000


def hgr_spline(
    u: Array,
    v: Array,
    *,
    sample_weight: Array | None = None,
    groups: Index | None = None,
    evaluation: Evaluation = "corrected",
    permutations: Index | None = None,
    weight_moves: bool = False,
) -> Array:
    """Return the spline HGR of each pair of a stack, in closed form and without a seed.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        With several columns, g is a sum of one function of each column and one of each product of two
        columns' ranks, so that it detects combinations (:func:`fairdash.dependence.joint.with_products`). The
        normal scores are then among the functions of both sides.
    sample_weight : (K, n) array, optional
        Weights of the rows.
    groups : (n,) array, optional
        Group, 0 … G-1, of each row; a group stays in one fold, and the correction counts similar rows of a
        group as fewer rows.
    evaluation
        ``"corrected"``: the in-sample value, corrected for noise, with more than two functions on each side
        only if the rows support them, see :mod:`fairdash.dependence.spline_corrected`. If v has one column,
        step functions are added, which capture jumps and the ends of the range. Over the links of
        docs/estimators.md its error is the smallest of the three on average; under independence it is 0 in
        about three of five samples. Only a test shows whether there is a link. ``"cross_fit"``: ten folds;
        the correlation of f(u) and g(v) on rows not used to choose f, g and their smoothness. Signed: noise
        gives values on either side of 0. ``"in_sample"``: the first canonical correlation on the rows used
        for fitting; noise gives a positive value.
    permutations : (B, n) array, optional
        Permutations of the rows of v. The corrected value keeps its functions. Cross-fitted values use new
        folds.
    weight_moves
        Whether the weights of permuted rows move with v or stay with u.

    Returns
    -------
    (K,) array, or (K, B) of permutations
        At most 1, the value of a deterministic link that splines can represent; 0 for independence.

    Raises
    ------
    OptionError
        If ``evaluation`` is not one of the three.
    """
    if v.ndim == 3:
        v = with_products(v, sample_weight)
    columns = 1 if v.ndim == 2 else v.shape[2]
    functions = partial(basis, tails=v.ndim == 3)
    if permutations is None:
        f, g = functions(u, sample_weight), functions(v, sample_weight)
        return scores(f, g, sample_weight, evaluation, columns, groups)
    if sample_weight is not None:

        def value(f: Basis, g: Basis, weight: Array) -> Array:
            same = f if len(f.member) == len(g.member) else f.repeated(len(g.member))
            return scores(same, g, weight, evaluation, columns, groups)

        return weighted_orders(functions, value, u, v, sample_weight, permutations, weight_moves=weight_moves)
    result = np.empty((len(u), len(permutations)))
    step = max(1, _PIECE // u.shape[1])
    for k in range(len(u)):
        f, g = functions(u[k : k + 1]), functions(v[k : k + 1])
        for start in range(0, len(permutations), step):
            orders = permutations[start : start + step]
            same, moved = f.repeated(len(orders)), g.reordered(orders)
            result[k, start : start + step] = scores(same, moved, None, evaluation, columns, groups)
    return result


def fitted_functions(u: Array, v: Array) -> tuple[Array, Array]:
    """Return f and g of one pair, fitted on all its rows; ``(n,), (n,) or (n, d) -> (n,), (n,)``."""
    v = v[None] if v.ndim == 1 else with_products(v[None])
    f, g = basis(u[None], tails=v.ndim == 3), basis(v)
    columns = 1 if v.ndim == 2 else v.shape[2]
    a, b, _ = _fit(*of_all_rows(f, g, None), effective(None, len(u))[0], columns)
    return f.tables[0][f.position[0]] @ a[0], g.tables[0][g.position[0]] @ b[0]


def hgr_of_bases(f: Basis, g: Basis) -> Array:
    """Return the cross-fitted spline HGR of one column with each numeric or categorical member of `g`, (B,).

    >>> from fairdash.dependence.spline_basis import category_basis, number_basis
    >>> v = np.linspace(0, 1, 200)
    >>> float(hgr_of_bases(category_basis((v > 0.5).astype(int)), number_basis(v))[0].round(2))
    0.96
    """
    return scores(f.repeated(len(g.member)), g, None, "cross_fit")


def scores(
    f: Basis,
    g: Basis,
    weight: Array | None,
    evaluation: Evaluation,
    columns: int = 1,
    groups: Index | None = None,
) -> Array:
    """Return the value of each pair from its functions, (K,)."""
    count, n = f.position.shape
    if evaluation == "corrected":
        return corrected_of(f, g, weight, columns, groups)
    if evaluation == "in_sample":
        *_, value = _fit(*of_all_rows(f, g, weight), effective(weight, n)[:, 0], columns)
        return np.minimum(value, 1.0)
    if evaluation != "cross_fit":
        raise OptionError.of(
            "The evaluation is not known",
            "Choose “cross_fit”, “in_sample” or “corrected”.",
            column="evaluation",
        )
    place_u, place_v, mass = _by_fold(f, g, weight, groups)
    folds = mass.shape[1]
    tall, wide = cross_covariances(
        f, g, place_u, place_v, None if weight is None and mass.size == n * count else mass
    )
    tall, wide = tall.sum(axis=1, keepdims=True) - tall, wide.sum(axis=1, keepdims=True) - wide
    total = mass.sum(axis=-1)
    # One heavy row may leave no weight to learn from.
    total = np.maximum(total.sum(axis=-1, keepdims=True) - total, 1e-300)[..., None, None]
    a, b, _ = _fit(tall / total, wide / total, effective(weight, n) * (1 - 1 / folds), columns)
    fu, gv = _left_out(f, a, place_u), _left_out(g, b, place_v)
    squares = (mass * fu**2).sum((1, 2)) * (mass * gv**2).sum((1, 2))
    result = np.divide((mass * fu * gv).sum((1, 2)), np.sqrt(squares), out=np.zeros(count), where=squares > 0)
    return np.clip(result, -1.0, 1.0)


def _left_out(functions: Basis, coefficients: Array, place: Index) -> Array:
    """Value of each fold's combination on its rows; ``(K, folds, P) -> (K, folds, size)``."""
    _, folds, _ = place.shape
    result = np.empty(place.shape)
    # Every fold's function is computed at every place, and each fold uses those of its own rows.
    own = place + len(functions.tables[0]) * np.arange(folds)[:, None]
    for k, member in enumerate(functions.member):
        curves = coefficients[k] @ functions.tables[member].T
        np.take(curves.ravel(), own[k], out=result[k], mode="clip")
    return result


def _fit(tall: Array, wide: Array, rows: Array, columns: int) -> tuple[Array, Array, Array]:
    """Coefficients of f and of g and their correlation on the rows that made the cross-covariances.

    Parameters
    ----------
    tall : (..., P, few * columns) array
    wide : (..., few, P * columns) array
    rows : broadcastable to (...)
        Effective number of rows.

    Returns
    -------
    a : (..., P), b : (..., P * columns), value : (...)
    """
    lead = tall.shape[:-2]
    a, b = np.zeros((*lead, tall.shape[-2])), np.zeros((*lead, wide.shape[-1]))
    predicted, value = np.full(lead, -1.0), np.zeros(lead)
    for x, y, s, p, q in pairs(tall, wide, columns):
        hope = predicted_correlation(s, p / rows, q / rows)
        better = hope > predicted
        predicted, value = np.where(better, hope, predicted), np.where(better, s, value)
        # Columns that an earlier choice wrote beyond this one's width are cleared.
        for kept, new in ((a, x), (b, y)):
            kept[better] = 0.0
            kept[..., : new.shape[-1]] = np.where(better[..., None], new, kept[..., : new.shape[-1]])
    return a, b, value


def _by_fold(f: Basis, g: Basis, weight: Array | None, groups: Index | None) -> tuple[Index, Index, Array]:
    """Positions in the tables of u and of v, and masses, of the rows of each fold; all (K, folds, most rows).

    A row's fold is a hash of the ranks of its u and its v and of its number among equal rows, so neither the
    order of the table nor the units have an effect. Equal rows are assigned at random, not evenly, because
    folds with the same shares of every cell would repeat each other's noise. Groups are assigned in hashed
    order, the largest first, to the fold with the fewest rows, as in scikit-learn's GroupKFold, so all
    members have the same folds. Rows of mass 0 pad shorter folds.
    """
    count, n = f.position.shape
    if groups is None:
        folds = min(_FOLDS, n)
        key = f.dense.astype(np.uint64) << np.uint64(32) | g.dense.astype(np.uint64)
        order = _at_random(key, weight)
        inside, fold = np.divmod(np.arange(n), folds)
    else:
        sizes = np.bincount(groups)
        folds = min(_FOLDS, len(sizes))
        number = _scrambled(np.arange(len(sizes), dtype=np.uint64))
        fold_of, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(folds, dtype=np.intp)
        for group in np.lexsort((number, -sizes)):
            fold_of[group] = filled.argmin()
            filled[fold_of[group]] += sizes[group]
        order = np.argsort(fold_of[groups], kind="stable")[None]
        fold = np.repeat(np.arange(folds), filled)
        inside = np.arange(n) - np.repeat(np.cumsum(filled) - filled, filled)
    shape = (count, folds, int(inside.max()) + 1)

    def dealt(x: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros(shape, dtype=x.dtype)
        result[:, fold, inside] = np.take_along_axis(x, np.broadcast_to(order, x.shape), axis=-1)
        return result

    mass = np.ones((count, n)) if weight is None else weight
    return dealt(f.position), dealt(g.position), dealt(mass)


def _at_random(key: NDArray[np.uint64], weight: Array | None) -> Index:
    """Pseudo-random order of the rows of each member, (K, n), independent of their order in the table."""
    by = np.argsort(key, axis=-1, kind="stable") if weight is None else np.lexsort((weight, key))
    ordered, place = np.take_along_axis(key, by, axis=-1), np.arange(key.shape[1])
    starts = np.zeros_like(by)
    starts[:, 1:] = np.where(ordered[:, 1:] == ordered[:, :-1], 0, place[1:])
    number = (place - np.maximum.accumulate(starts, axis=-1)).astype(np.uint64)
    drawn = np.argsort(_scrambled(ordered + number * np.uint64(0x9E3779B97F4A7C15)), axis=-1)
    return np.take_along_axis(by, drawn, axis=-1)


def _scrambled(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a fixed hash of 64 bits (splitmix64, Steele et al. 2014), which maps neighbours far apart."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
