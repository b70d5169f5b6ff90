"""Functions of a sensitive column's ranks that penalties correlate with predictions, without torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline_basis import axis_of, orthonormal, splines
from fairdash.utils.rounding import DOUBLE, between, interpolated, settled

Array = NDArray[np.float64]

#: Functions of each column of S: as many as a cubic spline with 6 intervals has, without the constant.
_SPLINES = 8
#: Added to the covariance of either player's functions, as a share of its mean diagonal. It keeps the few
#: rows of a batch from finding a correlation by chance.
RIDGE = 0.1
#: Weight of a correlation with the j-th function of S: 1 / (1 + this times j²).
_ROUGHNESS = 0.3
#: Smoothest functions of a column that are multiplied with those of another column.
_IN_PRODUCTS = 3


def smooth_functions(mass: Array) -> Array:
    """Return the smoothest functions of the ranks, from the masses of the distinct values; (m,) to (m, q)."""
    return orthonormal(splines(axis_of(mass), count=_SPLINES), mass)


def scaled_functions(mass: Array) -> Array:
    """Return the functions, scaled so that the ridge leaves 1 / (1 + 0.3 j²) of the j-th, in order."""
    functions = smooth_functions(mass)
    return functions / (np.sqrt(_ROUGHNESS / RIDGE) * np.arange(1, functions.shape[1] + 1))


def of_column(
    column: Array,
    train: NDArray[np.int64],
    mass: Array,
    functions: Callable[[Array], Array],
    *,
    eps: float = DOUBLE,
) -> Array:
    """Return functions of a column's ranks (N,), fitted on its training rows with these masses; (N, P)."""
    values, which = np.unique(settled(column[train], eps=eps), return_inverse=True)
    table = functions(np.bincount(which, weights=mass) / mass.sum())
    # The search is several times faster on sorted values.
    order, result = np.argsort(column), np.empty((len(column), table.shape[1]))
    result[order] = interpolated(table, between(values, column[order]))
    return result


def _products(columns: Sequence[Array]) -> list[Array]:
    """Return products of functions, (…, N, P) each, of every two columns.

    A link with two columns together shows in these alone. Two classes of one attribute are left out, because
    nobody is in both.
    """
    smoothest = [each[..., :_IN_PRODUCTS] for each in columns]
    return [
        (one[..., :, None] * other[..., None, :]).reshape(*one.shape[:-1], -1)
        for one, other in itertools.combinations(smoothest, 2)
        if not _exclude_each_other(one, other)
    ]


def _exclude_each_other(one: Array, other: Array) -> bool:
    """Return whether two columns of 0 and 1 are never 1 together, by their functions (…, N, P)."""
    values = [each.reshape(-1, *each.shape[-2:])[0] for each in (one, other)]
    if any(each[:, 1:].any() for each in values):
        return False
    # Sorting the rows to count their cells takes a minute for ten classes of 678,000 rows.
    a, b = (each[:, 0] > each[:, 0].min() for each in values)
    return not all(cell.any() for cell in (a & b, a & ~b, ~a & b, ~(a | b)))


def side_by_side(columns: Sequence[Array]) -> Array:
    """Join functions (…, P) of several columns, and of every two together; (…, q).

    Functions that are 0 everywhere are left out, except one.
    """
    encoded = np.concatenate([*columns, *_products(columns)], axis=-1)
    used = np.flatnonzero((encoded != 0).any(axis=tuple(range(encoded.ndim - 1))))
    return encoded[..., used if len(used) else [0]]
