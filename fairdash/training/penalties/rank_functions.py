"""Functions of a sensitive column's ranks that penalties correlate with predictions, without using torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline_basis import axis_of, orthonormal, splines
from fairdash.utils.rounding import DOUBLE, between, interpolated, settled

Array = NDArray[np.float64]

#: Number of functions of each column of S, which are those of a cubic spline with 6 intervals, without the
#: constant.
_SPLINES = 8
#: Ridge on the covariances of functions of U and of S, as a share of the mean diagonal. The ridge reduces
#: correlations that a batch with few rows has by chance.
RIDGE = 0.1
#: Factor c of the weight 1 / (1 + c j²) of a correlation with the j-th function of S.
_ROUGHNESS = 0.3
#: Number of the smoothest functions of a column that are multiplied by functions of another column.
_IN_PRODUCTS = 3


def smooth_functions(mass: Array) -> Array:
    """Return the smoothest functions of the ranks, (m, q), given the masses (m,) of the distinct values."""
    return orthonormal(splines(axis_of(mass), count=_SPLINES), mass)


def scaled_functions(mass: Array) -> Array:
    """Return the functions, scaled so that the ridge multiplies the j-th one by 1 / (1 + 0.3 j²)."""
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
    """Return functions (N, P) of a column's ranks (N,), fitted on its training rows with these masses."""
    values, which = np.unique(settled(column[train], eps=eps), return_inverse=True)
    table = functions(np.bincount(which, weights=mass) / mass.sum())
    # The search for positions is several times faster in sorted values.
    order, result = np.argsort(column), np.empty((len(column), table.shape[1]))
    result[order] = interpolated(table, between(values, column[order]))
    return result


def _products(columns: Sequence[Array]) -> list[Array]:
    """Return the products of the functions, (…, N, P) each, of each pair of columns.

    Only these products reveal a joint link with two columns. Pairs of classes of one attribute are omitted,
    because no row belongs to two classes.
    """
    smoothest = [functions[..., :_IN_PRODUCTS] for functions in columns]
    return [
        (one[..., :, None] * other[..., None, :]).reshape(*one.shape[:-1], -1)
        for one, other in itertools.combinations(smoothest, 2)
        if not _exclude_each_other(one, other)
    ]


def _exclude_each_other(one: Array, other: Array) -> bool:
    """Return whether two columns of 0 and 1 are never both 1 in a row, given their functions (…, N, P)."""
    values = [functions.reshape(-1, *functions.shape[-2:])[0] for functions in (one, other)]
    if any(functions[:, 1:].any() for functions in values):
        return False
    # Sorting to count the cells would take a minute for ten classes and 678,000 rows.
    a, b = (functions[:, 0] > functions[:, 0].min() for functions in values)
    return not all(cell.any() for cell in (a & b, a & ~b, ~a & b, ~(a | b)))


def side_by_side(columns: Sequence[Array]) -> Array:
    """Join the functions (…, P) of several columns and of each pair of columns; (…, q).

    Functions that are 0 everywhere are omitted, except that at least one function remains.
    """
    encoded = np.concatenate([*columns, *_products(columns)], axis=-1)
    used = np.flatnonzero((encoded != 0).any(axis=tuple(range(encoded.ndim - 1))))
    return encoded[..., used if len(used) else [0]]
