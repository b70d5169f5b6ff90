"""Cubic spline basis on ranks, and canonical correlations between few and many functions.

The basis spans the cubic B-splines with equally spaced knots in (mid-)ranks. The functions of the basis are
ordered by roughness (Demmler and Reinsch 1975), so the first p functions span the smoothest p dimensions. In
this order, the functions are orthogonalised on the given rows and scaled to variance 1. The functions depend
on x only through its ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Number of knot intervals; an association with many waves needs about three intervals per wave.
INTERVALS = 32
#: Number of functions besides the constant.
WIDTH = INTERVALS + 2
#: Maximum share of the axis that one repeated value may occupy, so that a column with many zeros still has
#: knots among the other values.
_MAX_ATOM = 1 / 16
#: Minimum variance of the part of a function that is orthogonal to the smoother functions. A function with a
#: smaller part counts as redundant. The variance of the whole function is about 1.
_MIN_NEW_VARIANCE = 1e-7
#: Maximum mean product of two functions that count as uncorrelated.
_MAX_CORRELATION = 1e-6
#: Candidate numbers of functions of the two variables. A link with many waves needs many functions of one
#: variable, but rarely of both variables.
SIZES = ((2, 2), (4, 4), (6, 4), (10, 4), (18, 4), (WIDTH, 4))
FEW = 4
#: Number of rows whose B-splines, which are mostly 0, are in memory at a time.
_ROWS_AT_ONCE = 10_000
#: Number of pairs whose smaller set of functions is reordered at a time, so that it fits in the cache.
_PIECE = 64


@dataclass(frozen=True)
class Basis:
    """Uncorrelated functions of K variables, on their rows, with mean 0 and variance 1, from smooth to rough.

    Attributes
    ----------
    tables : list of (n, P) arrays
        Values of the functions at the rows, in ascending order of x. If ties allow fewer functions, the
        remaining columns are zero.
    member : (K,) array of int
        Index of each variable's table; variables with the same ties share a table.
    position : (K, n) array of int
        Position of each row when the rows are sorted in ascending order.
    dense : (K, n) array of int
        Rank of each row's value among the distinct values.
    """

    tables: list[Array]
    member: Index
    position: Index
    dense: Index

    def part(self, members: slice) -> Basis:
        """Return the functions of the selected variables."""
        return Basis(self.tables, self.member[members], self.position[members], self.dense[members])

    def repeated(self, count: int) -> Basis:
        """Repeat the basis of a single variable `count` times."""
        shape, member = (count, self.position.shape[1]), np.zeros(count, dtype=np.intp)
        return Basis(
            self.tables, member, np.broadcast_to(self.position, shape), np.broadcast_to(self.dense, shape)
        )

    def reordered(self, orders: Index) -> Basis:
        """Repeat the basis of a single variable in several orders of the rows, (B, n), as B variables."""
        member = np.zeros(len(orders), dtype=np.intp)
        return Basis(self.tables, member, self.position[0][orders], self.dense[0][orders])


def basis(x: Array, sample_weight: Array | None = None, *, tails: bool = False) -> Basis:
    """Return the spline basis of each of K variables.

    Parameters
    ----------
    x : (K, n) or (K, n, d) array
        Values; only their ranks are used. Rows with equal values have equal function values. With
        several columns, the functions of all columns form one basis: the d smoothest functions, one per
        column, come first.
    sample_weight : (K, n) array, optional
        Weights under which the functions have mean 0, variance 1 and no correlation. The knots depend only on
        the unweighted rows.
    tails
        True to add the normal score of x as the first function and to leave out the roughest spline. Splines
        of ranks cannot approximate a linear function of x in the tails. With several columns, the normal
        score is always included.

    Returns
    -------
    Basis
        Basis with ``P = WIDTH`` functions, or ``d * WIDTH`` for d columns.
    """
    if x.ndim == 3:
        return _additive(x, sample_weight)
    functions = _with_normal_scores if tails else _smooth
    if sample_weight is None:
        untied = None if tails else untied_table
        return tabulated_functions(x, lambda mass: orthonormal(functions(mass), mass), untied=untied)
    unweighted = tabulated_functions(x, functions)
    share = np.empty_like(sample_weight, dtype=np.float64)
    np.put_along_axis(
        share, unweighted.position, sample_weight / sample_weight.sum(axis=-1, keepdims=True), axis=-1
    )
    tables = [
        orthonormal(unweighted.tables[i], row_mass)
        for i, row_mass in zip(unweighted.member, share, strict=True)
    ]
    return Basis(
        tables=tables, member=np.arange(len(x)), position=unweighted.position, dense=unweighted.dense
    )


def _smooth(mass: Array) -> Array:
    return splines(axis_of(mass))


def _with_normal_scores(mass: Array) -> Array:
    return np.column_stack([ndtri(np.cumsum(mass) - mass / 2), _smooth(mass)[:, :-1]])


def category_basis(codes: NDArray[np.integer]) -> Basis:
    """Return uncorrelated functions of a category, in order of level frequency, with mean 0 and variance 1.

    Parameters
    ----------
    codes : (n,) array
        Codes of the levels, in any numbering.

    Returns
    -------
    Basis
        Basis of one variable. If there are more levels than functions, the rarest levels are merged.
    """
    _, level, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), dtype=np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))

    def levels(mass: Array) -> Array:
        # One level is omitted, because the other levels determine it.
        functions = np.zeros((len(mass), WIDTH))
        functions[:, : len(mass) - 1] = np.eye(len(mass))[:, :-1]
        return orthonormal(functions, mass)

    return tabulated_functions(np.minimum(rank[level], WIDTH)[None], levels)


def number_basis(values: Array) -> Basis:
    """Return smooth functions of the ranks of a numeric column, (n,), as a basis of one variable."""
    return basis(np.asarray(values, dtype=np.float64)[None])


def tabulated_functions(
    x: Array | Index, functions: Callable[[Array], Array], untied: Callable[[int], Array] | None = None
) -> Basis:
    """Return functions of the ranks of K variables, computed once for all variables with the same ties.

    Parameters
    ----------
    x : (K, n) array
    functions
        Function that returns the values (m, P) of the functions, given the masses of m distinct values in
        ascending order.
    untied
        Function that returns the values (n, P) of the functions at n different values, as a shortcut for data
        without ties.
    """
    n = x.shape[1]
    if len(x) > 1 and x.strides[0] == 0:
        return tabulated_functions(x[:1], functions, untied).repeated(len(x))
    order = np.argsort(x, axis=-1)
    position = np.empty_like(order)
    np.put_along_axis(position, order, np.broadcast_to(np.arange(n), x.shape), axis=-1)
    ordered = np.take_along_axis(x, order, axis=-1)
    is_new_value = np.ones(x.shape, dtype=bool)
    is_new_value[:, 1:] = ordered[:, 1:] > ordered[:, :-1]
    tables: list[Array] = []
    table_of: dict[bytes, int] = {}
    member = np.zeros(len(x), dtype=np.intp)
    for row in range(len(x)):
        key = is_new_value[row].tobytes()
        if key not in table_of:
            table_of[key] = len(tables)
            if untied is not None and is_new_value[row].all():
                tables.append(untied(n))
            else:
                values = np.cumsum(is_new_value[row]) - 1
                tables.append(functions(np.bincount(values) / n)[values])
        member[row] = table_of[key]
    # Without ties, the position is the rank among the distinct values.
    dense = position
    if not is_new_value.all():
        dense = np.take_along_axis(np.cumsum(is_new_value, axis=-1) - 1, position, axis=-1)
    return Basis(tables=tables, member=member, position=position, dense=dense)


def _additive(x: Array, sample_weight: Array | None) -> Basis:
    count, n, columns = x.shape
    rows = np.broadcast_to(np.arange(n), (count, n))
    parts = [basis(x[:, :, j], sample_weight, tails=True) for j in range(columns)]
    combined_tables = [
        np.stack([part.tables[part.member[k]][part.position[k]] for part in parts], axis=-1).reshape(n, -1)
        for k in range(count)
    ]
    weight = np.ones((count, n)) if sample_weight is None else sample_weight
    share = weight / weight.sum(axis=-1, keepdims=True)
    tables = [orthonormal(functions, mass) for functions, mass in zip(combined_tables, share, strict=True)]
    dense = parts[0].dense
    for part in parts[1:]:
        dense = dense * n + part.dense
    return Basis(tables=tables, member=np.arange(count), position=rows, dense=dense)


@lru_cache(maxsize=4)
def untied_table(n: int) -> Array:
    """Return the functions at n different values, cached for all samples of this size."""
    mass = np.full(n, 1 / n)
    table = orthonormal(splines(axis_of(mass)), mass)
    table.flags.writeable = False
    return table


def axis_of(mass: Array) -> Array:
    """Return the position in (0, 1) of each distinct value: the mid-rank after capping the values' shares."""
    capped_mass = np.minimum(mass, _MAX_ATOM)
    capped_mass = capped_mass / capped_mass.sum()
    return np.cumsum(capped_mass) - capped_mass / 2


