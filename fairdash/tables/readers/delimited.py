"""Reader of delimited text, which detects the delimiter, checks all rows, and stores their line numbers."""

from __future__ import annotations

import csv
import io
from array import array
from collections import Counter, deque
from collections.abc import Iterator
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from fairdash.errors import OptionError, Problem, ReadingError
from fairdash.tables.grammar import LIKE_NUMBER
from fairdash.tables.readers.encoding import text_encoding
from fairdash.tables.readers.layouts import eurostat_as_tabs, is_of_eurostat, is_second_header, spaced_as_tabs
from fairdash.tables.readers.limits import check_shape
from fairdash.tables.readers.report import TEXT, ReadingOptions, ReadingReport, report_progress
from fairdash.tables.readers.table import (
    ROWS_ABOVE,
    ROWS_BELOW,
    TableBuilder,
    empty_file,
    header_at,
    no_rows,
    no_such_header,
    rows_above_in_words,
    rows_below,
    rows_below_in_words,
)
from fairdash.tables.readers.text_column import ERRORS, MISSING_MARKS, TextColumn, add_text_columns
from fairdash.tables.readers.texts import joined, texts_of
from fairdash.utils.imports import has
from fairdash.utils.text import counted

DELIMITERS = (",", ";", "\t", "|")

#: Number of characters in which the delimiter is searched.
_SAMPLE = 2**18
#: Maximum number of cells that are split at a time.
_CELLS_AT_ONCE = 500_000
#: Encodings in which the bytes of line ends and delimiters never occur inside other characters.
_BY_BYTES = frozenset({"utf-8", "utf-8-sig", "cp1252"})
#: Minimum share of rows with the header's number of cells. If the share is lower, spaces may separate the
#: cells.
_MIN_AGREEING = 0.5
#: Number of rows that are compared with the first row to detect a row of labels.
_ROWS_OF_LABELS = 200
#: Number of progress reports while columns are read.
_N_REPORTS = 20


