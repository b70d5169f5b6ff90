"""Spline HGR: the first canonical correlation between smooth functions of the ranks of u and v.

HGR is the largest correlation of f(U) and g(V) over all functions. Among linear combinations of finitely many
uncorrelated functions, this largest correlation is the first singular value of their cross-covariance matrix.
With cross-fitting, the training rows select the number of functions, and the value is the correlation on rows
that were used neither to select nor to fit f and g.
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
    effective_rows,
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
#: Number of rows of permuted pairs that are in memory at a time.
_PIECE = 200_000


def hgr_spline(
    u: Array,
    v: Array,
    *,
    sample_weight: Array | None = None,
    groups: Index | None = None,
    evaluation: Evaluation = "corrected",
    permutations: Index | None = None,
    permute_weight: bool = False,
) -> Array:
    """Return the spline HGR of each of K pairs, in closed form and without a seed.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        Values of v. With several columns, g is a sum of functions of each column and of each product of two
        columns' ranks. These products capture combinations (:func:`fairdash.dependence.joint.with_products`).
        With several columns, the functions of u and of v also include normal scores.
    sample_weight : (K, n) array, optional
        Weights of the rows.
    groups : (n,) array, optional
        Group number 0 … G-1 of each row. A group stays in one fold, and the correction counts similar rows of
        a group as fewer rows.
    evaluation
        ``"corrected"``: the in-sample value minus the contribution of noise. More than two functions per
        variable are used only if there is enough evidence; see :mod:`fairdash.dependence.spline_corrected`.
        If v has one column, step functions are added, which capture jumps and the ends of the range. The
        corrected value has the smallest error of the three evaluations, on average over the links of
        docs/estimators.md. Under independence, the corrected value is 0 in about three of five samples, so a
        test must decide whether there is a link. ``"cross_fit"``: the correlation of f(u) and g(v) on the
        held-out rows of ten folds, which were used neither to fit f and g nor to select their smoothness. The
        cross-fitted value is signed, because noise gives values on both sides of 0. ``"in_sample"``: the
        first canonical correlation on the rows to which f and g were fitted, for which noise gives a positive
        value.
    permutations : (B, n) array, optional
        Orders of the rows of v. For each order, the corrected value reuses the functions, and the
        cross-fitted value draws new folds.
    permute_weight
        True if the weights of permuted rows move with v, False if they stay with u.

    Returns
    -------
    (K,) array, or (K, B) with permutations
        Spline HGR: 0 for independence, and at most 1, for a deterministic link that splines can represent.

    Raises
    ------
    OptionError
        Raised if ``evaluation`` is not ``"corrected"``, ``"cross_fit"`` or ``"in_sample"``.
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
            f_members = f if len(f.member) == len(g.member) else f.repeated(len(g.member))
            return scores(f_members, g, weight, evaluation, columns, groups)

        return weighted_orders(
            functions, value, u, v, sample_weight, permutations, permute_weight=permute_weight
        )
    result = np.empty((len(u), len(permutations)))
    step = max(1, _PIECE // u.shape[1])
    for k in range(len(u)):
        f, g = functions(u[k : k + 1]), functions(v[k : k + 1])
        for start in range(0, len(permutations), step):
            orders = permutations[start : start + step]
            of_f, reordered = f.repeated(len(orders)), g.reordered(orders)
            result[k, start : start + step] = scores(of_f, reordered, None, evaluation, columns, groups)
    return result


def fitted_functions(u: Array, v: Array) -> tuple[Array, Array]:
    """Return functions f and g of one pair, fitted to all rows; ``(n,), (n,) or (n, d) -> (n,), (n,)``."""
    v = v[None] if v.ndim == 1 else with_products(v[None])
    f, g = basis(u[None], tails=v.ndim == 3), basis(v)
    columns = 1 if v.ndim == 2 else v.shape[2]
    a, b, _ = _fit(*of_all_rows(f, g, None), effective_rows(None, len(u))[0], columns)
    return f.tables[0][f.position[0]] @ a[0], g.tables[0][g.position[0]] @ b[0]


def hgr_of_bases(f: Basis, g: Basis) -> Array:
    """Return the cross-fitted spline HGR of one column with each (numeric or categorical) column of `g`,
    (B,).

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
    """Return the spline HGR of each pair, (K,), from the spline functions of the pair's variables."""
    count, n = f.position.shape
    if evaluation == "corrected":
        return corrected_of(f, g, weight, columns, groups)
    if evaluation == "in_sample":
        *_, value = _fit(*of_all_rows(f, g, weight), effective_rows(weight, n)[:, 0], columns)
        return np.minimum(value, 1.0)
    if evaluation != "cross_fit":
        raise OptionError.of(
            "The evaluation is not known",
            "Choose “cross_fit”, “in_sample” or “corrected”.",
            column="evaluation",
        )
    place_u, place_v, mass = _by_fold(f, g, weight, groups)
    folds = mass.shape[1]
    tall_part, wide = cross_covariances(
        f, g, place_u, place_v, None if weight is None and mass.size == n * count else mass
    )
    tall_part, wide = tall_part.sum(axis=1, keepdims=True) - tall_part, wide.sum(axis=1, keepdims=True) - wide
    total = mass.sum(axis=-1)
    # If one row has nearly all the weight, the other folds together may have no weight.
    total = np.maximum(total.sum(axis=-1, keepdims=True) - total, 1e-300)[..., None, None]
    a, b, _ = _fit(tall_part / total, wide / total, effective_rows(weight, n) * (1 - 1 / folds), columns)
    fu, gv = _held_out_values(f, a, place_u), _held_out_values(g, b, place_v)
    squares = (mass * fu**2).sum((1, 2)) * (mass * gv**2).sum((1, 2))
    result = np.divide((mass * fu * gv).sum((1, 2)), np.sqrt(squares), out=np.zeros(count), where=squares > 0)
    return np.clip(result, -1.0, 1.0)


def _held_out_values(functions: Basis, coefficients: Array, index: Index) -> Array:
    """Return the values of each fold's function on the fold's rows; ``(K, folds, P) -> (K, folds,
    size)``."""
    _, folds, _ = index.shape
    result = np.empty(index.shape)
    # The function of every fold is computed at every position, and each fold then selects the positions of
    # its rows.
    indices = index + len(functions.tables[0]) * np.arange(folds)[:, None]
    for k, member in enumerate(functions.member):
        curves = coefficients[k] @ functions.tables[member].T
        np.take(curves.ravel(), indices[k], out=result[k], mode="clip")
    return result


def _fit(tall_part: Array, wide: Array, rows: Array, columns: int) -> tuple[Array, Array, Array]:
    """Return the coefficients of f and g, and their correlation on the rows of the cross-covariances.

    Parameters
    ----------
    tall_part : (..., P, few * columns) array
    wide : (..., few, P * columns) array
    rows : broadcastable to (...)
        Effective numbers of rows.

    Returns
    -------
    a : (..., P), b : (..., P * columns), value : (...)
    """
    leading_shape = tall_part.shape[:-2]
    a, b = np.zeros((*leading_shape, tall_part.shape[-2])), np.zeros((*leading_shape, wide.shape[-1]))
    predicted, value = np.full(leading_shape, -1.0), np.zeros(leading_shape)
    for x, y, s, p, q in pairs(tall_part, wide, columns):
        prediction = predicted_correlation(s, p / rows, q / rows)
        is_better = prediction > predicted
        predicted, value = np.where(is_better, prediction, predicted), np.where(is_better, s, value)
        # All coefficients are first set to 0, because an earlier choice may have used more functions.
        for result, new in ((a, x), (b, y)):
            result[is_better] = 0.0
            result[..., : new.shape[-1]] = np.where(is_better[..., None], new, result[..., : new.shape[-1]])
    return a, b, value


def _by_fold(f: Basis, g: Basis, weight: Array | None, groups: Index | None) -> tuple[Index, Index, Array]:
    """Return, for each fold's rows, the table positions of u and v and the masses; (K, folds, size) each.

    The fold of a row is a hash of the ranks of u and v and of the row's number among equal rows, so that
    neither the order of the table nor the units matter. Equal rows are assigned at random rather than evenly,
    because folds with equal frequencies of all values would contain the same noise. Groups are assigned in
    descending order of size, with ties in random order, to the fold with the fewest rows, as in
    scikit-learn's GroupKFold. If there are groups, all pairs have the same folds. Shorter folds are padded
    with rows of mass 0.
    """
    count, n = f.position.shape
    if groups is None:
        folds = min(_FOLDS, n)
        key = f.dense.astype(np.uint64) << np.uint64(32) | g.dense.astype(np.uint64)
        order = _pseudo_random_order(key, weight)
        row_in_fold, fold = np.divmod(np.arange(n), folds)
    else:
        sizes = np.bincount(groups)
        folds = min(_FOLDS, len(sizes))
        number = _hashed(np.arange(len(sizes), dtype=np.uint64))
        fold_of, fold_sizes = np.empty(len(sizes), dtype=np.intp), np.zeros(folds, dtype=np.intp)
        for group in np.lexsort((number, -sizes)):
            fold_of[group] = fold_sizes.argmin()
            fold_sizes[fold_of[group]] += sizes[group]
        order = np.argsort(fold_of[groups], kind="stable")[None]
        fold = np.repeat(np.arange(folds), fold_sizes)
        row_in_fold = np.arange(n) - np.repeat(np.cumsum(fold_sizes) - fold_sizes, fold_sizes)
    shape = (count, folds, int(row_in_fold.max()) + 1)

    def by_fold(x: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros(shape, dtype=x.dtype)
        result[:, fold, row_in_fold] = np.take_along_axis(x, np.broadcast_to(order, x.shape), axis=-1)
        return result

    mass = np.ones((count, n)) if weight is None else weight
    return by_fold(f.position), by_fold(g.position), by_fold(mass)


def _pseudo_random_order(key: NDArray[np.uint64], weight: Array | None) -> Index:
    """Return a pseudo-random order of each pair's rows, (K, n), independent of their order in the table."""
    order = np.argsort(key, axis=-1, kind="stable") if weight is None else np.lexsort((weight, key))
    ordered, position = np.take_along_axis(key, order, axis=-1), np.arange(key.shape[1])
    starts = np.zeros_like(order)
    starts[:, 1:] = np.where(ordered[:, 1:] == ordered[:, :-1], 0, position[1:])
    number = (position - np.maximum.accumulate(starts, axis=-1)).astype(np.uint64)
    shuffled = np.argsort(_hashed(ordered + number * np.uint64(0x9E3779B97F4A7C15)), axis=-1)
    return np.take_along_axis(order, shuffled, axis=-1)


def _hashed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a fixed hash of 64 bits (splitmix64, Steele et al., 2014) that scatters close numbers."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
