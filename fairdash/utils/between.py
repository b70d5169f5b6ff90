"""Straight lines between the values at nodes: one search, for as many functions as there are.

>>> where = between(np.array([0.0, 1.0, 3.0]), np.array([-1.0, 2.0]))
>>> interpolated(np.array([10.0, 20.0, 40.0]), where)
array([10., 30.])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Lower and upper node of each number, and its position between them, in [0, 1].
Between = tuple[Index, Index, Array]


def between(nodes: Array, x: Array) -> Between:
    """Return where numbers x (n,) lie among rising nodes (m,); beyond an end they lie at it."""
    last = len(nodes) - 1
    left = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, last)
    right = np.minimum(left + 1, last)
    gap = nodes[right] - nodes[left]
    gap = np.where(gap > 0, gap, 1.0)
    return left, right, np.clip((x - nodes[left]) / gap, 0, 1)


def interpolated(values: Array, where: Between) -> Array:
    """Return the values (m, …) of the nodes where the numbers lie, (n, …)."""
    left, right, share = where
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[left] + share * (values[right] - values[left]))
