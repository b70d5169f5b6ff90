"""Checks of types, shapes, counts, names and limits in files from other sources.

The readers support JSON, Parquet and safetensors. Where possible, declared sizes are checked before the
content is loaded. Every fault raises :class:`SchemaError`.

>>> read_json(b'{"n": 1e999}', most_bytes=100)
Traceback (most recent call last):
fairdash.storage.schema.SchemaError: a number is not finite
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairdash.utils.records import MAX_WHOLE

#: Maximum depth of nested lists and objects, number of entries of a list or object, and length of a string.
MAX_DEPTH, MAX_ENTRIES, MAX_CHARACTERS = 20, 20_000, 20_000
#: A table has at most `MAX_COLUMNS` columns. The absolute value of a number is at most `MAX_NUMBER`, so that
#: its square is finite.
MAX_COLUMNS, MAX_NUMBER = 5_000, 1e100

TEXT, NUMBER, WHOLE, FLAG = "text", "number", "whole number", "yes or no"
#: Kind of a JSON column that contains strings in some files and numbers in others.
SCALAR = "text or number"


class SchemaError(ValueError):
    """Error for a file that does not match its declaration. The message names the place."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """Requirements of a table's column.

    Parameters
    ----------
    kind
        TEXT, NUMBER, WHOLE or FLAG.
    among
        Allowed values, or None for all values of this kind.
    low, high
        Smallest and largest allowed number.
    may_lack
        True if a number may be missing (NaN).
    is_needed
        True if the column is required.
    """

    kind: str = NUMBER
    among: Collection[Any] | None = None
    low: float = -MAX_NUMBER
    high: float = MAX_NUMBER
    may_lack: bool = False
    is_needed: bool = True


@dataclass(frozen=True, kw_only=True)
class Array:
    """Requirements of an array.

    Parameters
    ----------
    dtype
        Name of the numpy type.
    shape
        Number of entries along each axis, or None for any number.
    low, high, may_lack, is_needed
        As in :class:`Column`.
    """

    dtype: str
    shape: tuple[int | None, ...]
    low: float = -MAX_NUMBER
    high: float = MAX_NUMBER
    may_lack: bool = False
    is_needed: bool = True


def require(holds: object, message: str) -> None:
    """Raise a SchemaError that states `message`, unless the condition `holds`."""
    if not holds:
        raise SchemaError(message)


def read_json(
    content: bytes, *, most_bytes: int, may_lack: bool = False, most_entries: int = MAX_ENTRIES
) -> Any:
    """Read a JSON file, limited to the sizes and depths that fairdash writes.

    Parameters
    ----------
    may_lack
        True if a number may be missing (NaN).
    most_entries
        Largest number of entries of a list or an object.
    """
    require(len(content) <= most_bytes, f"it has more than {most_bytes:,} bytes")
    try:
        # json.loads is recursive, so deeply nested lists raise RecursionError.
        value = json.loads(content, parse_constant=float)
    except (ValueError, RecursionError) as error:
        raise SchemaError("it is not JSON") from error
    _check_plain(value, depth=0, may_lack=may_lack, most_entries=most_entries)
    return value


def _check_plain(value: Any, *, depth: int, **limits: Any) -> None:
    require(depth <= MAX_DEPTH, "it is nested too deeply")
    if isinstance(value, str):
        require(len(value) <= MAX_CHARACTERS, "a text is too long")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise SchemaError("a text has characters that can't be written") from error
    elif isinstance(value, float):
        is_missing = limits["may_lack"] and math.isnan(value)
        require(is_missing or math.isfinite(value), "a number is not finite")
        require(is_missing or abs(value) <= MAX_NUMBER, "a number is too large")
    elif isinstance(value, int):
        require(abs(value) <= MAX_WHOLE, "a number is too large")
    elif isinstance(value, (list, dict)):
        require(len(value) <= limits["most_entries"], "it has too many entries")
        for name in value if isinstance(value, dict) else ():
            _check_plain(name, depth=depth + 1, **limits)
        for item in value.values() if isinstance(value, dict) else value:
            _check_plain(item, depth=depth + 1, **limits)


#: Map of kinds of columns to the types of their cells in JSON.
_TYPES = {TEXT: (str,), NUMBER: (int, float), WHOLE: (int,), FLAG: (bool,), SCALAR: (str, int, float)}


def read_records(rows: Any, columns: Mapping[str, Column]) -> pd.DataFrame:
    """Read a table from its JSON records. `columns` has the same meaning as in :func:`read_table`."""
    require(isinstance(rows, list) and all(isinstance(row, dict) for row in rows), "it has no list of rows")
    needed_columns = [name for name, column in columns.items() if column.is_needed]
    names = list(rows[0]) if rows else needed_columns
    require(set(needed_columns) <= set(names) <= columns.keys(), "a table has other columns")
    require(all(list(row) == names for row in rows), "a row has other columns than the first")
    frame = pd.DataFrame({name: [row[name] for row in rows] for name in names})
    for name in names:
        column = columns[name]
        types = (*_TYPES[column.kind], *((type(None),) if column.may_lack else ()))
        require(all(type(row[name]) in types for row in rows), f"{name} is not of type {column.kind}")
        if column.kind == NUMBER and frame[name].isna().all():
            frame[name] = frame[name].astype(float)
        if column.kind != SCALAR and rows:
            _check_cells(name, frame[name], column)
    return frame


def read_table(content: bytes, columns: Mapping[str, Column], *, most_rows: int) -> pd.DataFrame:
    """Read the table of a Parquet file. Metadata of pandas is ignored, because it could change the table.

    Parameters
    ----------
    columns
        Map of names to requirements. Other columns raise an error.
    most_rows
        Largest number of rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(io.BytesIO(content)) as file:
            names = file.schema_arrow.names
            # Sizes and types are checked before any column is decompressed.
            require(file.metadata.num_rows <= most_rows, f"it has more than {most_rows:,} rows")
            require(len(names) <= MAX_COLUMNS, "it has too many columns")
            require(len(set(names)) == len(names), "a column appears twice in it")
            require(columns.keys() >= set(names), "it has an unknown column")
            present = {name: columns[name] for name in names}
            lacking = [name for name, column in columns.items() if column.is_needed and name not in present]
            require(not lacking, f"it lacks the column {', '.join(lacking)}")
            for name, column in present.items():
                kind = file.schema_arrow.field(name).type
                require(_is_of(kind, column.kind), f"{name} is not of type {column.kind}")
            texts = [name for name, column in present.items() if column.kind == TEXT]
        # If strings are read as dictionaries, a long string that is repeated in every row is in memory only
        # once.
        with pq.ParquetFile(io.BytesIO(content), read_dictionary=texts) as file:
            table = file.read()
        require(table.num_rows <= most_rows, f"it has more than {most_rows:,} rows")
        for name in texts:
            require(table[name].null_count == 0, f"a cell of {name} is empty")
            for chunk in table[name].chunks:
                lengths = pa.compute.utf8_length(chunk.dictionary) if len(chunk.dictionary) else pa.array([0])
                require(pa.compute.max(lengths).as_py() <= MAX_CHARACTERS, f"a text of {name} is too long")
        frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    except SchemaError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise SchemaError("it is not such a Parquet file") from error
    for name, column in present.items():
        _check_cells(name, frame[name], column)
    return frame.astype(dict.fromkeys(texts, object))