def read_delimited(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a text table.

    Parameters
    ----------
    content
        Content of the file.
    options
        Options that the user sets. The reader detects the other options.

    Raises
    ------
    ReadingError
        The file is not text or is too large, its encoding is unknown, or a row has more or fewer cells than
        the header.
    OptionError
        An option can't be used.
    """
    if options.decimal not in (None, ".", ","):
        raise OptionError.of("this can't be a decimal mark", "Choose a point or a comma.")
    encoding = text_encoding(content, options.encoding)
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    delimiter, agreeing = options.delimiter, 1.0
    if delimiter is None and (delimiter := _announced_delimiter(text)) is None:
        delimiter, agreeing = _find_delimiter(text)
    _check_delimiter(delimiter)
    encoding_and_delimiter, remarks = (encoding, delimiter), list[str]()
    text.seek(0)
    first = text.readline()
    if options.delimiter in (None, "\t") and "\\" in first and is_of_eurostat(first):
        text.seek(0)
        text_table, note = eurostat_as_tabs(text.read())
        encoding_and_delimiter, delimiter, remarks, content, encoding = (
            (encoding, "\t"),
            "\t",
            [note],
            text_table.encode(),
            "utf-8",
        )
    elif agreeing < _MIN_AGREEING or delimiter == " ":
        text.seek(0)
        if (aligned := spaced_as_tabs(text.read())) is not None:
            encoding_and_delimiter, delimiter, content, encoding = (
                (encoding, " "),
                "\t",
                aligned.encode(),
                "utf-8",
            )
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    # The header has at most one cell more than there are delimiters in the first lines, which include titles.
    width = max(line.count(delimiter) for line in [text.readline(), *islice(text, ROWS_ABOVE - 1)]) + 1
    check_shape(max(content.count(b"\n"), content.count(b"\r")), width, subject="about ")

    row, keep = options.header_row, options.keep_below
    table_cells = cut_plain(content, encoding, delimiter=delimiter, header_row=row, keep_below=keep)
    if table_cells is None:
        table_cells = cut(text, delimiter=delimiter, header_row=row, keep_below=keep)
    header, cells, lines, notes = _without_second_header(*table_cells)
    # If spaces separate the columns, no cell can be empty, and a dot marks a missing cell.
    marks = (*MISSING_MARKS, *ERRORS, *("." if encoding_and_delimiter[1] == " " else ""))
    table = TableBuilder(header, lines, options, default_marks=marks)
    table.notes += [*remarks, *notes]
    columns = []
    for k, (name, each) in enumerate(zip(table.names, cells, strict=True), start=1):
        if k % max(1, len(cells) // _N_REPORTS) == 0:
            report_progress(f"{len(lines):,} rows, column {k:,} of {len(cells):,}")
        columns.append(TextColumn(name, each, table))
    add_text_columns(columns, decimal=options.decimal, prefers_comma=delimiter == ";")
    return table.finish(TEXT, encoding=encoding_and_delimiter[0], delimiter=encoding_and_delimiter[1])


def _without_second_header(header: list[str], cells: list[Any], lines: np.ndarray, notes: list[str]) -> Cut:
    """Leave out the first row if it contains labels or units of the columns, and add a note."""
    # If the first row contains a number, which is the usual case, it is not a row of labels.
    if not any(LIKE_NUMBER.fullmatch(str(column[0])) for column in cells):
        top = [[str(cell) for cell in column[:_ROWS_OF_LABELS]] for column in cells]
        if len(lines) > 1 and is_second_header([cells[0] for cells in top], [cells[1:] for cells in top]):
            note = f"Line {lines[0]} contains labels or units of the columns, and is left out."
            return header, [column[1:] for column in cells], lines[1:], [*notes, note]
    return header, cells, lines, notes


def _check_delimiter(delimiter: str) -> None:
    """Raise an error for a delimiter that is not one character, or is part of words, numbers or line ends."""
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0.+-':
        raise OptionError.of(
            "this can't be a delimiter", "Choose one character, such as a comma, a semicolon or a tab."
        )


def _announced_delimiter(text: io.TextIOBase) -> str | None:
    """Return the delimiter that Excel states in a first line such as ``sep=;``, or None if there is none."""
    text.seek(0)
    first = text.readline(100).strip()
    if len(first) == 5 and first.lower().startswith("sep="):
        return first[4]
    # If strip() has removed the delimiter, it is a tab.
    return "\t" if first.lower() == "sep=" else None


def _find_delimiter(text: io.TextIOBase) -> tuple[str, float]:
    """Return the likely delimiter, and the share of rows with the same number of cells as the header.

    A delimiter's score is the share of rows with as many cells as the first row. The first row may be a
    title. Therefore a second score uses the most frequent number of cells, provided that the first row with
    this number contains names. The function returns the delimiter with the highest score, or a comma if there
    is no delimiter.
    """
    text.seek(0)
    sample = text.read(_SAMPLE)
    if len(sample) == _SAMPLE:
        # The last row of the sample may be incomplete.
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    best, best_score = ",", (0.0, 0)
    below_title, title_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        try:
            records = [row for row in islice(rows, 1000) if row]
        except csv.Error:
            continue
        if not records:
            continue
        widths = [len(row) for row in records]
        most_frequent_width, n_rows = Counter(widths).most_common(1)[0]
        names = next(row for row in records if len(row) == most_frequent_width)
        if most_frequent_width > 1 and not any(cell.strip()[:1].isdigit() for cell in names):
            score = (n_rows / len(widths), most_frequent_width)
            below_title, title_score = max((below_title, title_score), (delimiter, score), key=itemgetter(1))
        if widths[0] < 2:
            continue
        agreeing = sum(width == widths[0] for width in widths) / len(widths)
        if (agreeing, widths[0]) > best_score:
            best, best_score = delimiter, (agreeing, widths[0])
    return (below_title, title_score[0]) if title_score > best_score else (best, best_score[0])


#: Result of :func:`cut`.
Cut = tuple[list[str], list[Any], np.ndarray, list[str]]


def cut_plain(
    content: bytes, encoding: str, *, delimiter: str, header_row: int | None = None, keep_below: bool = False
) -> Cut | None:
    """Split a text without quotes like :func:`cut`, but ten times as fast, because each line is a row.

    The result is None if pyarrow is not installed or the text may contain quotes. The result is also None if
    a row has more or fewer cells than the header. Then :func:`cut` reports the problem.
    """
    if not has("pyarrow"):
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    is_plain = encoding in _BY_BYTES and delimiter.isascii() and b'"' not in content
    if not is_plain or content.count(b"\r") != content.count(b"\r\n"):
        return None
    # `ends[k]` is the position after the end of line k + 1.
    line_ends = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == ord("\n")) + 1
    if not len(line_ends) or line_ends[-1] != len(content):
        line_ends = np.append(line_ends, len(content))
    starts = np.concatenate([[0], line_ends[:-1]])
    if (line_ends - starts).max() > csv.field_size_limit():
        return None
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    header, records, n_empty, notes = _header(_records(text, delimiter), header_row)
    first = next(records, None)
    if first is None:
        return None
    first_row, end, lines_below = first[0] - 1, len(line_ends), list[int]()
    if not keep_below:
        checked = max(first_row, end - ROWS_BELOW)
        text_at_end = io.StringIO(content[starts[checked] :].decode(encoding), newline="")
        last_records = [(line + checked, row) for line, row in _records(text_at_end, delimiter)]
        end = checked + len(list(_without_rows_below(iter(last_records), lines_below)))
    # A line is empty if its first character is a line end.
    kinds = np.frombuffer(content, dtype=np.uint8)[starts[first_row:end]]
    filled_lines = np.flatnonzero(~np.isin(kinds, (ord("\r"), ord("\n")))) + first_row
    if not len(filled_lines):
        return None
    body = memoryview(content)[starts[first_row] : line_ends[end - 1]]
    names = [str(k) for k in range(len(header))]
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(str(body, encoding).encode() if encoding == "cp1252" else body),
            arrow_csv.ReadOptions(column_names=names, use_threads=False),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char=False),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    if len(table) != len(filled_lines):
        return None
    report_progress(f"{len(table):,} rows so far")
    n_empty += end - first_row - len(filled_lines)
    return header, table.columns, filled_lines + 1, [*notes, *_lines_in_words(lines_below, n_empty)]


def cut(
    text: io.TextIOBase, *, delimiter: str, header_row: int | None = None, keep_below: bool = False
) -> Cut:
    """Split a text into rows with the same number of cells.

    A cell in double quotes may contain delimiters and line ends. In such a cell, ``""`` stands for a quote.

    Parameters
    ----------
    text
        Text stream, opened with ``newline=""``.
    header_row, keep_below
        See :class:`~fairdash.tables.readers.report.ReadingOptions`.

    Returns
    -------
    header
        Cells of the header, unchanged.
    columns
        The n strings of each column.
    lines : array of int64, shape (n,)
        Line of the file on which each row begins; the first line is 1.
    notes
        Sentences on skipped lines, that is, empty lines and rows above and below the table.

    Raises
    ------
    ReadingError
        The file has no header or no rows, a row has more or fewer cells than the header, or a quote is not
        closed.
    OptionError
        The line selected as the header is empty.
    """
    text.seek(0)
    header, records, n_empty, notes = _header(_records(text, delimiter), header_row)
    lines_below: list[int] = []
    if not keep_below:
        records = _without_rows_below(records, lines_below)
    width = len(header)
    chunks: list[list[Any]] = [[] for _ in header]
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
                chunk.append(texts_of(cells))
        report_progress(f"{len(lines):,} rows so far")
    if odd_lines:
        raise ReadingError(_unequal_widths(width, odd_widths, odd_lines))
    if not lines:
        raise no_rows()
    notes += _lines_in_words(lines_below, n_empty)
    return header, [joined(chunk) for chunk in chunks], np.array(lines, dtype=np.int64), notes


def _lines_in_words(below: list[int], n_empty: int) -> list[str]:
    skip_notes = [f"Empty lines skipped: {n_empty:,}."] if n_empty else []
    return [rows_below_in_words(below), *skip_notes] if below else skip_notes


_Record = tuple[int, list[str]]


def _header(
    records: Iterator[_Record], chosen: int | None
) -> tuple[list[str], Iterator[_Record], int, list[str]]:
    """Return the header's cells, the records below it, the number of skipped empty lines, and the notes."""
    first_records: list[_Record] = []
    n_filled = 0
    for line, row in records:
        if not n_filled and row and _announces_delimiter(row):
            continue
        first_records.append((line, row))
        n_filled += any(map(str.strip, row))
        if n_filled == ROWS_ABOVE if chosen is None else line >= chosen:
            break
    nonempty = [index for index, (_, row) in enumerate(first_records) if row]
    if not nonempty:
        raise empty_file()
    if chosen is None:
        not_blank = [index for index in nonempty if any(map(str.strip, first_records[index][1]))]
        # If all cells of the file are blank, the first row is the header.
        header_place = (
            not_blank[header_at([first_records[index][1] for index in not_blank])]
            if not_blank
            else nonempty[0]
        )
        header_place = header_place if not_blank and header_place != not_blank[0] else nonempty[0]
    else:
        header_place = nonempty[-1]
        if first_records[header_place][0] != chosen:
            raise no_such_header(chosen)
    line, header = first_records[header_place]
    n_above = sum(index < header_place for index in nonempty)
    n_empty = 0 if n_above else header_place
    notes = [rows_above_in_words(line, n_above)] if n_above else []
    return header, chain(first_records[header_place + 1 :], records), n_empty, notes


def _without_rows_below(records: Iterator[_Record], below: list[int]) -> Iterator[_Record]:
    """Yield the records without the totals and notes at the end, whose line numbers are added to `below`."""
    window: deque[_Record] = deque()
    for record in records:
        window.append(record)
        if len(window) > ROWS_BELOW:
            yield window.popleft()
    last = list(window)
    n_below = rows_below(last)
    # Blank rows before totals and notes are also removed.
    while n_below and (len(below) < n_below or not any(map(str.strip, last[-1][1]))):
        line, row = last.pop()
        if any(map(str.strip, row)):
            below.insert(0, line)
    yield from last


def _unequal_widths(width: int, widths: Counter[int], lines: array[int]) -> Problem:
    counts = ", ".join(f"{times:,} with {cells:,}" for cells, times in widths.most_common(5))
    return Problem(
        what=f"the header has {counted(width, 'cell')}, but rows have other numbers of cells: {counts}"
        + (", …" if len(widths) > 5 else ""),
        hint="Check the delimiter, and put quotes around cells that contain it.",
        lines=list(lines[:5]),
        count=len(lines),
    )


def _announces_delimiter(first: list[str]) -> bool:
    first_text = "".join(first).strip().lower()
    return first_text.startswith("sep=") and len(first_text) <= 5


def _records(text: io.TextIOBase, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line number and the cells of each record of a text. An empty line is also a record."""
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
            hint="Look for a quote that is not closed. If there is none, shorten the cell.",
            lines=[line],
        )
    return Problem(
        what="in the row that begins here, a quote opens and is not closed at the end of a cell",
        hint="Close the quote, or write two quotes if it is part of the text.",
        lines=[line],
    )
