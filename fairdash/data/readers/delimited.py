"""Delimited text: find the delimiter, cut the rows, check their widths, keep the line numbers."""

from __future__ import annotations

import csv
import io
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairdash.data.readers.encoding import text_encoding
from fairdash.data.readers.limits import check_shape
from fairdash.data.readers.report import TEXT, ReadingOptions, ReadingReport
from fairdash.data.readers.table import TableBuilder, empty_file, no_rows
from fairdash.data.readers.text_column import MISSING_MARKS, TextColumn, add_text_columns
from fairdash.errors import OptionError, Problem, ReadingError
from fairdash.text import counted

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = (",", ";", "\t", "|")

#: Characters looked at to find the delimiter, and cells cut at a time.
_SAMPLE = 2**18
_CELLS_AT_ONCE = 500_000


def read_delimited(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a text table.

    Parameters
    ----------
    content
        The whole file.
    options
        What the user has decided; the rest is found.

    Raises
    ------
    ReadingError
        The file is no text, its encoding can't be found, it is too large, or its rows don't fit the header.
    OptionError
        A choice of the user's makes no sense.
    """
    if options.decimal not in (None, ".", ","):
        raise OptionError.of("this can't be a decimal mark", "Choose a point or a comma.")
    encoding = text_encoding(content, options.encoding)
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    delimiter = options.delimiter
    if delimiter is None:
        delimiter = _announced_delimiter(text) or _find_delimiter(text)
    _check_delimiter(delimiter)
    text.seek(0)
    # Quoted or not, a header does not have more cells than delimiters and one.
    width = text.readline().count(delimiter) + 1
    check_shape(max(content.count(b"\n"), content.count(b"\r")), width, about="about ")

    header, cells, lines, n_empty_lines = cut(text, delimiter=delimiter)
    table = TableBuilder(header, lines, options, default_marks=MISSING_MARKS)
    if n_empty_lines:
        table.notes.append(f"Empty lines skipped: {n_empty_lines:,}.")
    columns = [TextColumn(name, each, table) for name, each in zip(table.names, cells, strict=True)]
    add_text_columns(columns, decimal=options.decimal, prefers_comma=delimiter == ";")
    return table.finish(TEXT, encoding=encoding, delimiter=delimiter)


def _check_delimiter(delimiter: str) -> None:
    """Refuse what can't separate cells: other than one character, or one that cells and lines are made of."""
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0.+-':
        raise OptionError.of(
            "this can't be a delimiter", "Choose one character, such as a comma, a semicolon or a tab."
        )


def _announced_delimiter(text: io.TextIOBase) -> str | None:
    """Give the delimiter that Excel's first line ``sep=;`` announces, if there is such a line."""
    text.seek(0)
    first = text.readline(100).strip()
    if len(first) == 5 and first.lower().startswith("sep="):
        return first[4]
    # strip() takes a tab away.
    return "\t" if first.lower() == "sep=" else None


def _find_delimiter(text: io.TextIOBase) -> str:
    """Find the delimiter: the one by which the first rows have the same number of cells as the header.

    Where nothing separates the header, the comma is given.
    """
    text.seek(0)
    sample = text.read(_SAMPLE)
    if len(sample) == _SAMPLE:
        # The last row may be cut off.
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        try:
            widths = [len(row) for row in islice(rows, 1000) if row]
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        agreeing = sum(width == widths[0] for width in widths) / len(widths)
        if (agreeing, widths[0]) > best_score:
            best, best_score = delimiter, (agreeing, widths[0])
    return best


def cut(text: io.TextIOBase, *, delimiter: str) -> tuple[list[str], list[pa.ChunkedArray], np.ndarray, int]:
    """Cut a text into rows of equal width.

    Cells may stand in double quotes, then with delimiters and line ends inside and ``""`` for a quote.

    Parameters
    ----------
    text
        Opened with ``newline=""``.

    Returns
    -------
    header
        The first line's cells, as they stand.
    columns
        pyarrow strings for each column, shape (n,).
    lines : array of int64, shape (n,)
        The line of the file that each row begins on; the header is line 1.
    n_empty_lines
        Lines with nothing on them, which were skipped.

    Raises
    ------
    ReadingError
        No header, no rows, rows of other widths than the header, or a quote that is not closed.
    """
    import pyarrow as pa

    text.seek(0)
    records, n_empty = _records(text, delimiter), 0
    for _, header in records:
        if header and not _announces_delimiter(header):
            break
        n_empty += not header
    else:
        raise empty_file()
    width = len(header)
    chunks: list[list[pa.Array]] = [[] for _ in header]
    lines, odd_lines, odd_widths = array("q"), array("q"), Counter[int]()
    while block := list(islice(records, max(1, _CELLS_AT_ONCE // width))):
        rows = []
        for line, row in block:
            if len(row) == width:
                rows.append(row)
                lines.append(line)
            elif row:
                odd_lines.append(line)
                odd_widths[len(row)] += 1
            else:
                n_empty += 1
        if rows and not odd_lines:
            for chunk, cells in zip(chunks, zip(*rows, strict=True), strict=True):
                chunk.append(pa.array(cells, pa.string()))
    if odd_lines:
        raise ReadingError(_ragged(width, odd_widths, odd_lines))
    if not lines:
        raise no_rows()
    columns = [pa.chunked_array(chunk, pa.string()) for chunk in chunks]
    return header, columns, np.array(lines, dtype=np.int64), n_empty


def _ragged(width: int, widths: Counter[int], lines: array[int]) -> Problem:
    found = ", ".join(f"{times:,} with {cells:,}" for cells, times in widths.most_common(5))
    return Problem(
        what=f"the header has {counted(width, 'cell')}, but there are rows of another width: {found}"
        + (", …" if len(widths) > 5 else ""),
        hint="Check the delimiter, and put quotes around cells that contain it.",
        lines=list(lines[:5]),
        count=len(lines),
    )


def _announces_delimiter(first: list[str]) -> bool:
    joined = "".join(first).strip().lower()
    return joined.startswith("sep=") and len(joined) <= 5


def _records(text: io.TextIOBase, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a text, empty lines too: the line that each begins on, and its cells."""
    reader, line = csv.reader(text, delimiter=delimiter, strict=True), 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise ReadingError(_broken(error, line)) from None


def _broken(error: csv.Error, line: int) -> Problem:
    if "field larger" in str(error):
        return Problem(
            what=f"a cell in the row that begins here has more than {csv.field_size_limit():,} characters",
            hint="A quote may not be closed; otherwise shorten the cell.",
            lines=[line],
        )
    return Problem(
        what="a quote opens in the row that begins here and is not closed where a cell ends",
        hint="Close the quote, or write it twice where it is part of the text.",
        lines=[line],
    )
