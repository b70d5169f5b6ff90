"""Levels of categories as text: a table of relativities holds text, and so does a file of it.

>>> level_text(3), level_text(3.0), level_text("3"), level_text(True)
('3', '3', '3', 'True')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def level_text(cell: Any) -> str:
    """A level as text; 3, 3.0 and "3" are one level."""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def positions(column: pd.Series, levels: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Place of each cell among the `levels`, −1 for none, and whether the cell is missing; (n,) each."""
    codes, found = pd.factorize(column, use_na_sentinel=True)
    known = {level: place for place, level in enumerate(levels)}
    # The last one is for −1, a missing cell.
    places = np.array([*(known.get(level_text(cell), -1) for cell in found), -1], dtype=np.int64)
    return places[codes], codes < 0


def levels_of(column: pd.Series) -> tuple[str, ...]:
    """The levels that a column's cells have, in the order of its categories, or ascending."""
    there = column.dropna()
    if isinstance(column.dtype, pd.CategoricalDtype):
        ordered = there.cat.remove_unused_categories().cat.categories
    else:
        ordered = pd.Index(there.unique()).sort_values()
    return tuple(dict.fromkeys(level_text(cell) for cell in ordered))
