"""Smooth functions of the ranks: cubic splines, ordered from smooth to rough, uncorrelated on the rows at
hand.

The space is that of cubic B-splines with equal knots in (mid-)ranks. Its functions are ordered by roughness
(Demmler and Reinsch 1975), so that the first p of them are the smoothest p dimensions of it, and are then
made uncorrelated with variance 1 in that order. They depend on x through its ranks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Knot intervals: a fast association needs about three for each of its waves.
INTERVALS = 32
#: Functions besides the constant.
WIDTH = INTERVALS + 2
#: Share of the axis that one repeated value may take, so that a heap of zeros leaves knots to the rest.
_LARGEST_ATOM = 1 / 16
#: A function of variance about 1 that keeps less than this beside the smoother ones carries nothing new.
_NOTHING_NEW = 1e-7
#: Largest product of two functions that counts as none.
_UNCORRELATED = 1e-6


@dataclass(frozen=True)
class Basis:
    """Functions on the rows of a stack, with mean 0 and variance 1, uncorrelated, from smooth to rough.

    Attributes
    ----------
    tables : list of (n, P) arrays
        Values at the rows in ascending order of x; a column of zeros where ties leave no further function.
    member : (K,) array of int
        Which table each member uses: members whose ties lie alike share one.
    position : (K, n) array of int
        Place of each row in ascending order.
    dense : (K, n) array of int
        Rank of each row's value among the distinct values.
    """

    tables: list[Array]
    member: Index
    position: Index
    dense: Index

    def part(self, members: slice) -> Basis:
        """The functions of some members of the stack."""
        return Basis(self.tables, self.member[members], self.position[members], self.dense[members])

    def reordered(self, orders: Index) -> Basis:
        """The only member's functions at the rows in several orders, (B, n): a member an order."""
        member = np.zeros(len(orders), dtype=np.intp)
        return Basis(self.tables, member, self.position[0][orders], self.dense[0][orders])


def basis(x: Array, sample_weight: Array | None = None) -> Basis:
    """The functions for each member of a stack.

    Parameters
    ----------
    x : (K, n) or (K, n, d) array
        Only the order of the values matters; equal values get equal rows whatever their order. Of
        several columns, the functions are sums: the smoothest of every column come first, d of them.
    sample_weight : (K, n) array, optional
        Weights under which the functions have mean 0, variance 1 and no correlation. Their knots stay
        where the rows themselves put them.

    Returns
    -------
    Basis
        With ``P = WIDTH`` functions, or ``d * WIDTH``.
    """
    if x.ndim == 3:
        return _additive(x, sample_weight)
    if sample_weight is None:
        return tabulated(x, lambda mass: orthonormal(splines(axis_of(mass)), mass), untied=_untied_table)
    plain = tabulated(x, lambda mass: splines(axis_of(mass)))
    share = np.empty_like(sample_weight, dtype=np.float64)
    np.put_along_axis(
        share, plain.position, sample_weight / sample_weight.sum(axis=-1, keepdims=True), axis=-1
    )
    tables = [orthonormal(plain.tables[i], own) for i, own in zip(plain.member, share, strict=True)]
    return Basis(tables=tables, member=np.arange(len(x)), position=plain.position, dense=plain.dense)


def category_basis(codes: NDArray[np.integer]) -> Basis:
    """Functions of a category: its levels from the commonest on, uncorrelated, with mean 0 and variance 1.

    Parameters
    ----------
    codes : (n,) array
        Level of each row, in any numbering.

    Returns
    -------
    Basis
        Of one member. More levels than a spline has functions are one level together, the rarest ones.
    """
    _, level, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), dtype=np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    level = np.minimum(rank[level], WIDTH)
    mass = np.bincount(level) / len(level)
    # One level fewer than there are: the last is told by the others.
    functions = np.zeros((len(mass), WIDTH))
    functions[:, : len(mass) - 1] = np.eye(len(mass))[:, :-1]
    position = level[None]
    return Basis(
        tables=[orthonormal(functions, mass)],
        member=np.zeros(1, dtype=np.intp),
        position=position,
        dense=position,
    )


def number_basis(values: Array) -> Basis:
    """Smooth functions of the ranks of one column of numbers; ``(n,)`` to a basis of one member."""
    return basis(np.asarray(values, dtype=np.float64)[None])


def tabulated(
    x: Array, functions: Callable[[Array], Array], untied: Callable[[int], Array] | None = None
) -> Basis:
    """Any functions of the ranks of a stack, computed once for all members whose ties lie alike.

    Parameters
    ----------
    x : (K, n) array
    functions
        From the masses of the m distinct values, in ascending order, to the (m, P) values of the functions.
    untied
        From n to the (n, P) values for n different values; a shorter way for that common case.
    """
    n = x.shape[1]
    order = np.argsort(x, axis=-1)
    position = np.empty_like(order)
    np.put_along_axis(position, order, np.broadcast_to(np.arange(n), x.shape), axis=-1)
    ordered = np.take_along_axis(x, order, axis=-1)
    fresh = np.ones(x.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] > ordered[:, :-1]
    tables: list[Array] = []
    seen: dict[bytes, int] = {}
    member = np.zeros(len(x), dtype=np.intp)
    for row in range(len(x)):
        key = fresh[row].tobytes()
        if key not in seen:
            seen[key] = len(tables)
            if untied is not None and fresh[row].all():
                tables.append(untied(n))
            else:
                values = np.cumsum(fresh[row]) - 1
                tables.append(functions(np.bincount(values) / n)[values])
        member[row] = seen[key]
    # Without ties the rank among the distinct values is the place.
    dense = position
    if not fresh.all():
        dense = np.take_along_axis(np.cumsum(fresh, axis=-1) - 1, position, axis=-1)
    return Basis(tables=tables, member=member, position=position, dense=dense)