def splines(position: Array, *, count: int = WIDTH) -> Array:
    """Return functions from smooth to rough, not yet orthogonal, at positions in [0, 1], (m, count)."""
    coefficients, result = _from_smooth_to_rough()[:, :count], np.empty((len(position), count))
    for start in range(0, len(position), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        np.matmul(_b_splines(position[rows]), coefficients, out=result[rows])
    return result


def orthonormal(functions: Array, mass: Array) -> Array:
    """Orthogonalise functions (m, P) in order, to mean 0, variance 1 and no correlation under ``mass``."""
    centred = functions - mass @ functions
    gram = centred.T @ (mass[:, None] * centred)
    coefficients = _inverse_root(gram)
    if coefficients is not None:
        return centred @ coefficients
    result = centred @ _inverse_root_with_zeros(gram)
    # With ties, functions may hardly differ, so that products of their coefficients lose all digits.
    products = result.T @ (mass[:, None] * result)
    identity = np.diag((np.diagonal(products) > 0.5).astype(float))
    return result if np.abs(products - identity).max() < _MAX_CORRELATION else _gram_schmidt(centred, mass)


def _gram_schmidt(centred: Array, mass: Array) -> Array:
    """Orthogonalise the functions' values by Gram–Schmidt, applied twice, which is slower but more stable."""
    root = np.sqrt(mass)[:, None]
    scaled, result = root * centred, np.zeros_like(centred)
    basis_functions = np.zeros_like(centred)
    for j in range(centred.shape[1]):
        remainder = scaled[:, j]
        for _ in range(2):
            remainder = remainder - basis_functions[:, :j] @ (basis_functions[:, :j].T @ remainder)
        if (size := remainder @ remainder) > _MIN_NEW_VARIANCE:
            basis_functions[:, j] = remainder / np.sqrt(size)
    np.divide(basis_functions, root, out=result, where=root > 0)
    return result


def _inverse_root(gram: Array) -> Array | None:
    """Return upper triangular R with RᵀGR = 1, (P, P), or ``None`` if a function is nearly redundant."""
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    return np.linalg.inv(lower).T if np.diagonal(lower).min() ** 2 > _MIN_NEW_VARIANCE else None


def _inverse_root_with_zeros(gram: Array) -> Array:
    """Return upper triangular R with RᵀGR = 1, (P, P); the columns of redundant functions are zeros."""
    width = len(gram)
    r, products = np.zeros((width, width)), np.zeros((width, width))
    for j in range(width):
        # The loop applies Gram–Schmidt to coefficients, with products[i] = r_iᵀG.
        column = products[:j, j]
        variance = gram[j, j] - column @ column
        if variance > _MIN_NEW_VARIANCE:
            r[j, j] = 1.0
            r[:, j] -= r[:, :j] @ column
            r[:, j] /= np.sqrt(variance)
            products[j] = r[:, j] @ gram
    return r


def _b_splines(position: Array) -> Array:
    """Return cubic B-splines with equally spaced knots, (m, INTERVALS + 3); only their span matters."""
    interval = np.minimum(np.floor(position * INTERVALS), INTERVALS - 1)
    t = position * INTERVALS - interval
    complement = 1 - t
    pieces = (complement**3, 4 - 6 * t**2 + 3 * t**3, 4 - 6 * complement**2 + 3 * complement**3, t**3)
    functions = np.zeros((len(position), INTERVALS + 3))
    # At each position, only four B-splines are nonzero.
    np.put_along_axis(
        functions, interval.astype(np.intp)[:, None] + np.arange(4), np.stack(pieces, axis=1) / 6, axis=1
    )
    return functions


@lru_cache(maxsize=1)
def _from_smooth_to_rough() -> Array:
    """Return coefficients (INTERVALS + 3, P) of functions in ascending order of roughness, ∫f″² ÷ ∫f²."""
    position = (np.arange(64 * INTERVALS) + 0.5) / (64 * INTERVALS)
    values = _b_splines(position)
    values = values - values.mean(axis=0)
    # The basis of the space without constants is orthonormal, and centring removes one dimension.
    _, size, axes = np.linalg.svd(values / np.sqrt(len(position)), full_matrices=False)
    coefficients = axes[:WIDTH].T / size[:WIDTH]
    curvature = np.diff(values @ coefficients, 2, axis=0) * len(position) ** 2
    _, eigenvectors = np.linalg.eigh(curvature.T @ curvature / len(position))
    ordered: Array = coefficients @ eigenvectors
    # The sign of an eigenvector is arbitrary, so every function is made negative at its lowest position.
    ordered *= -np.sign((values @ ordered)[0])
    ordered.flags.writeable = False
    return ordered


def cross_covariances(
    f: Basis, g: Basis, place_u: Index, place_v: Index, mass: Array | None
) -> tuple[Array, Array]:
    """Return sums of products over each fold, of many functions of u and few of v, and vice versa.

    Returns
    -------
    tall : (K, folds, P, few) and wide : (K, folds, few, P) arrays
    """
    count, folds, size = place_u.shape
    width_u, width_v = f.tables[0].shape[1], g.tables[0].shape[1]
    few_v = FEW * width_v // WIDTH
    tall_part, wide = np.empty((count, folds, width_u, few_v)), np.empty((count, folds, FEW, width_v))
    # Members are processed one at a time in two buffers that fit in the processor's cache, unlike a whole
    # stack.
    left, right = np.empty((folds, size, width_u)), np.empty((folds, size, width_v))
    for k in range(count):
        np.take(f.tables[f.member[k]], place_u[k], axis=0, out=left, mode="clip")
        np.take(g.tables[g.member[k]], place_v[k], axis=0, out=right, mode="clip")
        if mass is not None:
            left *= mass[k][..., None]
        np.matmul(left.swapaxes(1, 2), right[..., :few_v], out=tall_part[k])
        np.matmul(left[..., :FEW].swapaxes(1, 2), right, out=wide[k])
    return tall_part, wide


def of_all_rows(f: Basis, g: Basis, weight: Array | None) -> tuple[Array, Array]:
    """Return cross-covariances over all rows, of many functions of u and few of v, and vice versa.

    Returns
    -------
    tall : (K, P, few) and wide : (K, few, P) arrays
    """
    count, n = f.position.shape
    rows = np.arange(count)[:, None]
    # For each position of u, find the position of v in the same row, and vice versa.
    of_u, of_v = np.empty_like(f.position), np.empty_like(g.position)
    of_u[rows, f.position], of_v[rows, g.position] = g.position, f.position
    share_u = share_v = None
    if weight is not None:
        share = weight / weight.sum(axis=-1, keepdims=True)
        share_u, share_v = np.empty_like(share), np.empty_like(share)
        share_u[rows, f.position], share_v[rows, g.position] = share, share
    width_u, width_v = f.tables[0].shape[1], g.tables[0].shape[1]
    few_u, few_v = FEW * width_u // WIDTH, FEW * width_v // WIDTH
    tall_part, wide = np.empty((count, width_u, few_v)), np.empty((count, few_u, width_v))
    # Members with the same ties share their tables. Only the smaller set of functions is moved to the rows of
    # the other variable.
    tables = f.member * len(g.tables) + g.member
    for pair in np.unique(tables):
        i, j = divmod(int(pair), len(g.tables))
        narrow_u, narrow_v = (
            np.ascontiguousarray(table[:, :few])
            for table, few in ((f.tables[i], few_u), (g.tables[j], few_v))
        )
        members = np.flatnonzero(tables == pair)
        for start in range(0, len(members), _PIECE):
            selected = members[start : start + _PIECE]
            moved_v, moved_u = narrow_v[of_u[selected]], narrow_u[of_v[selected]]
            if share_u is not None and share_v is not None:
                moved_v *= share_u[selected][..., None]
                moved_u *= share_v[selected][..., None]
            tall_part[selected] = f.tables[i].T @ moved_v
            wide[selected] = moved_u.swapaxes(1, 2) @ g.tables[j]
    return (tall_part / n, wide / n) if weight is None else (tall_part, wide)


def pairs(tall_part: Array, wide: Array, columns: int) -> Iterator[tuple[Array, Array, Array, int, int]]:
    """Yield, for each choice of sizes, coefficients and correlation of f and g, and numbers of functions."""
    for n_many, few in SIZES:
        for p, q in [(n_many, few)] if n_many == few else [(n_many, few), (few, n_many)]:
            if p >= q:
                x, y, s = leading_triple(tall_part[..., :p, : q * columns])
            else:
                y, x, s = leading_triple(wide[..., :p, : q * columns].swapaxes(-1, -2))
            yield x, y, s, p, q * columns


def leading_triple(c: Array) -> tuple[Array, Array, Array]:
    """Return the first singular triple of each (..., p, q) matrix with small q, by the 16th power of CᵀC."""
    power = c.swapaxes(-1, -2) @ c
    trace = np.einsum("...ii", power)[..., None, None]
    # The largest eigenvalue is now at least 1/q, so its 16th power cannot underflow.
    power = power / np.where(trace > 0, trace, 1.0)
    for _ in range(4):
        power = power @ power
    # Every column is close to a multiple of the singular vector; the longest column is used.
    longest = np.diagonal(power, axis1=-2, axis2=-1).argmax(axis=-1)
    y = np.take_along_axis(power, longest[..., None, None], axis=-1)
    y = y / np.maximum(np.linalg.norm(y, axis=-2, keepdims=True), 1e-300)
    x = c @ y
    s = np.linalg.norm(x, axis=-2, keepdims=True)
    return (x / np.maximum(s, 1e-300))[..., 0], y[..., 0], s[..., 0, 0]


def predicted_correlation(s: Array, p: Array, q: Array) -> Array:
    """Predict the correlation on new rows from the largest singular value s, with p and q functions per row.

    Noise increases the singular value of a signal and changes the direction of its singular vectors. The
    corrected value is √((s² − p − q)² − 4pq) / s, or 0 if noise alone can give s (Gavish and Donoho 2017,
    equation 7).
    """
    discriminant = np.maximum((s**2 - p - q) ** 2 - 4 * p * q, 0.0)
    signal = s > np.sqrt(p) + np.sqrt(q)
    return np.where(signal, np.sqrt(discriminant) / np.where(signal, s, 1.0), 0.0)


def effective_rows(weight: Array | None, n: int) -> Array:
    """Return Kish's effective number of rows, (K, 1)."""
    if weight is None:
        return np.array([[float(n)]])
    return (weight.sum(axis=-1) ** 2 / (weight**2).sum(axis=-1))[:, None]
