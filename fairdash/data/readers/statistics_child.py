"""Convert a SAS, Stata or SPSS file to Parquet in a separate process: a bad file may crash the parser.

:mod:`fairdash.data.readers.statistics_packages` runs this file by its path, so it starts without fairdash. It
prints one JSON object: ``notes``, ``problem`` and ``hint``, ``shape`` (rows and columns beyond the limits),
or ``memory`` if memory was too small.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd

_SAVE_AGAIN = "Save the file again, or export it as CSV."


class Refused(Exception):
    """Raised with what is wrong with the file, and a hint."""


class TooLarge(Exception):
    """Raised with the rows and columns of a table beyond the limits."""


def main(parser: str, source: str, target: str, most_columns: int, most_cells: int, most_memory: int) -> None:
    """Convert the file `source`, read by pyreadstat's function `parser`, to the Parquet file `target`."""
    _limit_memory(most_memory)
    try:
        notes = _convert(parser, source, target, most_columns, most_cells)
        said: dict[str, Any] = {"notes": notes}
    except Refused as refused:
        said = dict(zip(("problem", "hint"), refused.args, strict=True))
    except TooLarge as large:
        said = {"shape": large.args}
    except MemoryError:
        said = {"memory": most_memory}
    print(json.dumps(said))


def _limit_memory(most: int) -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _convert(parser: str, source: str, target: str, most_columns: int, most_cells: int) -> list[str]:
    import pyreadstat

    read: Callable[..., Any] = getattr(pyreadstat, parser)
    coded = {} if parser in ("read_sas7bdat", "read_xport") else {"user_missing": True}
    # The header's counts first; a file may leave the rows open, and may lie.
    meta = _read(read, source, metadataonly=True, **coded)[1]
    n_columns = len(meta.column_names)
    if n_columns == 0:
        raise Refused("the file has no columns", _SAVE_AGAIN)
    _check(n_columns, meta.number_rows or 0, most_columns, most_cells)
    frame, _ = _read(read, source, dates_as_pandas_datetime=True, row_limit=most_cells // n_columns + 1)
    _check(n_columns, len(frame), most_columns, most_cells)
    if meta.number_rows is not None and 0 <= meta.number_rows != len(frame):
        raise Refused("the file ends before its last row", "Fetch or save the file again.")
    labelled: list[str] = []
    partly: list[str] = []
    for name in meta.column_names:
        labels = meta.variable_value_labels.get(name, {})
        values = frame[name]
        if labels and values.notna().any():
            texts = values.map(labels)
            (labelled if texts.notna().eq(values.notna()).all() else partly).append(name)
            values = texts if name in labelled else values
        frame[name] = _plain(values)
    missing = [name for name in meta.column_names if _has_missing_codes(meta, name)]
    notes = []
    for names, what in (
        (labelled, "Codes are replaced by the file's labels"),
        (partly, "Codes are kept, since the file labels only some of them"),
        (missing, "Codes that the file declares as missing are missing cells"),
    ):
        if names:
            shown = ", ".join(f"“{name}”" for name in names[:3])
            notes.append(f"{what}: {shown}{f' and {len(names) - 3:,} more' if len(names) > 3 else ''}.")
    frame.to_parquet(target, index=False)
    return notes


def _read(read: Callable[..., Any], source: str, **options: Any) -> Any:
    try:
        return read(source, **options)
    except MemoryError:
        raise
    except OverflowError:
        raise Refused("a date lies beyond the year 9999", "Correct it, or write the dates as text.") from None
    # The parser has one error for all, and Python's own for texts and dates it can't make.
    except Exception as error:
        if "memory" in str(error).lower():
            raise MemoryError from error
        raise Refused(
            "the file is incomplete or damaged, or of a version that is not read here", _SAVE_AGAIN
        ) from None


def _check(n_columns: int, n_rows: int, most_columns: int, most_cells: int) -> None:
    if n_columns > most_columns or n_rows * n_columns > most_cells:
        raise TooLarge(n_rows, n_columns)


def _plain(values: pd.Series) -> pd.Series:
    """Numbers that are all whole as whole numbers, as from a text file; times and texts as text."""
    if pd.api.types.is_float_dtype(values):
        whole = values.notna().any() and values.dropna().mod(1).eq(0).all() and values.abs().max() < 2**53
        return values.astype("Int64") if whole else values
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        return values
    texts = values.map(str, na_action="ignore").astype(object)
    # These formats write a missing text as an empty one.
    return texts.where(texts.notna() & texts.ne(""), None)


def _has_missing_codes(meta: Any, name: str) -> bool:
    return bool(meta.missing_ranges.get(name) or meta.missing_user_values.get(name))


if __name__ == "__main__":
    parser, source, target, *bounds = sys.argv[1:]
    main(parser, source, target, *map(int, bounds))
