"""Reader of Excel workbooks (.xlsx, .xlsm). It checks the size of a workbook before it reads the cells.

An .xlsx file is a zip archive of XML. A file of a few kilobytes can unpack to gigabytes, contain a cell at
position 17 billion, or repeat a long text a million times. The reader therefore limits the size of the
unpacked parts, and checks the numbers of rows, columns and characters before it reads the cells.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from fairdash.errors import OptionError, Problem, ReadingError
from fairdash.tables.readers.limits import check_shape, too_large
from fairdash.tables.readers.report import EXCEL, ReadingOptions, ReadingReport, report_progress
from fairdash.tables.readers.table import (
    FIRST_INEXACT,
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
from fairdash.tables.readers.text_column import ERRORS, MISSING_MARKS, TextColumn
from fairdash.utils.text import at_lines, counted, few

#: Maximum number of cells. The reading of a larger sheet takes minutes and gigabytes of memory.
MAX_EXCEL_CELLS = 5 * 10**6
#: Maximum total size in bytes of the unpacked parts.
MAX_BYTES = 600 * 10**6
#: Maximum total number of characters in the cells.
MAX_CHARACTERS = 500 * 10**6

_WORKBOOK = "xl/workbook.xml"
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CELL = re.compile(rb'<(?:\w+:)?c\b(?:[^>]*?\br="\$?([A-Za-z]{1,3})\$?(\d{1,7})")?')
_ROW = re.compile(rb'<(?:\w+:)?row\b[^>]*?\br="(\d+)"')
_HIDDEN_ROW = re.compile(rb'<(?:\w+:)?row\b(?=[^>]*?\bhidden="(?:1|true)")[^>]*?\br="(\d+)"')
_TEXT_CELL = re.compile(rb'<(?:\w+:)?c\b[^>]*?\bt="s"[^>]*>\s*<(?:\w+:)?v>(\d{1,9})</')
_TEXT = re.compile(rb"<(?:\w+:)?si\b.*?</(?:\w+:)?si>|<(?:\w+:)?si\s*/>", re.DOTALL)
#: Pattern of a formula without a stored result.
_NO_RESULT = re.compile(
    rb'<(?:\w+:)?c\b(?![^>]*\bt="str")[^>]*?\br="([A-Z]{1,3})(\d{1,7})"[^>]*>\s*'
    rb"<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)


def is_workbook(names: Sequence[str]) -> bool:
    """Return whether an archive with members of these names is a workbook that this module can read."""
    return _WORKBOOK in names


def read_excel(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read one sheet of a workbook, which is the sheet that the user selected or the first visible sheet.

    The header is the first row that is neither empty nor a title.

    Raises
    ------
    ReadingError
        The file is damaged, encrypted or too large, declares XML entities, has no rows, or has formulas
        without stored results.
    OptionError
        The workbook has no sheet of the selected name.
    """
    sheet = read_sheet(content, options.sheet)
    table = _table(sheet, options)
    if len(sheet.all) > 1:
        table.notes.insert(0, _which_sheet(sheet.all, sheet.hidden, sheet.name))
    return table.finish(EXCEL, sheet=sheet.name, sheets=list(sheet.all))


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Cells of one sheet of a workbook.

    Parameters
    ----------
    name
        Name of the sheet.
    rows
        Cells of each row. They begin at the first used row and the first used column of the sheet. An empty
        cell is ``""``.
    first_line
        Number of the first used row, from 1.
    xml
        XML text of the sheet in the file.
    all, hidden
        Names of all sheets of the workbook, in order, and names of the hidden sheets.
    """

    name: str
    rows: list[list[Any]]
    first_line: int
    xml: bytes
    all: Sequence[str]
    hidden: Sequence[str]


def read_sheet(content: bytes, name: str | None) -> Sheet:
    """Check the size of a sheet, and read its cells unchanged, with the errors of :func:`read_excel`."""
    import python_calamine

    parts = _parts(content)
    sheets, hidden = _sheets(parts)
    chosen = _choose(sheets, hidden, name)
    xml = parts[sheets[chosen]]
    _check_cells(xml, parts)
    report_progress(f"sheet “{chosen}”")
    try:
        with python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            opened = book.get_sheet_by_name(chosen)
            rows = opened.to_python(skip_empty_area=True)
            start = opened.start or (0, 0)
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise _damaged() from error
    return Sheet(name=chosen, rows=rows, first_line=start[0] + 1, xml=xml, all=list(sheets), hidden=hidden)


def _which_sheet(sheets: Collection[str], hidden: Collection[str], chosen: str) -> str:
    other_visible = [name for name in sheets if name != chosen and name not in hidden]
    other_hidden = [name for name in hidden if name != chosen]
    return (
        f"Sheet “{chosen}” is read{', which is hidden' if chosen in hidden else ''}"
        + (
            f"; there {'is' if len(other_visible) == 1 else 'are'} also {few(other_visible)}"
            if other_visible
            else ""
        )
        + (f"; hidden in the file: {few(other_hidden)}" if other_hidden else "")
        + "."
    )


def sheet_names(content: bytes) -> tuple[str, ...]:
    """Return the names of all sheets in order, including hidden sheets."""
    return tuple(_sheets(_parts(content))[0])


def _choose(sheets: Collection[str], hidden: Collection[str], name: str | None) -> str:
    if name is not None and name not in sheets:
        raise OptionError.of("the workbook has no sheet of this name", f"The workbook has {few(sheets)}.")
    if not sheets:
        raise ReadingError.of("the workbook has no sheet with cells", "Choose another file.")
    visible_sheets = (sheet for sheet in sheets if sheet not in hidden)
    return name if name is not None else next(visible_sheets, next(iter(sheets)))


def _parts(content: bytes) -> dict[str, bytes]:
    """Return the parts of a workbook by name. Raise an error if the XML declares entities."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = _unpacked(archive)
    except ReadingError:
        raise
    # A member without a name raises IndexError.
    except (OSError, EOFError, ValueError, RuntimeError, IndexError, zlib.error, zipfile.BadZipFile) as error:
        raise _damaged() from error
    for part in parts.values():
        _refuse_entities(part)
    return parts


