"""Conversion of pandas, polars and Arrow tables to the column types that the file readers return."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from fairdash.errors import DataError
from fairdash.tables.codes import ROW_NAMES, doubts_about, numbers_rows
from fairdash.tables.column_profile import as_floats
from fairdash.tables.columns import as_pandas
from fairdash.tables.fixes import holds_bands, rank_of_bands
from fairdash.tables.grammar import band_ends, bands_in_order, to_numbers
from fairdash.tables.readers.table import FIRST_INEXACT
from fairdash.utils.classes import MAX_CLASSES
from fairdash.utils.text import counted, few

_INTERVAL = re.compile(
    r"(?P<from>[\[(])\s*(?P<low>-?(?:[0-9.]+(?:e[+-]?[0-9]+)?|inf))\s*,"
    r"\s*(?P<high>[+-]?(?:[0-9.]+(?:e[+-]?[0-9]+)?|inf))\s*(?P<to>[\])])",
    re.IGNORECASE,
)


def plain_frame(
    table: Any, *, keep: Collection[str] = (), sensitive: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return a pandas frame, whose columns contain numbers, text, dates or truth values, and a list of notes.

    Parameters
    ----------
    table
        Table of pandas, polars or Arrow.
    keep
        Columns that have a role. They are never left out.
    sensitive
        Columns of `keep` in which bands, such as 18-24, become ordered classes.
    """
    frame = as_pandas(_with_signed_codes(table))
    if not all(isinstance(name, str) for name in frame.columns):
        names = [str(name) for name in frame.columns]
        frame = frame.set_axis(names, axis=1) if len(set(names)) == len(names) else frame
    if not frame.columns.is_unique:
        # A later check raises an error that names the duplicate columns.
        return frame, []
    notes: list[str] = []
    converted: dict[str, pd.Series] = {}
    columns_by_reason: dict[str, list[str]] = {}
    for name in frame.columns:
        values = frame[name]
        values_as_read = _plain(values)
        if name in sensitive and (bands := in_order(values_as_read)) is not None:
            values_as_read, note = bands
            notes.append(note)
        elif name not in keep and (reason := _why_not_usable(values_as_read)):
            columns_by_reason.setdefault(reason, []).append(name)
        if values_as_read is not values:
            converted[name] = values_as_read
        elif values_as_read.name not in {name for part in columns_by_reason.values() for name in part}:
            notes += doubts_about(values_as_read)
    for reason, names in columns_by_reason.items():
        notes.append(f"{counted(len(names), 'column')} not used: {reason} ({few(names)}).")
    columns_left_out = [name for names in columns_by_reason.values() for name in names]
    frame = frame.assign(**converted) if converted else frame
    return frame.drop(columns=columns_left_out) if columns_left_out else frame, notes


def in_order(values: pd.Series) -> tuple[pd.Series, str] | None:
    """Return bands as numbers or ordered classes, with a note, or None for a column without bands.

    All cells become numbers if most of them are plain numbers and only the last band is open, such as 85+. If
    there are too many bands for classes, the bands become ranks.

    >>> ages = pd.Series(["45+", "18-24", "25-44"], name="age")
    >>> in_order(ages)[0].cat.categories.tolist()
    ['18-24', '25-44', '45+']
    """
    if getattr(values.dtype, "ordered", False) or not holds_bands(values):
        return None
    levels = values.dropna().unique().tolist()
    order = bands_in_order(levels)
    assert order is not None
    numbers = to_numbers(values)
    is_plain = pd.to_numeric(values.astype(object), errors="coerce").notna()
    if 2 * is_plain.sum() > values.notna().sum() and numbers.notna().eq(values.notna()).all():
        open_ends = int((values.notna() & ~is_plain).sum())
        return numbers, (
            f"“{values.name}” has numbers with an open end, such as 90+, in {counted(open_ends, 'row')}: "
            "fairdash uses the limit (90)."
        )
    if len(order) > MAX_CLASSES:
        return rank_of_bands(values)
    ordered = pd.Series(
        pd.Categorical(values, categories=list(order), ordered=True), index=values.index, name=values.name
    )
    return ordered, f"“{values.name}” contains bands. fairdash compares them as ordered classes."


