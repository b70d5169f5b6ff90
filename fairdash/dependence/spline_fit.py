"""Canonical correlations between few functions of one variable and many of the other, for each choice of
sizes, from cross-covariances.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline_basis import WIDTH, Basis

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: How many functions one side may have, and how many the other: an unsteady f needs many, but rarely both
#: sides do.
SIZES = ((2, 2), (4, 4), (6, 4), (10, 4), (18, 4), (WIDTH, 4))
FEW = 4
#: Pairs whose few functions are gathered at a time, so that they stay in the cache.
_PIECE = 64


def cross_covariances(
    f: Basis, g: Basis, place_u: Index, place_v: Index, mass: Array | None
) -> tuple[Array, Array]:
    """Sums of products over each fold: many functions of u with few of v, and few with many.

    Returns
    -------
    tall : (K, folds, P, few) and wide : (K, folds, few, P) arrays
    """
    count, folds, size = place_u.shape
    width_u, width_v = f.tables[0].shape[1], g.tables[0].shape[1]
    few_v = FEW * width_v // WIDTH
    tall, wide = np.empty((count, folds, width_u, few_v)), np.empty((count, folds, FEW, width_v))
    # One member at a time in the same two buffers: they stay in the cache, which a whole stack would not.
    left, right = np.empty((folds, size, width_u)), np.empty((folds, size, width_v))
    for k in range(count):
        np.take(f.tables[f.member[k]], place_u[k], axis=0, out=left, mode="clip")
        np.take(g.tables[g.member[k]], place_v[k], axis=0, out=right, mode="clip")
        if mass is not None:
            left *= mass[k][..., None]
        np.matmul(left.swapaxes(1, 2), right[..., :few_v], out=tall[k])
        np.matmul(left[..., :FEW].swapaxes(1, 2), right, out=wide[k])
    return tall, wide


def of_all_rows(f: Basis, g: Basis, weight: Array | None) -> tuple[Array, Array]:
    """Cross-covariances of each pair over all rows: many functions of u with few of v, and few with many.

    Returns
    -------
    tall : (K, P, few) and wide : (K, few, P) arrays
    """
    count, n = f.position.shape
    if any(len(table) != n for table in (f.tables[0], g.tables[0])):
        # Rows of a category share a place.
        places, mass = (f.position[:, None], g.position[:, None]), None if weight is None else weight[:, None]
        total = float(n) if weight is None else weight.sum(axis=-1)[:, None, None]
        tall, wide = cross_covariances(f, g, *places, mass)
        return tall[:, 0] / total, wide[:, 0] / total
    rows = np.arange(count)[:, None]
    # Which place of v each place of u goes with, and the other way round.
    of_u, of_v = np.empty_like(f.position), np.empty_like(g.position)
    of_u[rows, f.position], of_v[rows, g.position] = g.position, f.position
    share_u = share_v = None
    if weight is not None:
        share = weight / weight.sum(axis=-1, keepdims=True)
        share_u, share_v = np.empty_like(share), np.empty_like(share)
        share_u[rows, f.position], share_v[rows, g.position] = share, share
    width_u, width_v = f.tables[0].shape[1], g.tables[0].shape[1]
    tall = np.empty((count, width_u, FEW * width_v // WIDTH))
    wide = np.empty((count, FEW * width_u // WIDTH, width_v))
    # Members whose ties lie alike share their tables.
    tables = f.member * len(g.tables) + g.member
    for pair in np.unique(tables):
        own = tables == pair
        i, j = divmod(int(pair), len(g.tables))
        shares = (None, None) if share_u is None or share_v is None else (share_u[own], share_v[own])
        tall[own], wide[own] = between(f.tables[i], g.tables[j], of_u[own], of_v[own], *shares)
    return tall, wide


def between(
    table_u: Array,
    table_v: Array,
    of_u: Index,
    of_v: Index,
    share_u: Array | None = None,
    share_v: Array | None = None,
) -> tuple[Array, Array]:
    """Cross-covariances of pairs that share the tables of their functions.

    Only the few functions are moved to where the other variable has its rows; the many stay in their table.

    Parameters
    ----------
    table_u, table_v : (n, P) arrays
        Functions in ascending order of u and of v.
    of_u, of_v : (K, n) arrays
        At each place of u the place of v, and at each place of v the place of u.
    share_u, share_v : (K, n) arrays, optional
        Share of the mass at each place of u and of v; 1/n otherwise.

    Returns
    -------
    tall : (K, P, few) and wide : (K, few, P) arrays
    """
    count, n = of_u.shape
    few_u, few_v = (
        np.ascontiguousarray(table[:, : FEW * table.shape[1] // WIDTH]) for table in (table_u, table_v)
    )
    tall = np.empty((count, table_u.shape[1], few_v.shape[1]))
    wide = np.empty((count, few_u.shape[1], table_v.shape[1]))
    for start in range(0, count, _PIECE):
        own = slice(start, start + _PIECE)
        moved_v, moved_u = few_v[of_u[own]], few_u[of_v[own]]
        if share_u is not None and share_v is not None:
            moved_v *= share_u[own][..., None]
            moved_u *= share_v[own][..., None]
        np.matmul(table_u.T, moved_v, out=tall[own])
        np.matmul(moved_u.swapaxes(1, 2), table_v, out=wide[own])
    return (tall / n, wide / n) if share_u is None else (tall, wide)


def pairs(tall: Array, wide: Array, columns: int) -> Iterator[tuple[Array, Array, Array, int, int]]:
    """For each choice of sizes the coefficients of f and of g, their correlation, and how many functions."""
    for many, few in SIZES:
        for p, q in [(many, few)] if many == few else [(many, few), (few, many)]:
            if p >= q:
                x, y, s = leading(tall[..., :p, : q * columns])
            else:
                y, x, s = leading(wide[..., :p, : q * columns].swapaxes(-1, -2))
            yield x, y, s, p, q * columns


def leading(c: Array) -> tuple[Array, Array, Array]:
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


def foretold_of(s: Array, p: Array, q: Array) -> Array:
    """Correlation to expect on new rows, from the largest singular value s and the p and q functions a row.

    The singular value of a signal in noise exceeds the signal's, and its vectors are tilted away. Correcting
    for both gives √((s² − p − q)² − 4pq) / s, and 0 where noise alone reaches s (Gavish and Donoho 2017,
    equation 7).
    """
    inside = np.maximum((s**2 - p - q) ** 2 - 4 * p * q, 0.0)
    signal = s > np.sqrt(p) + np.sqrt(q)
    return np.where(signal, np.sqrt(inside) / np.where(signal, s, 1.0), 0.0)


def effective(weight: Array | None, n: int) -> Array:
    """Kish's effective number of rows, (K, 1)."""
    if weight is None:
        return np.array([[float(n)]])
    return (weight.sum(axis=-1) ** 2 / (weight**2).sum(axis=-1))[:, None]