def _unpacked(archive: zipfile.ZipFile) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    bytes_left = MAX_BYTES
    for member in archive.infolist():
        name = member.filename.lstrip("/")
        if member.is_dir() or not name.lower().endswith((".xml", ".rels")):
            continue
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ReadingError.of(
                "the workbook has a password or an unusual compression",
                "Save it without a password, as .xlsx.",
            )
        if name in parts:
            raise _damaged()
        with archive.open(member) as packed:
            parts[name] = packed.read(bytes_left + 1)
        bytes_left -= len(parts[name])
        if bytes_left < 0:
            raise too_large(f"the unpacked workbook has more than {MAX_BYTES // 10**6:,} MB")
    return parts


def _refuse_entities(part: bytes) -> None:
    # Spreadsheet programs never declare a document type. UTF-16 is rejected because this check would not find
    # a document type in it.
    if b"<!DOCTYPE" in part or b"<!ENTITY" in part or b"\x00" in part[:200] or part[:2] in _UTF16:
        raise ReadingError.of(
            "the workbook declares XML entities, or has an unusual encoding",
            "Open it in a spreadsheet program and save it again as .xlsx, or as CSV.",
        )


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _sheets(parts: dict[str, bytes]) -> tuple[dict[str, str], list[str]]:
    """Return a map from all sheet names, in order, to parts of the file, and the names of hidden sheets."""
    try:
        workbook = ElementTree.fromstring(parts[_WORKBOOK])  # noqa: S314 - see _refuse_entities
        relations = ElementTree.fromstring(parts["xl/_rels/workbook.xml.rels"])  # noqa: S314
    # A missing part or an unknown encoding raises LookupError.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise _damaged() from error
    targets = {}
    for link in relations:
        target = link.get("Target", "")
        targets[link.get("Id")] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    sheets, hidden = {}, []
    for sheet in workbook.iter(f"{_MAIN}sheet"):
        name, part = sheet.get("name"), targets.get(sheet.get(_LINK), "")
        # The list of sheets also contains charts and macros. If two sheets have the same name, the first is
        # used.
        if name is not None and name not in sheets and part in parts and b"sheetData" in parts[part]:
            sheets[name] = part
            if sheet.get("state", "visible") != "visible":
                hidden.append(name)
    return sheets, hidden


def _check_cells(cells: bytes, parts: dict[str, bytes]) -> None:
    """Raise an error for a sheet that is too large. Empty cells count, because they also need memory."""
    count = rows = 0
    column_numbers: dict[bytes, int] = {}
    for column, row in _CELL.findall(cells):
        count += 1
        if column not in column_numbers:
            column_numbers[column] = _column_number(column) if column else 0
        if row:
            rows = max(rows, int(row))
        if count > MAX_EXCEL_CELLS:
            break
    rows = max(rows, max((int(row) for row in _ROW.findall(cells)), default=0))
    width = max(column_numbers.values(), default=0)
    # For cells without a position, only the total number is known.
    area = max(rows * width, count)
    if area > MAX_EXCEL_CELLS:
        raise ReadingError.of(
            f"the used part of the sheet has {area:,} cells, more than {MAX_EXCEL_CELLS:,}",
            "Delete cells far outside the table, or save the sheet as CSV or Parquet.",
        )
    texts = next((part for name, part in parts.items() if name.lower() == "xl/sharedstrings.xml"), b"")
    lengths = np.array([len(text) for text in _TEXT.findall(texts)] or [0])
    texts_used = np.array([int(index) for index in _TEXT_CELL.findall(cells)], dtype=np.int64)
    total = int(lengths[texts_used[texts_used < len(lengths)]].sum())
    if total > MAX_CHARACTERS:
        raise too_large(f"the sheet's texts have {total:,} characters, more than {MAX_CHARACTERS:,}")


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def _damaged() -> ReadingError:
    return ReadingError.of("this workbook is incomplete or damaged", "Fetch or save the file again.")


