"""Detection of columns with the start and end of the exposure period, whose difference is the exposure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd

from fairdash.tables.column_profile import NUMBERS, as_floats, kind_of
from fairdash.tables.features import a_few, absolute_correlation
from fairdash.tables.fixes import on_one_scale

#: Minimum correlation of the exposure with the difference of two columns that give its start and end.
_SAME_LENGTH = 0.999
_SAME_LENGTH_OF_DATES = 0.99
_MIN_BOUNDED, _ROUNDED = 50, 0.01


def bounds_of_exposure(frame: pd.DataFrame, exposure: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of dates or numbers that give the start or the end of the exposure.

    The end of a policy reveals claims, because a policy may end early after a total loss.
    """
    if kind_of(frame[exposure]) not in NUMBERS:
        return ()
    w = as_floats(frame[exposure]).to_numpy()
    numbers_of: dict[str, np.ndarray] = {}
    of_dates = set()
    for name in columns:
        if kind_of(frame[name]) == "truth value":
            continue
        cells, holds_dates = on_one_scale(frame[name])
        if cells is not None:
            numbers_of[name] = cells
        if holds_dates:
            of_dates.add(name)
    sample = a_few(len(frame))
    bounds: set[str] = set()
    # If all policies begin on the same day, the end of a policy determines its exposure.
    origin = np.zeros(len(frame))
    for name in of_dates:
        if _is_length(numbers_of[name], w, _SAME_LENGTH_OF_DATES, (origin, origin)):
            bounds.add(name)
    rows = sample[np.isfinite(w[sample])]
    if len(rows) < _MIN_BOUNDED:
        return tuple(name for name in numbers_of if name in bounds)
    squared_correlations = _squared_links(np.column_stack([part[rows] for part in (w, *numbers_of.values())]))
    for (i, first), (j, second) in combinations(enumerate(numbers_of), 2):
        min_correlation = _SAME_LENGTH_OF_DATES if first in of_dates else _SAME_LENGTH
        # This fast check rules out most pairs of columns.
        if (first in of_dates) != (second in of_dates) or squared_correlations[i, j] < (
            min_correlation - _ROUNDED
        ) ** 2:
            continue
        a, b = numbers_of[first], numbers_of[second]
        if _is_length(
            b[sample] - a[sample], w[sample], min_correlation, (a[sample], b[sample])
        ) and _is_length(b - a, w, min_correlation, (a, b)):
            bounds |= {first, second}
    return tuple(name for name in numbers_of if name in bounds)


def _squared_links(columns: np.ndarray) -> np.ndarray:
    """Return the squared correlations (p, p) of the first column with the difference of any two others.

    `columns` has the shape (n, 1 + p). The result is NaN or infinite if a cell is missing or a difference is
    constant.
    """
    is_finite = np.where(np.isfinite(columns), columns, np.nan)
    # All columns are divided by the same number, so that squares don't overflow. The correlations stay the
    # same.
    is_finite /= max(float(np.nanmax(np.abs(is_finite))), 1.0)
    centred = is_finite - is_finite.mean(axis=0)
    products = centred.T @ centred
    size, with_first = np.diag(products)[1:], products[0, 1:]
    squared_sizes = (size[:, None] + size - 2 * products[1:, 1:]) * products[0, 0]
    squares = (with_first[:, None] - with_first) ** 2
    return np.divide(
        squares, squared_sizes, out=np.full_like(squared_sizes, np.inf), where=~(squared_sizes <= 0)
    )


def _is_length(length: np.ndarray, w: np.ndarray, edge: float, ends: tuple[np.ndarray, np.ndarray]) -> bool:
    is_finite = np.isfinite(length) & np.isfinite(w)
    if is_finite.sum() < _MIN_BOUNDED or np.ptp(w[is_finite]) == 0 or np.ptp(length[is_finite]) == 0:
        return False

    def correlation(values: np.ndarray) -> float:
        return absolute_correlation(values[is_finite], w[is_finite])

    # If one column alone correlates this strongly with the exposure, the two columns are not start and end.
    return correlation(length) > edge and max(map(correlation, ends)) < edge
