"""Spline HGR: the first canonical correlation between smooth functions of the ranks of u and of v.

HGR is the largest correlation of f(U) and g(V) over all functions. Over the span of finitely many functions
it is the first singular value of their cross-covariance. How many functions to use is decided by what the
training rows foretell for other rows; the value is the correlation on rows that neither chose nor fitted f
and g.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline_basis import WIDTH, Basis, basis
from fairdash.errors import OptionError

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Evaluation = Literal["cross_fit", "in_sample"]

#: How many functions one side may have, and how many the other: an unsteady f needs many, but rarely both
#: sides do.
_SIZES = ((2, 2), (4, 4), (6, 4), (10, 4), (18, 4), (WIDTH, 4))
_FEW = 4
_FOLDS = 10


def hgr_spline(
    u: Array, v: Array, *, sample_weight: Array | None = None, evaluation: Evaluation = "cross_fit"
) -> Array:
    """Spline HGR of each pair of a stack; closed form, no seed.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
        Of several columns, g is a sum of one function of each.
    sample_weight : (K, n) array, optional
        Weights of the rows.
    evaluation
        ``"cross_fit"``: ten folds; the correlation of f(u) and g(v) on rows left out when f, g and their
        smoothness were chosen. Signed: noise gives values on either side of 0. ``"in_sample"``: the first
        canonical correlation on the rows that chose it; noise gives a positive value.

    Returns
    -------
    (K,) array
        At most 1, which a deterministic link reaches if splines can follow it; 0 for independence.

    Raises
    ------
    OptionError
        If ``evaluation`` is not one of the two.
    """
    f, g = basis(u, sample_weight), basis(v, sample_weight)
    return scores(f, g, sample_weight, evaluation, 1 if v.ndim == 2 else v.shape[2])


def fitted_functions(u: Array, v: Array) -> tuple[Array, Array]:
    """f and g of one pair at its rows, fitted on all of them; ``(n,), (n,) or (n, d) -> (n,), (n,)``."""
    f, g = basis(u[None]), basis(v[None])
    place_u, place_v, mass = _by_fold(f, g, None, 1)
    columns = 1 if v.ndim == 1 else v.shape[1]
    tall, wide = _cross_covariances(f, g, place_u, place_v, None)
    rows = mass.sum(axis=-1)
    a, b, _ = _fit(tall / rows, wide / rows, rows, columns)
    return f.tables[0][f.position[0]] @ a[0, 0], g.tables[0][g.position[0]] @ b[0, 0]


def scores(f: Basis, g: Basis, weight: Array | None, evaluation: Evaluation, columns: int = 1) -> Array:
    """Value of each pair from its functions, (K,)."""
    count, n = f.position.shape
    if evaluation == "in_sample":
        folds = 1
    elif evaluation == "cross_fit":
        folds = min(_FOLDS, n)
    else:
        raise OptionError.of(
            "The evaluation is not known", "Choose “cross_fit” or “in_sample”.", column="evaluation"
        )
    place_u, place_v, mass = _by_fold(f, g, weight, folds)
    tall, wide = _cross_covariances(
        f, g, place_u, place_v, None if weight is None and n % folds == 0 else mass
    )
    total = mass.sum(axis=-1)
    if folds > 1:
        tall, wide = tall.sum(axis=1, keepdims=True) - tall, wide.sum(axis=1, keepdims=True) - wide
        total = total.sum(axis=-1, keepdims=True) - total
    # One heavy row may leave nothing to learn from.
    total = np.maximum(total, 1e-300)[..., None, None]
    a, b, value = _fit(
        tall / total, wide / total, _effective(weight, n) * (1 - 1 / folds if folds > 1 else 1.0), columns
    )
    if folds == 1:
        return np.minimum(value[:, 0], 1.0)
    fu, gv = _left_out(f, a, place_u), _left_out(g, b, place_v)
    squares = (mass * fu**2).sum((1, 2)) * (mass * gv**2).sum((1, 2))
    result = np.divide((mass * fu * gv).sum((1, 2)), np.sqrt(squares), out=np.zeros(count), where=squares > 0)
    return np.clip(result, -1.0, 1.0)


def _cross_covariances(
    f: Basis, g: Basis, place_u: Index, place_v: Index, mass: Array | None
) -> tuple[Array, Array]:
    """Sums of products over each fold: many functions of u with few of v, and few with many.

    Returns
    -------
    tall : (K, folds, P, few) and wide : (K, folds, few, P) arrays
    """
    count, folds, size = place_u.shape
    width_u, width_v = f.tables[0].shape[1], g.tables[0].shape[1]
    few_v = _FEW * width_v // WIDTH
    tall, wide = np.empty((count, folds, width_u, few_v)), np.empty((count, folds, _FEW, width_v))
    # One member at a time in the same two buffers: they stay in the cache, which a whole stack would not.
    left, right = np.empty((folds, size, width_u)), np.empty((folds, size, width_v))
    for k in range(count):
        np.take(f.tables[f.member[k]], place_u[k], axis=0, out=left, mode="clip")
        np.take(g.tables[g.member[k]], place_v[k], axis=0, out=right, mode="clip")
        if mass is not None:
            left *= mass[k][..., None]
        np.matmul(left.swapaxes(1, 2), right[..., :few_v], out=tall[k])
        np.matmul(left[..., :_FEW].swapaxes(1, 2), right, out=wide[k])
    return tall, wide


def _left_out(functions: Basis, coefficients: Array, place: Index) -> Array:
    """What each fold's own combination says of its rows; ``(K, folds, P) -> (K, folds, size)``."""
    _, folds, _ = place.shape
    result = np.empty(place.shape)
    # Every fold's function at every place, of which each fold takes those of its own rows.
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
    foretold, value = np.full(lead, -1.0), np.zeros(lead)
    for many, few in _SIZES:
        for p, q in [(many, few)] if many == few else [(many, few), (few, many)]:
            if p >= q:
                x, y, s = _leading(tall[..., :p, : q * columns])
            else:
                y, x, s = _leading(wide[..., :p, : q * columns].swapaxes(-1, -2))
            hope = _foretold(s, p / rows, q * columns / rows)
            better = hope > foretold
            foretold, value = np.where(better, hope, foretold), np.where(better, s, value)
            # What an earlier choice wrote beyond this one's width is cleared.
            for kept, new in ((a, x), (b, y)):
                kept[better] = 0.0
                kept[..., : new.shape[-1]] = np.where(better[..., None], new, kept[..., : new.shape[-1]])
    return a, b, value


