"""Reader of Parquet files. It first checks the counts in the footer, and leaves out nested columns."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairdash.errors import ReadingError
from fairdash.tables.readers import limits
from fairdash.tables.readers.limits import check_memory, check_shape, too_large
from fairdash.tables.readers.report import PARQUET, ReadingOptions, ReadingReport
from fairdash.tables.readers.table import TableBuilder, named, no_rows
from fairdash.tables.readers.texts import as_text
from fairdash.utils.memory import is_out_of_memory

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

#: Maximum size in bytes of the decoded columns, which is that of 50 million cells of 16 bytes.
MAX_BYTES = 800 * 10**6
#: Start of the column names that pandas uses for row numbers.
_ROW_NUMBERS = "__index_level_"


def read_parquet(
    content: bytes, options: ReadingOptions, columns: Collection[str] | None = None
) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a Parquet file after a check of the counts in its footer.

    A cell is missing if the file has no value for it, or if it equals a string that the user has listed as
    missing.

    Raises
    ------
    ReadingError
        The file is incomplete, damaged or too large, has no rows, or has several columns with one name.
    """
    import pyarrow as pa

    try:
        table, schema, n_rows = _parquet(content, options, columns)
        if table is not None and table.num_rows != n_rows:
            raise ValueError("the footer has the wrong number of rows")
    except ReadingError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        # A MemoryError is raised again, because it does not mean that the file is damaged.
        if is_out_of_memory(error):
            raise
        raise ReadingError.of(
            "this Parquet file is incomplete or damaged",
            "The download may be incomplete: fetch or write the file again.",
        ) from error
    return _finished(table, schema, n_rows, options)


def _parquet(
    content: bytes, options: ReadingOptions, columns: Collection[str] | None
) -> tuple[pa.Table | None, pa.Schema, int]:
    """Return the table of readable columns, if any, the schema of all columns, and the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(content))
    footer, schema = file.metadata, file.schema_arrow
    column_indices = [k for k, name in enumerate(schema.names) if columns is None or name in columns]
    schema = pa.schema([schema.field(k) for k in column_indices])
    check_shape(footer.num_rows, len(schema), most=limits.MAX_PARQUET_CELLS)
    check_memory(footer.num_rows, len(schema))
    size = _unpacked_size(footer, columns)
    if size > MAX_BYTES:
        raise too_large(f"the unpacked table has {size / 1e6:,.0f} MB")
    named(schema.names, number=options.number_names)
    plain_columns = _plain(schema)
    if not plain_columns:
        return None, schema, footer.num_rows
    # Strings stay dictionary-encoded, so that a long string that occurs in many rows is stored only once.
    coded = [schema.names[k] for k in plain_columns if pa.types.is_string(schema.field(k).type)]
    file = pq.ParquetFile(io.BytesIO(content), read_dictionary=coded)
    # pyarrow selects columns by name, which changes their order if names are repeated. In this case, all
    # columns are read, and the flat columns are selected afterwards.
    if len(set(schema.names)) < len(schema.names):
        table = file.read(use_threads=False).select([column_indices[k] for k in plain_columns])
    else:
        table = file.read(columns=[schema.names[k] for k in plain_columns], use_threads=False)
        if table.num_columns != len(plain_columns):
            raise ValueError("columns are missing")
    # The validation finds text that is not valid UTF-8, and codes without a level.
    table.validate(full=True)
    return table, schema, footer.num_rows


def _unpacked_size(footer: pq.FileMetaData, columns: Collection[str] | None) -> int:
    """Return the unpacked size of some or all columns in bytes, as stated in the footer."""
    groups = [footer.row_group(k) for k in range(footer.num_row_groups)]
    if columns is None:
        return sum(group.total_byte_size for group in groups)
    parts = (group.column(j) for group in groups for j in range(group.num_columns))
    return sum(part.total_uncompressed_size for part in parts if part.path_in_schema in columns)


def _plain(schema: pa.Schema) -> list[int]:
    return [index for index, field in enumerate(schema) if readable(field.type)]


def readable(kind: pa.DataType) -> bool:
    """Return whether cells of a type are numbers, text, dates or truth values."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return readable(kind.value_type)
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
        or types.is_null(kind)
    )