def _is_of(kind: Any, declared: str) -> bool:
    from pyarrow import types

    if declared == TEXT:
        return bool(types.is_string(kind) or types.is_large_string(kind))
    if declared == FLAG:
        return bool(types.is_boolean(kind))
    return bool(types.is_int64(kind) or (declared == NUMBER and types.is_float64(kind)))


def _check_cells(name: str, cells: pd.Series, column: Column) -> None:
    if column.kind in (TEXT, FLAG):
        # pandas reads a column of truth values with an empty cell as objects.
        require(column.kind == TEXT or cells.dtype == bool, f"a cell of {name} is empty")
        if column.among is not None:
            require(set(cells.unique()) <= set(column.among), f"{name} has an unknown value")
        return
    values = cells.to_numpy(dtype=float)
    _check_numbers(name, values, column)
    require(column.kind != WHOLE or cells.dtype == np.int64, f"a cell of {name} is empty")
    if column.among is not None:
        require(np.isin(values, list(column.among)).all(), f"{name} has an unknown value")


def _check_numbers(name: str, values: Any, declared: Column | Array) -> None:
    is_missing = np.isnan(values)
    require(declared.may_lack or not is_missing.any(), f"a number of {name} is missing")
    is_within = (values >= declared.low) & (values <= declared.high)
    require((is_within | is_missing).all(), f"a number of {name} is out of its range")


def read_arrays(content: bytes, declared: Mapping[str, Array]) -> dict[str, Any]:
    """Read the arrays of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: dict[str, Any] = load(content)
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise SchemaError("it is not such a safetensors file") from error
    require(arrays.keys() <= declared.keys(), "it has an unknown array")
    for name, declaration in declared.items():
        if name not in arrays:
            require(not declaration.is_needed, f"it lacks the array {name}")
            continue
        array = arrays[name]
        require(str(array.dtype) == declaration.dtype, f"{name} is not of the type {declaration.dtype}")
        fits = len(array.shape) == len(declaration.shape) and all(
            expected in (None, actual)
            for expected, actual in zip(declaration.shape, array.shape, strict=True)
        )
        require(fits, f"{name} has another shape")
        _check_numbers(name, array.astype(float) if array.dtype.kind in "iu" else array, declaration)
    return arrays