def _leading(c: Array) -> tuple[Array, Array, Array]:
    """First singular triple of each (..., p, q) matrix, q small, from the 16th power of CᵀC."""
    power = c.swapaxes(-1, -2) @ c
    trace = np.einsum("...ii", power)[..., None, None]
    # The largest eigenvalue is now at least 1/q, so that its 16th power is far from underflow.
    power = power / np.where(trace > 0, trace, 1.0)
    for _ in range(4):
        power = power @ power
    # The longest column is farthest from being orthogonal to the vector wanted.
    longest = np.diagonal(power, axis1=-2, axis2=-1).argmax(axis=-1)
    y = np.take_along_axis(power, longest[..., None, None], axis=-1)
    y = y / np.maximum(np.linalg.norm(y, axis=-2, keepdims=True), 1e-300)
    x = c @ y
    s = np.linalg.norm(x, axis=-2, keepdims=True)
    return (x / np.maximum(s, 1e-300))[..., 0], y[..., 0], s[..., 0, 0]


def _foretold(s: Array, p: Array, q: Array) -> Array:
    """Correlation to expect on new rows, from the largest singular value s and the p and q functions a row.

    The singular value of a signal in noise exceeds the signal's, and its vectors are tilted away. Correcting
    for both gives √((s² − p − q)² − 4pq) / s, and 0 where noise alone reaches s (Gavish and Donoho 2017,
    equation 7).
    """
    inside = np.maximum((s**2 - p - q) ** 2 - 4 * p * q, 0.0)
    signal = s > np.sqrt(p) + np.sqrt(q)
    return np.where(signal, np.sqrt(inside) / np.where(signal, s, 1.0), 0.0)


def _effective(weight: Array | None, n: int) -> Array:
    """Kish's effective number of rows, (K, 1)."""
    if weight is None:
        return np.array([[float(n)]])
    return (weight.sum(axis=-1) ** 2 / (weight**2).sum(axis=-1))[:, None]


def _by_fold(f: Basis, g: Basis, weight: Array | None, folds: int) -> tuple[Index, Index, Array]:
    """Places in the tables of u and of v, and mass, of the rows of each fold; all (K, folds, ⌈n/folds⌉).

    A row's fold comes from the ranks of its u and its v alone, scrambled, so that neither the order of
    the table nor the units matter; equal rows are dealt out evenly. A row of mass 0 fills each fold that
    is short.
    """
    n = f.position.shape[1]
    key = f.dense.astype(np.uint64) << np.uint64(32) | g.dense.astype(np.uint64)
    order = np.argsort(_scrambled(key), axis=-1)
    mass = np.ones(order.shape) if weight is None else np.take_along_axis(weight, order, axis=-1)
    filler, shape = [(0, 0), (0, -n % folds)], (len(order), -1, folds)
    parts = [np.take_along_axis(one.position, order, axis=-1) for one in (f, g)]
    place_u, place_v = (np.ascontiguousarray(np.pad(x, filler).reshape(shape).swapaxes(1, 2)) for x in parts)
    return place_u, place_v, np.pad(mass, filler).reshape(shape).swapaxes(1, 2)


def _scrambled(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A fixed mixing of 64 bits (splitmix64, Steele et al. 2014): neighbours land far apart."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
