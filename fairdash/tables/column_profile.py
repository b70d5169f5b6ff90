"""Profiles of columns for the preview, and notes on the target before training.

>>> target_remarks(pd.Series([0.0] * 880 + [100.0] * 120, name="cost"))
('“cost” is zero in 88 % of the rows: a squared error depends mostly on the few other rows.',)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

_STEPS = 12

Kind = Literal["number", "whole number", "truth value", "text", "date", "other"]


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """Profile of a column.

    Parameters
    ----------
    name
        Name of the column.
    kind
        Type of the column's cells, in plain words.
    n_missing, n_distinct
        Number of missing cells, and number of distinct values among the known cells (0 for the kind "other").
    minimum, mean, maximum
        Statistics of the known cells for numbers and truth values; None for other kinds. If there is an
        exposure, the mean is weighted by the exposure, unless the cells are totals over the exposure period.
    histogram
        Numbers of rows in twelve equal intervals between minimum and maximum. For text, numbers of rows with
        the twelve most frequent levels. Empty for other kinds.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    minimum: float | None = None
    mean: float | None = None
    maximum: float | None = None
    histogram: tuple[int, ...] = ()


#: Kinds of columns with numeric cells.
NUMBERS = ("number", "whole number", "truth value")


def as_floats(values: pd.Series) -> pd.Series:
    """Return numbers or truth values of any type as float64, with NaN for missing cells."""
    return pd.Series(values.to_numpy(dtype=float, na_value=np.nan), index=values.index, name=values.name)


def kind_of(values: pd.Series) -> Kind:
    """Return the kind of a column's cells."""
    if pd.api.types.is_bool_dtype(values):
        return "truth value"
    if pd.api.types.is_integer_dtype(values):
        return "whole number"
    if pd.api.types.is_float_dtype(values):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(values):
        return "date"
    if isinstance(values.dtype, pd.CategoricalDtype):
        return "text"
    if values.dtype == object:
        # Before pandas 3, columns of text and columns of mixed types both have the type object.
        return "text" if pd.api.types.infer_dtype(values, skipna=True) == "string" else "other"
    return "text" if pd.api.types.is_string_dtype(values) else "other"


def profile_table(
    frame: pd.DataFrame, *, weight: pd.Series | None = None, totals: Collection[str] = ()
) -> tuple[ColumnProfile, ...]:
    """Return a profile of each column of a table, in order.

    Parameters
    ----------
    frame
        The table, shape (n, columns).
    weight : Series, shape (n,), optional
        Exposure of each row, above 0. All means are weighted by the exposure, except the mean exposure and
        the means of totals.
    totals
        Columns whose cells are totals over the exposure period, such as claims. Their means are unweighted,
        because a weighted mean would count the exposure twice.
    """
    unweighted = set(totals) if weight is None else {*totals, weight.name}
    return tuple(
        _profile(frame[name], None if weight is None or name in unweighted else weight.to_numpy(dtype=float))
        for name in frame.columns
    )


def _profile(values: pd.Series, weight: np.ndarray | None) -> ColumnProfile:
    kind = kind_of(values)
    present = values.dropna()
    # Cells of other types, such as lists, may not be comparable.
    n_distinct = int(present.nunique()) if kind != "other" else 0
    histogram = present.value_counts().head(_STEPS).tolist() if kind == "text" else []
    minimum = mean = maximum = None
    if kind in NUMBERS and len(present):
        numbers = present.to_numpy(dtype=float)
        # If the numbers are near the largest float, their sum overflows, and the mean is infinite.
        with np.errstate(over="ignore"):
            mean = float(np.average(numbers, weights=None if weight is None else weight[values.notna()]))
        finite = numbers[np.isfinite(numbers)]
        # numpy can't divide the range into intervals if the numbers are near the largest float.
        if len(finite) and np.abs(finite).max() < 1e300:
            histogram = np.histogram(finite, bins=_STEPS)[0].tolist()
        minimum, maximum = float(numbers.min()), float(numbers.max())
    return ColumnProfile(
        name=str(values.name),
        kind=kind,
        n_missing=len(values) - len(present),
        n_distinct=n_distinct,
        minimum=minimum,
        mean=mean,
        maximum=maximum,
        histogram=tuple(histogram),
    )


#: Number of quantile groups in FairQuant.
N_GROUPS = 50
_MANY_ZEROS = 0.5
#: A tail is heavy if the 1 % of rows farthest from the median make up at least this share of the sum of all
#: distances from the median. For normally or exponentially distributed costs, this share is less than a
#: twelfth.
_FREQUENT_SHARE = 0.15
#: Minimum number of rows beyond a quantile that a remark states. With fewer rows, the remark could reveal the
#: value of a single person.
_MIN_BEYOND = 20


def target_remarks(target: pd.Series) -> tuple[str, ...]:
    """Return warnings about many zeros or a heavy tail in the target, which fairdash does not change.

    Parameters
    ----------
    target : Series, shape (n,)
        float64, finite.
    """
    cells = target.to_numpy(dtype=float)
    notes = []
    zeros = float(np.mean(cells == 0))
    if zeros >= _MANY_ZEROS:
        notes.append(
            f"“{target.name}” is zero in {100 * zeros:.0f} % of the rows: "
            "a squared error depends mostly on the few other rows."
        )
    distances = np.sort(np.abs(cells - np.median(cells)))[::-1]
    n_largest = max(len(cells) // 100, 1)
    share = float(distances[:n_largest].sum() / distances.sum()) if distances.sum() > 0 else 0.0
    if len(cells) >= 100 and share >= _FREQUENT_SHARE:
        limit = f" (beyond {np.quantile(cells, 0.99):.3g})" if n_largest >= _MIN_BEYOND else ""
        notes.append(
            f"“{target.name}” has a heavy tail: the 1 % of rows farthest from the median{limit} make up "
            f"{100 * share:.0f} % of all distances from it. These values are used unchanged, never clipped."
        )
    return tuple(notes)


def quantile_support(values: pd.Series) -> int:
    """Count the distinct groups among `N_GROUPS` quantile groups. Equal values are in the same group.

    Parameters
    ----------
    values : Series, shape (n,)
        A sensitive column: float64, finite.
    """
    share = (values.rank().to_numpy() - 0.5) / len(values)
    # The added 1e-9 offsets rounding errors, which may make a product slightly smaller than a whole number.
    return len(np.unique(np.floor(share * min(N_GROUPS, len(values)) + 1e-9)))


def support_sentence(values: pd.Series) -> str:
    """Return a sentence on the number of distinct quantile groups of a sensitive column."""
    counts = values.value_counts()
    if len(counts) == len(values):
        ties = "no two rows are tied"
    else:
        ties = f"the most common is in {100 * counts.max() / len(values):.2g} % of the rows"
    return (
        f"{len(counts):,} different values; {ties}. {quantile_support(values)} of {N_GROUPS} quantile "
        "groups are distinct."
    )
