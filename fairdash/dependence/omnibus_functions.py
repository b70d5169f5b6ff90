"""Measures of the omnibus test, and the functions of u and v that the measures correlate.

For a variable with classes, the functions are uncorrelated indicators of the classes. The sum of squared
correlations with these indicators is the statistic of an analysis of variance and does not depend on the
order of the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import mid_ranks, standardised
from fairdash.dependence.spline_basis import WIDTH, basis, category_basis

Array = NDArray[np.float64]

#: Number of slow functions of each variable.
FEW = 4
#: Shares of the rows that indicators mark at each end of a variable's range.
_END_SHARES = (0.03, 0.1)
#: Columns of the table of functions. Column 0 is the constant 1; then follow the values, slow functions, end
#: indicators and fast functions.
_VALUES, _SLOW = 1, slice(2, 2 + FEW)
_AT_ENDS = slice(2 + FEW, 2 + FEW + 2 * len(_END_SHARES))
FAST = slice(_AT_ENDS.stop, _AT_ENDS.stop + WIDTH - FEW)
_SLOW_AND_ENDS = slice(_SLOW.start, _AT_ENDS.stop)
#: Pairs of sets: products of functions of u in the first set and of v in the second set are scores.
_BLOCKS = (
    (slice(_VALUES, _VALUES + 1), slice(_VALUES, _VALUES + 1)),
    (_SLOW, slice(_SLOW.start, FAST.stop)),
    (_AT_ENDS, _SLOW_AND_ENDS),
    (FAST, _SLOW),
)


class Side(NamedTuple):
    """Functions of v, and the measures computed from their covariances with functions of u.

    Attributes
    ----------
    functions : (n, Q) array
        Functions of v; the first function is the constant 1.
    narrow
        Number of leading functions of v that are multiplied by the fast functions of u.
    blocks
        Pairs of sets of functions of u and of v, whose products are scores.
    measures
        Function that returns the measures, (M, K, B), from two arrays of covariances: of few functions of u
        with all functions of v, and of fast functions of u with few functions of v.
    """

    functions: Array
    narrow: int
    blocks: tuple[tuple[slice, slice], ...]
    measures: Callable[[Array, Array], Array]

    @classmethod
    def of(cls, v: Array, *, are_classes: bool = False) -> Side:
        """Make the functions from values v (n,) or from class codes; two classes become values 0 and 1."""
        if not are_classes or len(np.unique(v)) < 3:
            return cls(functions_of(v[None])[0], _SLOW.stop, _BLOCKS, _measures)
        indicators = category_basis(v.astype(np.intp))
        levels = indicators.tables[0][:, indicators.tables[0].any(axis=0)][indicators.position[0]]
        functions = np.column_stack([np.ones(len(v)), levels])
        width = functions.shape[1]
        blocks = ((slice(_VALUES, FAST.start), slice(1, width)), (FAST, slice(1, width)))
        return cls(functions, width, blocks, _measures_of_classes)

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Return the number of functions of u and v in each block."""
        return tuple((of_u.stop - of_u.start, of_v.stop - of_v.start) for of_u, of_v in self.blocks)


def _measures(tall: Array, wide: Array) -> Array:
    """Return the measures, (M, K, B), from covariances: `tall` (few functions of u) and `wide` (few of v)."""

    def squares(of_u: slice, of_v: slice) -> Array:
        return _squares(tall[:, of_u, :, of_v])

    smooth = squares(_SLOW, _SLOW)
    return np.stack(
        [
            tall[:, _VALUES, :, _VALUES],
            tall[:, _SLOW.start, :, _SLOW.start],
            smooth,
            smooth + squares(_SLOW, FAST),
            smooth + _squares(wide[..., _SLOW]),
            squares(_AT_ENDS, _SLOW_AND_ENDS) + squares(_SLOW, _AT_ENDS),
        ]
    )


def _measures_of_classes(tall: Array, wide: Array) -> Array:
    """Return the measures, (M, K, B), if v has classes: line, trend and waves then use all functions of v."""

    def squares(of_u: slice) -> Array:
        return _squares(tall[:, of_u, :, 1:])

    line, trend = (squares(slice(index, index + 1)) for index in (_VALUES, _SLOW.start))
    smooth = squares(_SLOW)
    return np.stack([line, trend, smooth, smooth, smooth + _squares(wide[..., 1:]), squares(_AT_ENDS)])


def _squares(block: Array) -> Array:
    return np.einsum("kpbq,kpbq->kb", block, block)


def functions_of(x: Array) -> Array:
    """Return functions (K, n, P): the constant, the values, slow functions, end indicators, fast functions.

    The ranks ignore weights; weights are used only when products are summed. All functions except
    the first have mean 0. The variance of a function is 1, or 0 if ties allow fewer functions.
    """
    smooth = basis(x)
    ranks = mid_ranks(x)
    tail_masks = [side for share in _END_SHARES for side in (ranks < share, ranks > 1 - share)]
    result = np.empty((*x.shape, FAST.stop))
    result[..., 0] = 1.0
    result[..., _VALUES] = standardised(x)
    result[..., _AT_ENDS] = np.stack([standardised(side.astype(float)) for side in tail_masks], axis=-1)
    for row, member in enumerate(smooth.member):
        values = smooth.tables[member][smooth.position[row]]
        result[row, :, _SLOW], result[row, :, FAST] = values[:, :FEW], values[:, FEW:]
    return result