def _finished(
    cells: pa.Table | None, schema: pa.Schema, n_rows: int, options: ReadingOptions
) -> tuple[pd.DataFrame, ReadingReport]:
    if cells is None:
        raise ReadingError.of(
            "no column of the file holds numbers, text, dates or truth values",
            "Write each field of its records or lists as a separate column.",
        )
    if n_rows == 0:
        raise no_rows()
    indices = [k for k, name in enumerate(cells.column_names) if not name.startswith(_ROW_NUMBERS)]
    table = TableBuilder([cells.column_names[k] for k in indices], np.arange(1, n_rows + 1), options)
    nested = [name for name, kind in zip(schema.names, schema.types, strict=True) if not readable(kind)]
    table.leave_out(nested, "their cells are neither numbers nor text, but for example lists or records")
    if len(indices) < cells.num_columns:
        table.notes.append("The row numbers that pandas stored in the file are left out.")
    for name, k in zip(table.names, indices, strict=True):
        add_arrow(table, name, cells.column(k))
    table.count_missing()
    return table.finish(PARQUET)


def add_arrow(table: TableBuilder, name: str, cells: pa.ChunkedArray) -> None:
    """Add a column of a readable type."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(cells.type):
        inner = cells.type.value_type
        if types.is_string(inner) or types.is_large_string(inner):
            table.add(name, _text(name, cells, table.marks))
            return
        cells = pc.cast(cells, inner)
    if types.is_decimal(cells.type) and cells.type.scale == 0:
        # Oracle and Snowflake write whole numbers, also identifiers of 38 digits, as decimals without digits.
        try:
            cells = pc.cast(cells, pa.int64())
        except pa.ArrowInvalid:
            table.add_whole_numbers(name, cells.to_pandas())
            return
    kind = cells.type
    if types.is_null(kind):
        table.add_empty(name)
    elif types.is_boolean(kind):
        table.add_truth_values(name, cells.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get))
    elif types.is_integer(kind):
        has_no_nulls = cells.null_count == 0
        table.add_whole_numbers(
            name,
            pd.Series(cells.to_numpy())
            if has_no_nulls
            else cells.to_pandas(types_mapper=_integer_types().get),
        )
    elif types.is_floating(kind) or types.is_decimal(kind):
        note = f"“{name}” holds decimal numbers, which are rounded to the 16 digits of a float."
        numbers = pc.cast(cells, pa.float64(), safe=False).to_numpy()
        table.add(name, np.array(numbers, dtype=float), *([note] if types.is_decimal(kind) else []))
    elif types.is_date(kind) or types.is_timestamp(kind):
        _add_dates(table, name, cells)
    else:
        table.add(name, _text(name, pc.cast(cells, pa.string()), table.marks))


def _add_dates(table: TableBuilder, name: str, cells: pa.ChunkedArray) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    zone = getattr(cells.type, "tz", None)
    if zone is not None:
        # The cast converts a time to UTC.
        cells = pc.cast(cells, pa.timestamp(cells.type.unit))
    # Microseconds can represent all years since -290,000, and dates need no finer unit.
    days = pc.cast(cells, pa.timestamp("us"), safe=False).to_numpy().astype("datetime64[us]")
    table.add(
        name, days, *([] if zone is None else [f"“{name}” is converted to coordinated universal time (UTC)."])
    )


def _text(name: str, cells: pa.ChunkedArray, marks: Sequence[str]) -> pd.Series:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(cells.type):
        cells = pc.dictionary_encode(cells)
    coded = cells.unify_dictionaries().combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    levels = coded.dictionary.to_pandas().astype(object).tolist()
    marks_given = set(marks)
    levels = [None if level is None or level.strip() in marks_given else level for level in levels]
    # The codes that polars writes are unsigned, so they are cast before a missing cell becomes -1.
    codes = pc.cast(coded.indices, pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    lengths = np.array([*(len(level or "") for level in levels), 0])
    if lengths[codes].sum() > MAX_BYTES:
        raise too_large(
            f"the texts of column “{name}” have more than {MAX_BYTES // 10**6:,} million characters"
        )
    texts = np.array([*levels, None], dtype=object)[codes]
    return as_text(pd.Series(texts))


def _integer_types() -> dict[pa.DataType, object]:
    import pyarrow as pa

    return {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
    }
