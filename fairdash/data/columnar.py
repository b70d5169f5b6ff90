"""Parquet and Feather files: the footer's counts first, then the columns, nested ones left out by name."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairdash.data.cells import ColumnFound
from fairdash.data.headers import named
from fairdash.data.typed import (
    TypedTable,
    as_text,
    excluded,
    no_rows,
    too_large,
    truth_values,
    whole_numbers,
)
from fairdash.errors import Problem, ReadingError

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET, FEATHER = b"PAR1", b"ARROW1"
#: Bytes that the decoded columns may take: 50 million cells of 16 bytes.
MOST_BYTES = 800 * 10**6
#: pandas writes the numbers of the rows under such names.
_ROW_NUMBERS = "__index_level_"


def read_parquet(
    content: bytes,
    *,
    most_cells: int,
    most_columns: int,
    missing_values: Sequence[str] | None = None,
    number_names: bool = False,
) -> TypedTable:
    """Read a Parquet file.

    Parameters
    ----------
    content
        The whole file.
    most_cells, most_columns
        Limits, held against the footer before a column is read.
    missing_values
        Texts that count as missing, besides the missing cells the file has; none by default, as the file
        says itself what is missing.
    number_names
        See :func:`~fairdash.data.headers.named`.

    Raises
    ------
    ReadingError
        The file is incomplete or damaged, too large, has no rows, or has a name over several columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(content))
        footer = file.metadata
        _check(footer.num_rows, len(file.schema_arrow), most_cells, most_columns)
        size = sum(footer.row_group(k).total_byte_size for k in range(footer.num_row_groups))
        if size > MOST_BYTES:
            raise too_large(f"the table has {size / 1e6:,.0f} MB when it is unpacked")
        named(file.schema_arrow.names, number=number_names)
        plain = [place for place, one in enumerate(file.schema_arrow) if _readable(one.type)]
        # Texts stay coded, so that a long text that stands in each row is held once.
        coded = [
            file.schema_arrow.names[k] for k in plain if pa.types.is_string(file.schema_arrow.field(k).type)
        ]
        file = pq.ParquetFile(io.BytesIO(content), read_dictionary=coded)
        names = [file.schema_arrow.names[k] for k in plain]
        # Flat columns are named by their path alone; a dot in a name would else mean a nested one.
        # By a name that repeats they would come in another order: then all are read, and the plain ones kept.
        if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
            table = file.read(use_threads=False).select(plain) if plain else None
        else:
            table = file.read(columns=names, use_threads=False) if plain else None
        if table is not None:
            # Text that is no UTF-8, and codes that point at nothing.
            table.validate(full=True)
    except ReadingError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _damaged("Parquet") from error
    if table is not None and (table.num_rows != footer.num_rows or table.num_columns != len(plain)):
        raise _damaged("Parquet")
    return _typed(table, file.schema_arrow, footer.num_rows, missing_values, number_names)


def read_feather(
    content: bytes,
    *,
    most_cells: int,
    most_columns: int,
    missing_values: Sequence[str] | None = None,
    number_names: bool = False,
) -> TypedTable:
    """Read a Feather (Arrow) file; as :func:`read_parquet`."""
    import pyarrow as pa

    try:
        file = pa.ipc.open_file(pa.BufferReader(content))
        schema = file.schema
        if len(schema) > most_columns:
            raise too_large(f"the table has {len(schema):,} columns, more than {most_columns:,}")
        named(schema.names, number=number_names)
        batches, rows, size = [], 0, 0
        for k in range(file.num_record_batches):
            batch = file.get_batch(k)
            # Arrow trusts the places that a file of this kind names; a wrong one would crash the process.
            batch.validate(full=True)
            rows += batch.num_rows
            size += batch.nbytes
            _check(rows, len(schema), most_cells, most_columns)
            if size > MOST_BYTES:
                raise too_large(f"the table has over {MOST_BYTES // 10**6:,} MB when it is unpacked")
            batches.append(batch)
        plain = [place for place, one in enumerate(schema) if _readable(one.type)]
        table = pa.Table.from_batches(batches, schema=schema).select(plain) if plain else None
    except ReadingError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _damaged("Feather") from error
    return _typed(table, schema, rows, missing_values, number_names)


def _check(rows: int, columns: int, most_cells: int, most_columns: int) -> None:
    if columns > most_columns:
        raise too_large(f"the table has {columns:,} columns, more than {most_columns:,}")
    if rows < 0 or rows * columns > most_cells:
        raise too_large(f"the table has {rows * columns:,} cells, more than {most_cells:,}")