def _table(sheet: Sheet, options: ReadingOptions) -> TableBuilder:
    rows, first_line = sheet.rows, sheet.first_line
    nonempty_rows = [k for k, row in enumerate(rows) if any(cell != "" for cell in row)]
    if not nonempty_rows:
        raise empty_file("the sheet", "Choose another sheet or file.")
    if options.header_row is None:
        header_place = header_at([list(map(_written, rows[k])) for k in nonempty_rows[:ROWS_ABOVE]])
    else:
        header_place = _place_of(options.header_row - first_line, nonempty_rows)
    header = rows[nonempty_rows[header_place]]
    check_shape(0, len(header))
    body, indices_below = nonempty_rows[header_place + 1 :], list[int]()
    if not options.keep_below:
        last = range(body[max(0, len(body) - ROWS_BELOW)], nonempty_rows[-1] + 1) if body else ()
        n_below = rows_below([(k, list(map(_written, rows[k]))) for k in last])
        body, indices_below = body[: len(body) - n_below], body[len(body) - n_below :]
    if not body:
        raise no_rows("the sheet")
    table = TableBuilder(
        [cell if isinstance(cell, str) else _written(cell) for cell in header],
        np.array(body, dtype=np.int64) + first_line,
        options,
        default_marks=(*MISSING_MARKS, *ERRORS),
    )
    if header_place:
        table.notes.append(rows_above_in_words(nonempty_rows[header_place] + first_line, header_place))
    if indices_below:
        table.notes.append(rows_below_in_words([k + first_line for k in indices_below]))
    n_empty = body[-1] - nonempty_rows[header_place] - len(body)
    if n_empty:
        table.notes.append(f"Empty lines skipped: {n_empty:,}.")
    is_hidden = np.isin(table.lines, [int(row) for row in _HIDDEN_ROW.findall(sheet.xml)])
    if is_hidden.any():
        count, where = (
            int(is_hidden.sum()),
            at_lines(table.lines[is_hidden], int(is_hidden.sum()), word="row"),
        )
        table.notes.append(
            f"The table includes {counted(count, 'row')} hidden in the sheet, perhaps by a filter ({where})."
        )
    refuse_formulas(sheet.xml)
    for position, name in enumerate(table.names):
        _add(table, name, [rows[k][position] for k in body])
    return table


def _place_of(row: int, nonempty_rows: list[int]) -> int:
    """Convert a row's index in the used part of the sheet to its index among the non-empty rows."""
    if row not in nonempty_rows:
        raise no_such_header(row + 1)
    return nonempty_rows.index(row)


def refuse_formulas(sheet: bytes) -> None:
    """Raise an error if the sheet has formulas without stored results."""
    cells_without: dict[str, list[int]] = {}
    if b"<f" in sheet or b":f" in sheet:
        for column, line in _NO_RESULT.findall(sheet):
            cells_without.setdefault(column.decode(), []).append(int(line))
    problems = [
        Problem(
            what=f"column {letters} of the sheet has formulas without stored results",
            hint="Open the file in a spreadsheet program, save it again, and choose that file.",
            lines=lines[:5],
            count=len(lines),
        )
        for letters, lines in sorted(cells_without.items())
    ]
    if problems:
        raise ReadingError(*problems)


def _add(table: TableBuilder, name: str, cells: list[Any]) -> None:
    kinds = {type(cell) for cell in cells if cell != ""}
    if kinds and not kinds <= {int, float} and not kinds <= {datetime.date, datetime.datetime}:
        # If the cells of a column have several types, the type of the column is detected from their text, as
        # in a delimited file.
        TextColumn(name, [_written(cell) for cell in cells], table).add()
        return
    is_empty = np.array([isinstance(cell, str) for cell in cells])
    if is_empty.any():
        table.missing_found[""] += int(is_empty.sum())
    if not kinds:
        table.add_empty(name)
    elif kinds <= {int, float}:
        _add_numbers(table, name, np.array([np.nan if cell == "" else float(cell) for cell in cells]))
    else:
        table.add(name, np.array([None if cell == "" else cell for cell in cells], dtype="datetime64[us]"))


def _add_numbers(table: TableBuilder, name: str, numbers: np.ndarray) -> None:
    if not np.isfinite(numbers).all() or (numbers != np.trunc(numbers)).any():
        table.add(name, numbers)
        return
    is_inexact = np.abs(numbers) >= FIRST_INEXACT
    if not is_inexact.any():
        table.add(name, numbers.astype(np.int64))
        return
    note = (
        f"“{name}” contains whole numbers of which Excel stores only 15 digits, so identifiers may be "
        f"wrong ({table.places(is_inexact)})."
    )
    table.add(name, numbers, note)


def _written(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < FIRST_INEXACT:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell)
