r"""Read a file into a frame, and say how it was read.

>>> frame, report = read_table("price;age\n1,5;40\n2,25;50\n".encode(), name="prices.csv")
>>> frame["price"].tolist()
[1.5, 2.25]
>>> print(*report.sentences(), sep="\n")
Read as UTF-8 with semicolons between the cells: 2 rows, 2 columns.
Numbers with a decimal comma: 2 cells in 1 column (“price”).
No cell is missing.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from fairdash.data.readers import limits
from fairdash.data.readers.archives import unpack
from fairdash.data.readers.arrow import read_parquet
from fairdash.data.readers.delimited import read_delimited
from fairdash.data.readers.excel import is_workbook, read_excel, sheet_names
from fairdash.data.readers.limits import check_file
from fairdash.data.readers.r_file import MARKS, frame_names, read_rda
from fairdash.data.readers.report import (
    EXCEL,
    FORMATS,
    PARQUET,
    R_DATA,
    SAS,
    SPSS,
    STATA,
    TEXT,
    ReadingOptions,
    ReadingReport,
)
from fairdash.data.readers.statistics_packages import parser_of, read_statistics
from fairdash.data.readers.table import empty_file
from fairdash.errors import FairdashError, OptionError, ReadingError

Reader = Callable[[bytes, ReadingOptions], tuple[pd.DataFrame, ReadingReport]]

#: What reads a format, by its name; the file is out of its archive then.
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        TEXT: read_delimited,
        PARQUET: read_parquet,
        EXCEL: read_excel,
        R_DATA: read_rda,
        **dict.fromkeys((SAS, STATA, SPSS), read_statistics),
    }
)
_FIRST_BYTES = (
    (b"PAR1", PARQUET),
    *((mark, R_DATA) for mark in MARKS),
)


def read_table(
    source: str | Path | bytes,
    *,
    name: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing_values: Sequence[str] | None = None,
    sheet: str | None = None,
    number_names: bool = False,
    header_row: int | None = None,
    keep_below: bool = False,
) -> tuple[pd.DataFrame, ReadingReport]:
    """Read text, Parquet, Excel, R's .rda, SAS, Stata or SPSS files, packed (gzip, zip) or by themselves.

    What a file is is told by its content, not by its name. In a text, a column becomes numbers only if all
    its cells are numbers, written in one way; codes with leading zeros and whole numbers above 2⁵³ stay
    text. Columns of only "true" and "false" become booleans; dates become dates, unless their day and month
    can't be told apart. The other formats say themselves what their cells are.

    Parameters
    ----------
    source
        A path, or the bytes of a file.
    name
        Name to show; the path's last part where it is left out.
    encoding, delimiter, decimal, missing_values, sheet, number_names, header_row, keep_below
        See :class:`~fairdash.data.readers.report.ReadingOptions`; what is left out is found and reported.

    Returns
    -------
    DataFrame
        Rows in the file's order, numbered from 0.
    ReadingReport
        How it was read.

    Raises
    ------
    ReadingError
        The file can't be read as a table, with everything that is in the way.
    OptionError
        A choice of the user's makes no sense.
    """
    content = bytes_of(source)
    if name is None:
        name = "table" if isinstance(source, bytes) else Path(source).name
    options = ReadingOptions(
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
        missing_values=None if missing_values is None else tuple(missing_values),
        sheet=sheet,
        number_names=number_names,
        header_row=header_row,
        keep_below=keep_below,
    )
    frame, report = read_content(content, options)
    return frame, replace(report, name=name)


def read_content(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read the bytes of a file; as :func:`read_table`."""
    check_file(len(content))
    content, packed = unpack(content, largest=limits.LARGEST_FILE)
    if not content.strip():
        raise empty_file()
    if content.startswith(b"ARROW1"):
        raise ReadingError.of(
            "this is a Feather file, a format that is not read here", "Write the table as Parquet or CSV."
        )
    kind = _kind_of(content)
    if kind != TEXT:
        for option, chosen in (
            ("encoding", options.encoding),
            ("delimiter", options.delimiter),
            ("decimal mark", options.decimal),
        ):
            if chosen is not None:
                raise OptionError.of(f"{FORMATS[kind]} has no {option} to choose", "Leave it as found.")
    if options.header_row is not None and kind not in (TEXT, EXCEL):
        raise OptionError.of(f"{FORMATS[kind]} has no line of names to choose", "Leave it as found.")
    if options.sheet is not None and kind not in (EXCEL, R_DATA):
        what = FORMATS.get(kind, "a text table")
        raise OptionError.of(f"{what} has no sheets to choose from", "Choose none.")
    frame, report = READERS[kind](content, options)
    if packed is not None:
        report = replace(report, notes=(f"Unpacked from {packed}.", *report.notes))
    return frame, report


def file_contents(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Tell a file's format, as :attr:`ReadingReport.format` has it, and the sheets of a workbook.

    Raises
    ------
    ReadingError
        The file can't be unpacked, or is a workbook that can't be read.
    """
    content, _ = unpack(content, largest=limits.LARGEST_FILE)
    kind = _kind_of(content)
    if kind == EXCEL:
        return kind, sheet_names(content)
    return kind, frame_names(content) if kind == R_DATA else ()


def _kind_of(content: bytes) -> str:
    """Tell a file's format by its first bytes; text is what is none of the others."""
    for first, kind in _FIRST_BYTES:
        if content.startswith(first):
            return kind
    if (found := parser_of(content)) is not None:
        return found[0]
    if content.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return EXCEL if is_workbook(archive.namelist()) else TEXT
        except (OSError, ValueError, zipfile.BadZipFile):
            return TEXT
    return TEXT


def bytes_of(source: str | Path | bytes) -> bytes:
    """The bytes of a file; ReadingError if it can't be opened, or is too large."""
    if isinstance(source, bytes):
        return source
    try:
        check_file(Path(source).stat().st_size)
        return Path(source).read_bytes()
    # ValueError: a NUL in the path. A FairdashError is also a ValueError or an OSError.
    except FairdashError:
        raise
    except (OSError, ValueError) as error:
        raise ReadingError.of(
            f"the file can't be opened ({getattr(error, 'strerror', None) or 'not a path'})",
            "Check that it is there and that you may read it.",
        ) from None
