"""Cut delimited text into rows: find the delimiter, check the widths, keep the line numbers."""

from __future__ import annotations

import csv
import io
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from fairdash.data.wording import counted
from fairdash.errors import OptionError, Problem, ReadingError

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = (",", ";", "\t", "|")
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}

#: Characters looked at to find the delimiter, and cells cut at a time.
_SAMPLE = 2**18
_CELLS_AT_ONCE = 500_000


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """The cells of a delimited file, still as text.

    Parameters
    ----------
    header
        The first line's cells, as they stand.
    columns
        A pyarrow array of strings for each column, shape (n,).
    lines : array of int64, shape (n,)
        The line of the file that each row begins on; the header is line 1.
    n_empty_lines
        Lines with nothing on them, which were skipped.
    """

    header: tuple[str, ...]
    columns: tuple[pa.ChunkedArray, ...]
    lines: np.ndarray
    n_empty_lines: int


def delimiter_name(delimiter: str) -> str:
    """Name a delimiter in words."""
    return DELIMITER_NAMES.get(delimiter, f"“{delimiter}”")


def check_delimiter(delimiter: str) -> None:
    """Refuse what can't separate cells.

    Raises
    ------
    OptionError
        It is not one character, or one that cells and lines are made of.
    """
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0.+-':
        raise OptionError(
            Problem(
                what="this can't be a delimiter",
                mend="Choose one character, such as a comma, a semicolon or a tab.",
            )
        )


def announced_delimiter(text: io.TextIOBase) -> str | None:
    """Give the delimiter that Excel's first line ``sep=;`` announces, if there is such a line."""
    text.seek(0)
    first = text.readline(100).strip()
    if len(first) == 5 and first.lower().startswith("sep="):
        return first[4]
    # strip() takes a tab away.
    return "\t" if first.lower() == "sep=" else None


def find_delimiter(text: io.TextIOBase) -> str:
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


def cut(text: io.TextIOBase, *, delimiter: str) -> TextTable:
    """Cut a text into rows of equal width.

    Cells may stand in double quotes, then with delimiters and line ends inside and ``""`` for a quote.

    Parameters
    ----------
    text
        Opened with ``newline=""``.

    Raises
    ------
    ReadingError
        No header, no rows, rows of other widths than the header, or a quote that is not closed.
    """
    import pyarrow as pa

    text.seek(0)
    records = _Records(text, delimiter)
    header = next(records, (0, []))[1]
    if _announces_delimiter(header):
        header = next(records, (0, []))[1]
    if not header:
        raise ReadingError(
            Problem(what="the file is empty: it has no data rows", mend="Choose another file.")
        )
    width = len(header)
    chunks: list[list[pa.Array]] = [[] for _ in header]
    lines, odd_lines, odd_widths = array("q"), array("q"), Counter[int]()
    while block := list(islice(records, max(1, _CELLS_AT_ONCE // width))):
        rows = []
        for line, row in block:
            if len(row) == width:
                rows.append(row)
                lines.append(line)
            else:
                odd_lines.append(line)
                odd_widths[len(row)] += 1
        if rows and not odd_lines:
            for chunk, cells in zip(chunks, zip(*rows, strict=True), strict=True):
                chunk.append(pa.array(cells, pa.string()))
    if odd_lines:
        raise ReadingError(_ragged(width, odd_widths, odd_lines))
    if not lines:
        raise ReadingError(
            Problem(what="the file has a header but no data rows", mend="Choose a file with rows.")
        )
    return TextTable(
        header=tuple(header),
        columns=tuple(pa.chunked_array(chunk, pa.string()) for chunk in chunks),
        lines=np.array(lines, dtype=np.int64),
        n_empty_lines=records.n_empty,
    )


def _ragged(width: int, widths: Counter[int], lines: array[int]) -> Problem:
    found = ", ".join(f"{times:,} with {cells:,}" for cells, times in widths.most_common(5))
    return Problem(
        what=f"the header has {counted(width, 'cell')}, but there are rows of another width: {found}"
        + (", …" if len(widths) > 5 else ""),
        mend="Check the delimiter, and put quotes around cells that contain it.",
        lines=list(lines[:5]),
        count=len(lines),
    )


def _announces_delimiter(first: list[str]) -> bool:
    joined = "".join(first).strip().lower()
    return joined.startswith("sep=") and len(joined) <= 5


class _Records:
    """Iterate over the records of a text: ``(line that it begins on, cells)``."""

    def __init__(self, text: io.TextIOBase, delimiter: str) -> None:
        self._reader = csv.reader(text, delimiter=delimiter, strict=True)
        self.n_empty = 0

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self

    def __next__(self) -> tuple[int, list[str]]:
        while True:
            line = self._reader.line_num + 1
            try:
                row = next(self._reader)
            except csv.Error as error:
                raise ReadingError(_broken(error, line)) from None
            if row:
                return line, row
            self.n_empty += 1


def _broken(error: csv.Error, line: int) -> Problem:
    if "field larger" in str(error):
        return Problem(
            what=f"a cell in the row that begins here has more than {csv.field_size_limit():,} characters",
            mend="A quote may not be closed; otherwise shorten the cell.",
            lines=[line],
        )
    return Problem(
        what="a quote opens in the row that begins here and is not closed where a cell ends",
        mend="Close the quote, or write it twice where it is part of the text.",
        lines=[line],
    )