def _damaged(what: str) -> ReadingError:
    return ReadingError(
        Problem(
            what=f"this {what} file is incomplete or damaged",
            mend="The file may have been cut off on its way: fetch or write it again.",
        )
    )


def _readable(kind: pa.DataType) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _readable(kind.value_type)
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


def _typed(
    table: pa.Table | None,
    schema: pa.Schema,
    n_rows: int,
    missing_values: Sequence[str] | None,
    number_names: bool,
) -> TypedTable:
    if table is None:
        raise ReadingError(
            Problem(
                what="no column of the file holds numbers, text, dates or truth values",
                mend="Write its fields as columns of their own.",
            )
        )
    if n_rows == 0:
        raise no_rows()
    kept = [k for k, name in enumerate(table.column_names) if not name.startswith(_ROW_NUMBERS)]
    names, renamed, notes = named([table.column_names[k] for k in kept], number=number_names)
    nested = [name for name, one in zip(schema.names, schema.types, strict=True) if not _readable(one)]
    notes += excluded(nested, "their cells are lists, records or other things than numbers and text")
    if len(kept) < table.num_columns:
        notes.append("The numbers of the rows, which pandas wrote beside the columns, are left out.")
    lines = np.arange(1, n_rows + 1)
    marks = [] if missing_values is None else list(missing_values)
    columns = [_column(name, table.column(k), marks, lines) for name, k in zip(names, kept, strict=True)]
    n_missing = sum(int(column.values.isna().sum()) for column in columns)
    return TypedTable(
        columns=columns,
        lines=lines,
        renamed=renamed,
        notes=notes,
        missing_found={"": n_missing} if n_missing else {},
    )


def _column(name: str, cells: pa.ChunkedArray, marks: Sequence[str], lines: np.ndarray) -> ColumnFound:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = cells.type
    if types.is_dictionary(kind):
        if types.is_string(kind.value_type) or types.is_large_string(kind.value_type):
            return _text(name, cells, marks)
        cells = pc.cast(cells, kind.value_type)
        kind = kind.value_type
    if types.is_null(kind):
        return ColumnFound(values=pd.Series(np.full(len(lines), np.nan), name=name))
    if types.is_boolean(kind):
        return truth_values(name, cells.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get))
    if types.is_integer(kind):
        if cells.null_count == 0:
            plain = pd.Series(cells.to_numpy())
        else:
            plain = cells.to_pandas(types_mapper=_integer_types().get)
        return whole_numbers(name, plain, lines)
    if types.is_floating(kind) or types.is_decimal(kind):
        note: tuple[str, ...] = ()
        if types.is_decimal(kind):
            note = (f"“{name}” holds decimal numbers; they are rounded to the 16 digits that a float keeps.",)
        numbers = pc.cast(cells, pa.float64(), safe=False).to_numpy()
        return ColumnFound(values=pd.Series(np.array(numbers, dtype=float), name=name), notes=note)
    if types.is_date(kind) or types.is_timestamp(kind):
        return _dates(name, cells)
    return _text(name, pc.cast(cells, pa.string()), marks)


def _dates(name: str, cells: pa.ChunkedArray) -> ColumnFound:
    import pyarrow as pa
    import pyarrow.compute as pc

    zone = getattr(cells.type, "tz", None)
    if zone is not None:
        # The instant, on the clock of Greenwich.
        cells = pc.cast(cells, pa.timestamp(cells.type.unit))
    # Microseconds reach from the year -290,000 on; a time finer than that is no date of a person's.
    days = pc.cast(cells, pa.timestamp("us"), safe=False)
    values = pd.Series(days.to_numpy().astype("datetime64[us]"), name=name)
    notes = (f"“{name}” is shown in coordinated universal time.",) if zone is not None else ()
    return ColumnFound(values=values, notes=notes)


def _text(name: str, cells: pa.ChunkedArray, marks: Sequence[str]) -> ColumnFound:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(cells.type):
        cells = pc.dictionary_encode(cells)
    coded = cells.unify_dictionaries().combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    levels = coded.dictionary.to_pandas().astype(object).tolist()
    wanted = set(marks)
    levels = [None if level is None or level.strip() in wanted else level for level in levels]
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    lengths = np.array([*(len(level or "") for level in levels), 0])
    if lengths[codes].sum() > MOST_BYTES:
        raise too_large(f"the texts of column “{name}” have over {MOST_BYTES // 10**6:,} million characters")
    texts = np.array([*levels, None], dtype=object)[codes]
    return ColumnFound(values=as_text(name, pd.Series(texts)))


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
