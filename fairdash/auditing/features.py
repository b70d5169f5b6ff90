"""What a price may be made of: the columns of a table without another role, as numbers that trees can cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from fairdash.auditing.columns import Columns

Array = NDArray[np.float64]

#: Rows that a level counts the mean of all rows for, when levels are put in order of their means.
_SHRINK = 20
#: A text with more levels than this, and than a tenth of its rows, names rows and describes none.
_MOST_LEVELS = 50
MISSING = "missing"


def feature_names(frame: pd.DataFrame, columns: Columns) -> tuple[str, ...]:
    """The features that were named, or every column that has no other role and says something."""
    if columns.features is not None:
        return columns.features
    taken = {*columns.numbers().values(), columns.groups}
    return tuple(str(name) for name in frame if name not in taken and _says_something(frame[name]))


def _says_something(column: pd.Series) -> bool:
    levels = column.nunique(dropna=False)
    if levels < 2 or is_datetime64_any_dtype(column):
        return False
    return is_numeric_dtype(column) or levels <= max(_MOST_LEVELS, len(column) // 10)


def as_feature(column: pd.Series) -> pd.Series:
    """Numbers as floats, missing where they are; all else as text, missing a level of its own."""
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        return pd.Series(np.where(np.isinf(values), np.nan, values), index=column.index)
    return column.astype(object).where(column.notna(), MISSING).astype(str)


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoder:
    """Features as numbers: a text's level by the mean of what is learned among its rows, drawn to the mean.

    That order is the one in which trees cut levels best (Fisher 1958); a level never seen counts as the mean.
    """

    means: dict[str, pd.Series]
    overall: float

    @classmethod
    def of(cls, features: pd.DataFrame, y: Array, weight: Array) -> Encoder:
        """Learn the levels' means of y (n,); weighted, so that a row counts as often as its weight says."""
        overall = float(weight @ y / weight.sum())
        drawn = _SHRINK * float(weight.mean())
        means = {}
        for name in features:
            if is_numeric_dtype(features[name]):
                continue
            held = pd.DataFrame({"w": weight, "wy": weight * y}).groupby(features[name].to_numpy()).sum()
            means[str(name)] = (held["wy"] + drawn * overall) / (held["w"] + drawn)
        return cls(means=means, overall=overall)

    def encode(self, features: pd.DataFrame, *more: Array) -> Array:
        """The features, and more columns after them, as an (n, k) array."""
        made = [
            features[name].map(self.means[name]).fillna(self.overall).to_numpy(dtype=float)
            if name in self.means
            else features[name].to_numpy()
            for name in map(str, features)
        ]
        return np.column_stack([*made, *more])


def used_in_words(names: Sequence[str], *, named: bool) -> str:
    """Which columns were taken for features, as a sentence."""
    listed = ", ".join(f"“{name}”" for name in names)
    how = "the columns that you named" if named else "every column that has no other role"
    return f"Features that models of the price and of cost were learned from, {how}: {listed}."