def band_texts(names: pd.Series, low: pd.Series, high: pd.Series) -> pd.Series:
    """Return bands as strings (n,), given their ends. A string is missing if both ends are missing.

    A band includes its upper end, unless another band of the same column begins at this number.

    >>> low, high = pd.Series([18.0, 25.0, 60.0]), pd.Series([25.0, 59.0, None])
    >>> band_texts(pd.Series(["age"] * 3), low, high).tolist()
    ['[18,25)', '[25,59]', '[60,inf]']
    """
    low, high = (pd.to_numeric(bound, errors="coerce") for bound in (low, high))
    begins = set(zip(names, low, strict=True))
    texts = [
        f"[{-np.inf if pd.isna(a) else a:.12g},{np.inf if pd.isna(b) else b:.12g}"
        + (")" if a != b and (name, b) in begins else "]")
        for name, a, b in zip(names, low, high, strict=True)
    ]
    return pd.Series(texts, index=names.index, dtype=object).where(low.notna() | high.notna())


def in_intervals(values: pd.Series, levels: Collection[str]) -> pd.Series | None:
    """Replace each number by the name of its band. Return None if `levels` are not bands.

    As in R's `cut`, an end next to a square bracket belongs to the interval. A band such as 18-24 includes
    both ends, unless the next band begins at the upper end. A number outside all bands is kept as text, and a
    number in two bands raises a DataError.

    >>> in_intervals(pd.Series([18, 25, 26]), ["[18,25]", "(25,90]"]).tolist()
    ['[18,25]', '[18,25]', '(25,90]']
    >>> in_intervals(pd.Series([18, 25]), ["25-60", "18-25"]).tolist()
    ['18-25', '25-60']
    """
    if not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        return None
    cells = as_floats(values).to_numpy()
    by_row = values.astype(object)
    n_bands, n_bands_of_cell = 0, np.zeros(len(cells), dtype=int)
    begins = {limits[0] for level in levels if (limits := band_ends(str(level))) is not None and limits[2]}
    for level in levels:
        if (match := _INTERVAL.fullmatch(str(level))) is not None:
            low, high = (float(match[part]) for part in ("low", "high"))
            in_band = (cells >= low if match["from"] == "[" else cells > low) & (
                cells <= high if match["to"] == "]" else cells < high
            )
        elif (limits := band_ends(str(level))) is not None:
            is_open = limits[0] < limits[1] and limits[1] in begins
            in_band = (cells >= limits[0]) & (cells < limits[1] if is_open else cells <= limits[1])
        else:
            return None
        n_bands += match is not None or bool(limits and limits[2])
        by_row = by_row.mask(in_band, str(level))
        n_bands_of_cell += in_band
    if (n_bands_of_cell > 1).any():
        problem = f"Several bands contain {cells[n_bands_of_cell > 1][0]:g}"
        raise DataError.of(
            problem, "Change the ends of the bands, so that they don't overlap.", column=str(values.name)
        )
    return (
        by_row.map(lambda cell: cell if isinstance(cell, str) or pd.isna(cell) else f"{cell:g}")
        if n_bands
        else None
    )


def _why_not_usable(values: pd.Series) -> str:
    """Explain why fairdash does not use a column without a role. Return "" if it uses the column."""
    if ROW_NAMES.fullmatch(str(values.name)) and numbers_rows(values):
        return "they contain row numbers"
    present = values.dropna()
    if values.dtype == object and len(present) and not isinstance(present.iloc[0], (str, int, float, bool)):
        try:
            present.head(100).map(hash)
        except TypeError:
            return "their cells are lists or records"
    return ""


def _plain(values: pd.Series) -> pd.Series:
    """Convert numeric categories and decimals to numbers, and categories of intervals to ordered text."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        levels = values.cat.categories
        if pd.api.types.is_numeric_dtype(levels.dtype) and not pd.api.types.is_bool_dtype(levels.dtype):
            return _exact(values.astype(object) if pd.api.types.is_integer_dtype(levels.dtype) else values)
        if isinstance(levels.dtype, pd.IntervalDtype):
            texts = values.cat.rename_categories([str(level) for level in levels])
            return texts.cat.as_ordered()
        return values
    is_decimal = isinstance(values.dtype, pd.ArrowDtype) and "decimal" in str(values.dtype)
    if is_decimal or (
        values.dtype == object and pd.api.types.infer_dtype(values, skipna=True) in ("decimal", "integer")
    ):
        return _exact(values.astype(object))
    return values


def _exact(values: pd.Series) -> pd.Series:
    """Convert numbers to floats, or objects to text if a float would alter them, as a policy's number."""
    floats = as_floats(values)
    inexact = values.dtype == object and (floats.abs() >= FIRST_INEXACT) & np.isfinite(floats)
    return values.map(str, na_action="ignore") if np.any(inexact) else floats


def _with_signed_codes(table: Any) -> Any:
    """Replace the categories of an Arrow table by their values, because pandas rejects unsigned codes."""
    if not type(table).__module__.startswith("pyarrow"):
        return table
    import pyarrow as pa

    schema = [
        (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(schema))
