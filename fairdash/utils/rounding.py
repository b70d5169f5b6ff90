"""Comparison of numbers up to rounding errors, and linear interpolation between nodes.

>>> varies(np.array([[1.0, 1.0 + 4e-16], [1.0, 1.0 + 1e-12], [1e12, 2e12]])).tolist()
[False, True, True]
>>> is_rounding(1.0, np.inf), is_rounding(np.nan, np.nan)
(False, False)
>>> varies(np.array([0.7, 0.7 + 6e-8], dtype=np.float32)).tolist()
False

>>> where = between(np.array([0.0, 1.0, 3.0]), np.array([-1.0, 2.0]))
>>> interpolated(np.array([10.0, 20.0, 40.0]), where)
array([10., 30.])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Maximum number of floating-point steps between two computed values of the same number. A different order of
#: summation changes a sum of some thousand terms, such as a mean, by about ten steps. Measured data always
#: vary in more than their last five bits.
ROUNDINGS = 32
#: Relative rounding errors in double precision and in single precision, which networks use.
DOUBLE, SINGLE = (float(np.finfo(kind).eps) for kind in (np.float64, np.float32))


def is_rounding(low: Any, high: Any, *, eps: float = DOUBLE, unit: Any = None) -> Any:
    """Return whether numbers from `low` to `high`, of numpy or torch, are equal up to rounding.

    The result is False for values that are not finite, so that a diverged model does not look constant.

    Parameters
    ----------
    eps
        Relative rounding error in the precision of the computation.
    unit
        Scale of the computation, if it differs from the size of the numbers. For a network's predictions,
        this scale is the target's standard deviation, because a shift of the target adds no rounding errors.
    """
    # Half of the range is computed, because the range of values near the largest float would overflow.
    spread, share = high / 2 - low / 2, ROUNDINGS * eps / 2
    if unit is not None:
        return spread <= share * unit
    return ((spread <= share * abs(low)) | (spread <= share * abs(high))) & (spread < float("inf"))


def precision(x: Any) -> float:
    """Return the relative rounding error of an array's type (numpy, pandas, torch), by default double."""
    return SINGLE if str(getattr(x, "dtype", "")).lower().endswith("float32") else DOUBLE


def varies(
    x: NDArray[Any],
    weight: NDArray[np.float64] | None = None,
    *,
    eps: float | None = None,
    unit: float | None = None,
) -> NDArray[np.bool_]:
    """Return a mask of the rows of an array (..., n) that vary beyond rounding. Zero weights are ignored."""
    low = high = x
    if weight is not None:
        has_weight = weight > 0
        low, high = np.where(has_weight, x, np.inf), np.where(has_weight, x, -np.inf)
    eps = precision(x) if eps is None else eps
    return np.asarray(~is_rounding(low.min(axis=-1), high.max(axis=-1), eps=eps, unit=unit))


def restore_ties(
    x: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    *,
    eps: float | None = None,
    unit: float | None = None,
) -> NDArray[np.float64]:
    """Make numbers in a row of an array (..., n) equal if they are equal up to rounding, so that ranks agree.

    The same factors may give premiums that differ in the last bits, because processors sum a table's rows in
    different orders. Neighbouring numbers become equal if the first and the last of them are equal up to
    rounding.

    >>> len(np.unique([0.3, 0.1 + 0.2, 0.7])), len(np.unique(restore_ties(np.array([0.3, 0.1 + 0.2, 0.7]))))
    (3, 2)
    """
    eps = precision(x) if eps is None else eps
    is_varying = varies(x, weight, eps=eps, unit=unit)
    x = x if is_varying.all() else np.where(is_varying[..., None], x, x[..., :1])
    ordered = np.sort(np.where(np.isfinite(x), x, np.nan), axis=-1)
    lower, upper = ordered[..., :-1], ordered[..., 1:]
    is_tie = is_rounding(lower, upper, eps=eps, unit=unit)
    rows = np.argwhere((is_tie & (lower < upper)).any(axis=-1))
    if len(rows):
        x = x.copy()
    for row in map(tuple, rows):
        order = np.argsort(x[row], kind="stable")
        values = x[row][order]
        first = np.flatnonzero(np.append(True, ~is_tie[row]))
        size = np.diff(np.append(first, len(values)))
        merged = is_rounding(values[first], values[first + size - 1], eps=eps, unit=unit)
        middle = np.repeat(values[first] / 2 + values[first + size - 1] / 2, size)
        x[(*row, order)] = np.where(np.repeat(merged, size), middle, values)
    return x


Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Lower and upper node of each number, and the position of the number between them in [0, 1].
Between = tuple[Index, Index, Array]


def between(nodes: Array, x: Array) -> Between:
    """Return the positions of numbers x (n,) among ascending nodes (m,), clipped to the nodes' range."""
    last = len(nodes) - 1
    lower = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, last)
    upper = np.minimum(lower + 1, last)
    gap = nodes[upper] - nodes[lower]
    gap = np.where(gap > 0, gap, 1.0)
    return lower, upper, np.clip((x - nodes[lower]) / gap, 0, 1)


def interpolated(values: Array, where: Between) -> Array:
    """Return the interpolated values (n, …) from the values (m, …) at the nodes."""
    lower, upper, share = where
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[lower] + share * (values[upper] - values[lower]))