def _additive(x: Array, sample_weight: Array | None) -> Basis:
    count, n, columns = x.shape
    rows = np.broadcast_to(np.arange(n), (count, n))
    parts = [basis(x[:, :, j], sample_weight) for j in range(columns)]
    together = [
        np.stack([part.tables[part.member[k]][part.position[k]] for part in parts], axis=-1).reshape(n, -1)
        for k in range(count)
    ]
    weight = np.ones((count, n)) if sample_weight is None else sample_weight
    share = weight / weight.sum(axis=-1, keepdims=True)
    tables = [orthonormal(functions, mass) for functions, mass in zip(together, share, strict=True)]
    dense = parts[0].dense
    for part in parts[1:]:
        dense = dense * n + part.dense
    return Basis(tables=tables, member=np.arange(count), position=rows, dense=dense)


@lru_cache(maxsize=4)
def _untied_table(n: int) -> Array:
    """Functions at n different values; kept, because every sample of that size shares it."""
    mass = np.full(n, 1 / n)
    table = orthonormal(splines(axis_of(mass)), mass)
    table.flags.writeable = False
    return table


def axis_of(mass: Array) -> Array:
    """Place in (0, 1) of each distinct value: its mid-rank, once heaps have been cut to a largest share."""
    cut = np.minimum(mass, _LARGEST_ATOM)
    cut = cut / cut.sum()
    return np.cumsum(cut) - cut / 2


def splines(place: Array) -> Array:
    """The ordered functions, before they are made uncorrelated, at places in [0, 1]; ``(m,) -> (m, P)``."""
    return _b_splines(place) @ _from_smooth_to_rough()


def orthonormal(functions: Array, mass: Array) -> Array:
    """Mean 0, variance 1, no correlation under ``mass`` (sum 1), each from those before it; (m, P)."""
    centred = functions - mass @ functions
    result = centred @ _triangular(centred.T @ (mass[:, None] * centred))
    # Ties can leave functions that hardly differ: products of their coefficients then lose all digits.
    products = result.T @ (mass[:, None] * result)
    wanted = np.diag((np.diagonal(products) > 0.5).astype(float))
    return result if np.abs(products - wanted).max() < _UNCORRELATED else _one_by_one(centred, mass)


def _one_by_one(centred: Array, mass: Array) -> Array:
    """The same by Gram and Schmidt on the functions themselves, twice each, which is slower and stable."""
    root = np.sqrt(mass)[:, None]
    scaled, result = root * centred, np.zeros_like(centred)
    kept = np.zeros_like(centred)
    for j in range(centred.shape[1]):
        left = scaled[:, j]
        for _ in range(2):
            left = left - kept[:, :j] @ (kept[:, :j].T @ left)
        if (size := left @ left) > _NOTHING_NEW:
            kept[:, j] = left / np.sqrt(size)
    np.divide(kept, root, out=result, where=root > 0)
    return result


def _triangular(gram: Array) -> Array:
    """Upper triangular R with RᵀGR = 1, with a column of zeros where nothing new is left; (P, P)."""
    width = len(gram)
    r, products = np.zeros((width, width)), np.zeros((width, width))
    for j in range(width):
        # Gram and Schmidt on coefficients: products[i] = r_iᵀG.
        along = products[:j, j]
        left = gram[j, j] - along @ along
        if left > _NOTHING_NEW:
            r[j, j] = 1.0
            r[:, j] -= r[:, :j] @ along
            r[:, j] /= np.sqrt(left)
            products[j] = r[:, j] @ gram
    return r


def _b_splines(place: Array) -> Array:
    """Cubic B-splines with equal knots, (m, INTERVALS + 3); only the space they span matters."""
    distance = np.abs(place[:, None] * INTERVALS - np.arange(-1, INTERVALS + 2))
    inner = (4 - 6 * distance**2 + 3 * distance**3) / 6
    outer = np.maximum(2 - distance, 0.0) ** 3 / 6
    return np.where(distance < 1, inner, outer)


@lru_cache(maxsize=1)
def _from_smooth_to_rough() -> Array:
    """Coefficients of the functions ordered by ∫f″² for equal ∫f², (INTERVALS + 3, P)."""
    place = (np.arange(64 * INTERVALS) + 0.5) / (64 * INTERVALS)
    values = _b_splines(place)
    values = values - values.mean(axis=0)
    # An orthonormal basis of the space without constants: centring takes one dimension.
    _, size, axes = np.linalg.svd(values / np.sqrt(len(place)), full_matrices=False)
    coefficients = axes[:WIDTH].T / size[:WIDTH]
    curvature = np.diff(values @ coefficients, 2, axis=0) * len(place) ** 2
    _, turn = np.linalg.eigh(curvature.T @ curvature / len(place))
    ordered: Array = coefficients @ turn
    # An eigenvector has no sign of its own: let every function begin below zero.
    ordered *= -np.sign((values @ ordered)[0])
    ordered.flags.writeable = False
    return ordered
