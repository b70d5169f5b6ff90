"""Functions of the ranks of a sensitive column, which penalties correlate with predictions (NumPy only)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.spline_basis import axis_of, orthonormal, splines
from fairdash.utils.rounding import DOUBLE, between, interpolated, restore_ties

Array = NDArray[np.float64]

#: Number of functions of each column of S: the basis of cubic splines with 6 intervals, without the constant.
_SPLINES = 8
#: Ridge on the covariance matrices of functions of U and of S, divided by the mean of the diagonal. The ridge
#: reduces correlations that occur by chance in a batch with few rows.
RIDGE = 0.1
#: Constant c in the weight 1 / (1 + c j²) of the squared correlation with the j-th function of S.
_ROUGHNESS = 0.3
#: Number of functions of a column, the smoothest ones, that are multiplied by functions of another column.
_IN_PRODUCTS = 3


def smooth_functions(mass: Array) -> Array:
    """Return smooth functions (m, q) of the ranks of m values, from the share (m,) of rows of each value."""
    return orthonormal(splines(axis_of(mass), count=_SPLINES), mass)


def scaled_functions(mass: Array) -> Array:
    """Return smooth functions, scaled so that the ridge gives function j the weight 1 / (1 + 0.3 j²)."""
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
    """Return functions (N, P) of the ranks of a column (N,), fitted to training rows with weights `mass`."""
    values, which = np.unique(restore_ties(column[train], eps=eps), return_inverse=True)
    table = functions(np.bincount(which, weights=mass) / mass.sum())
    # The column is sorted first, because positions of sorted values are found several times faster.
    order, result = np.argsort(column), np.empty((len(column), table.shape[1]))
    result[order] = interpolated(table, between(values, column[order]))
    return result


def _products(columns: Sequence[Array]) -> list[Array]:
    """Return, for each pair of columns, the products of the columns' functions, (…, N, P).

    Only these products detect dependence on a combination of two columns. Pairs of classes of the same
    attribute are omitted, because no row belongs to two classes.
    """
    smoothest = [functions[..., :_IN_PRODUCTS] for functions in columns]
    return [
        (first[..., :, None] * other[..., None, :]).reshape(*first.shape[:-1], -1)
        for first, other in itertools.combinations(smoothest, 2)
        if not _exclude_each_other(first, other)
    ]


def _exclude_each_other(first: Array, other: Array) -> bool:
    """Return whether two columns with functions (…, N, P) are classes that exclude each other."""
    values = [functions.reshape(-1, *functions.shape[-2:])[0] for functions in (first, other)]
    if any(functions[:, 1:].any() for functions in values):
        return False
    # Counting combinations by sorting would take a minute for ten classes and 678,000 rows.
    a, b = (functions[:, 0] > functions[:, 0].min() for functions in values)
    return not all(cell.any() for cell in (a & b, a & ~b, ~a & b, ~(a | b)))


def side_by_side(columns: Sequence[Array]) -> Array:
    """Return the functions (…, q) of every column and of every pair of columns, joined along the last axis.

    Functions that are 0 everywhere are omitted, but at least one function remains.
    """
    encoded = np.concatenate([*columns, *_products(columns)], axis=-1)
    nonzero_columns = np.flatnonzero((encoded != 0).any(axis=tuple(range(encoded.ndim - 1))))
    return encoded[..., nonzero_columns if len(nonzero_columns) else [0]]
