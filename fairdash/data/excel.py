"""Excel workbooks (.xlsx, .xlsm): looked through for traps first, then read by a fast engine.

An .xlsx is a zip archive of XML. A few kilobytes of it can unpack to gigabytes, name a cell in the last
corner of a sheet of 17 billion, or repeat one long text a million times; so each part is unpacked up to a
limit, and rows × columns and the length of the texts are counted before the cells are read.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from fairdash.data.cells import FIRST_INEXACT, ColumnFound
from fairdash.data.headers import named
from fairdash.data.typed import TypedTable, mixed_column, no_rows, too_large
from fairdash.data.wording import at_lines, counted, few
from fairdash.errors import OptionError, Problem, ReadingError

#: More cells than this take a spreadsheet's readers minutes and gigabytes.
MOST_EXCEL_CELLS = 5 * 10**6
#: Bytes of all parts together, unpacked.
MOST_BYTES = 600 * 10**6
#: Characters of all cells together.
MOST_CHARACTERS = 500 * 10**6

_WORKBOOK = "xl/workbook.xml"
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CELL = re.compile(rb'<(?:\w+:)?c\b(?:[^>]*?\br="\$?([A-Za-z]{1,3})\$?(\d{1,7})")?')
_ROW = re.compile(rb'<(?:\w+:)?row\b[^>]*?\br="(\d+)"')
_TEXT_CELL = re.compile(rb'<(?:\w+:)?c\b[^>]*?\bt="s"[^>]*>\s*<(?:\w+:)?v>(\d{1,9})</')
_TEXT = re.compile(rb"<(?:\w+:)?si\b.*?</(?:\w+:)?si>|<(?:\w+:)?si\s*/>", re.DOTALL)
#: A formula without the result that a spreadsheet program would have kept beside it.
_NO_RESULT = re.compile(
    rb'<(?:\w+:)?c\b(?![^>]*\bt="str")[^>]*?\br="([A-Z]{1,3})(\d{1,7})"[^>]*>\s*'
    rb"<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)


@dataclass(frozen=True)
class _Sheet:
    name: str
    part: str
    hidden: bool


def is_workbook(names: Sequence[str]) -> bool:
    """Say whether an archive with these members is a workbook that can be read here."""
    return _WORKBOOK in names


def read_excel(
    content: bytes,
    *,
    marks: Sequence[str],
    most_columns: int,
    sheet: str | None = None,
    number_names: bool = False,
) -> TypedTable:
    """Read one sheet of a workbook; its first row that is not empty is the header.

    Parameters
    ----------
    content
        The whole file.
    marks
        Texts that count as missing, besides the empty cell.
    most_columns
        Limit; that of the cells is :data:`MOST_EXCEL_CELLS`.
    sheet
        Name of the sheet; the first that is not hidden by default.
    number_names
        See :func:`~fairdash.data.headers.named`.

    Raises
    ------
    ReadingError
        The file is damaged, locked, too large, declares XML entities, has no rows, or has formulas whose
        results are not in the file.
    OptionError
        There is no sheet of that name.
    """
    import python_calamine

    sheets, formulas = _look_through(content, sheet)
    chosen = _choose(sheets, sheet)
    try:
        with python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            found = book.get_sheet_by_name(chosen.name)
            rows = found.to_python(skip_empty_area=True)
            start = found.start or (0, 0)
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise _damaged() from error
    table = _table(rows, start[0] + 1, marks, most_columns, formulas, number_names)
    others = [one.name for one in sheets if one is not chosen and not one.hidden]
    hidden = [one.name for one in sheets if one is not chosen and one.hidden]
    notes = list(table.notes)
    if len(sheets) > 1:
        notes.insert(
            0,
            f"Sheet “{chosen.name}” is read{', which is hidden' if chosen.hidden else ''}"
            + (f"; there {'is' if len(others) == 1 else 'are'} also {few(others)}" if others else "")
            + (f"; hidden in the file: {few(hidden)}" if hidden else "")
            + ".",
        )
    return TypedTable(
        columns=table.columns,
        lines=table.lines,
        renamed=table.renamed,
        notes=notes,
        missing_found=table.missing_found,
        sheet=chosen.name,
        sheets=tuple(one.name for one in sheets),
    )


def sheet_names(content: bytes) -> tuple[str, ...]:
    """Names of a workbook's sheets in their order, hidden ones too; ReadingError if it is damaged."""
    return tuple(one.name for one in _sheets(_parts(content)))


def _choose(sheets: Sequence[_Sheet], name: str | None) -> _Sheet:
    if name is not None:
        for one in sheets:
            if one.name == name:
                return one
        raise OptionError(
            Problem(
                what="the workbook has no sheet of this name",
                mend=f"It has {few([one.name for one in sheets])}.",
            )
        )
    if not sheets:
        raise ReadingError(Problem(what="the workbook has no sheet with cells", mend="Choose another file."))
    return next((one for one in sheets if not one.hidden), sheets[0])


def _look_through(content: bytes, wanted: str | None) -> tuple[list[_Sheet], dict[str, list[int]]]:
    """Give the sheets, and the lines of formulas without result by column letters of the chosen one."""
    parts = _parts(content)
    sheets = _sheets(parts)
    chosen = _choose(sheets, wanted)
    cells = parts[chosen.part]
    _check_cells(cells, parts)
    formulas: dict[str, list[int]] = {}
    if b"<f" in cells or b":f" in cells:
        for column, line in _NO_RESULT.findall(cells):
            formulas.setdefault(column.decode(), []).append(int(line))
    return sheets, formulas


def _parts(content: bytes) -> dict[str, bytes]:
    """Give the parts of a workbook by name, each free of traps that lie in XML itself."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = _unpacked(archive)
    except ReadingError:
        raise
    # IndexError: a member without a name.
    except (OSError, EOFError, ValueError, RuntimeError, IndexError, zlib.error, zipfile.BadZipFile) as error:
        raise _damaged() from error
    for part in parts.values():
        _refuse_entities(part)
    return parts


def _unpacked(archive: zipfile.ZipFile) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    left = MOST_BYTES
    for member in archive.infolist():
        name = member.filename.lstrip("/")
        if member.is_dir() or not name.lower().endswith((".xml", ".rels")):
            continue
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ReadingError(
                Problem(
                    what="the workbook is locked or packed in an unusual way",
                    mend="Save it without a password, as .xlsx.",
                )
            )
        if name in parts:
            raise _damaged()
        with archive.open(member) as packed:
            parts[name] = packed.read(left + 1)
        left -= len(parts[name])
        if left < 0:
            raise too_large(f"the workbook has more than {MOST_BYTES // 10**6:,} MB when it is unpacked")
    return parts


def _refuse_entities(part: bytes) -> None:
    # No spreadsheet program writes a document type. In UTF-16 it would not be seen here.
    if b"<!DOCTYPE" in part or b"<!ENTITY" in part or b"\x00" in part[:200] or part[:2] in _UTF16:
        raise ReadingError(
            Problem(
                what="the workbook declares XML entities, or is written in an unusual way",
                mend="Open it in a spreadsheet program and save it again as .xlsx, or as CSV.",
            )
        )


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _sheets(parts: dict[str, bytes]) -> list[_Sheet]:
    try:
        book = ElementTree.fromstring(parts[_WORKBOOK])  # noqa: S314 - see _refuse_entities
        links = ElementTree.fromstring(parts["xl/_rels/workbook.xml.rels"])  # noqa: S314
    # LookupError: a part is not there, or names an encoding that nobody knows.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise _damaged() from error
    targets = {}
    for link in links:
        target = link.get("Target", "")
        targets[link.get("Id")] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    found = []
    for one in book.iter(f"{_MAIN}sheet"):
        part = targets.get(one.get(_LINK), "")
        # Charts and macros stand in the list of sheets too.
        name = one.get("name")
        if name is not None and part in parts and b"sheetData" in parts[part]:
            found.append(_Sheet(name=name, part=part, hidden=one.get("state", "visible") != "visible"))
    return found


def _check_cells(cells: bytes, parts: dict[str, bytes]) -> None:
    """Refuse a sheet by its size: the reader lays out all cells from the first to the last corner."""
    count = rows = 0
    widest: dict[bytes, int] = {}
    for column, row in _CELL.findall(cells):
        count += 1
        if column not in widest:
            widest[column] = _column_number(column) if column else 0
        if row:
            rows = max(rows, int(row))
        if count > MOST_EXCEL_CELLS:
            break
    rows = max(rows, max((int(row) for row in _ROW.findall(cells)), default=0))
    width = max(widest.values(), default=0)
    # Cells that don't say where they are follow one another.
    area = max(rows * width, count)
    if area > MOST_EXCEL_CELLS:
        raise ReadingError(
            Problem(
                what=f"the sheet reaches over {area:,} cells, more than {MOST_EXCEL_CELLS:,}",
                mend="Delete stray cells far from the table, or save the sheet as CSV or Parquet.",
            )
        )
    texts = next((part for name, part in parts.items() if name.lower() == "xl/sharedstrings.xml"), b"")
    lengths = np.array([len(text) for text in _TEXT.findall(texts)] or [0])
    used = np.array([int(place) for place in _TEXT_CELL.findall(cells)], dtype=np.int64)
    total = int(lengths[used[used < len(lengths)]].sum())
    if total > MOST_CHARACTERS:
        raise too_large(f"the sheet's texts have {total:,} characters, more than {MOST_CHARACTERS:,}")


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def _damaged() -> ReadingError:
    return ReadingError(
        Problem(what="this workbook is incomplete or damaged", mend="Fetch or save the file again.")
    )


def _table(
    rows: list[list[Any]],
    first_line: int,
    marks: Sequence[str],
    most_columns: int,
    formulas: dict[str, list[int]],
    number_names: bool,
) -> TypedTable:
    filled = [k for k, row in enumerate(rows) if any(cell != "" for cell in row)]
    if not filled:
        raise ReadingError(
            Problem(what="the sheet is empty: it has no data rows", mend="Choose another sheet or file.")
        )
    header = rows[filled[0]]
    if len(header) > most_columns:
        raise too_large(f"the table has {len(header):,} columns, more than {most_columns:,}")
    body = filled[1:]
    if not body:
        raise no_rows("the sheet")
    names, renamed, notes = named(
        [_written(cell) if not isinstance(cell, str) else cell for cell in header], number=number_names
    )
    lines = np.array(body, dtype=np.int64) + first_line
    n_empty = body[-1] - filled[0] - len(body)
    if n_empty:
        notes.append(f"Empty lines skipped: {n_empty:,}.")
    _refuse_formulas(formulas)
    columns: list[ColumnFound] = []
    missing: Counter[str] = Counter()
    for position, name in enumerate(names):
        column, marked = _column(name, [rows[k][position] for k in body], marks, lines)
        columns.append(column)
        missing.update(marked)
    return TypedTable(columns=columns, lines=lines, renamed=renamed, notes=notes, missing_found=dict(missing))


def _refuse_formulas(formulas: dict[str, list[int]]) -> None:
    if not formulas:
        return
    raise ReadingError(
        *(
            Problem(
                what=f"in column {letters} of the sheet stand formulas whose results are not in the file",
                mend="Open the file in a spreadsheet program, save it again, and choose that file.",
                lines=lines[:5],
                count=len(lines),
            )
            for letters, lines in sorted(formulas.items())
        )
    )


def _column(
    name: str, cells: list[Any], marks: Sequence[str], lines: np.ndarray
) -> tuple[ColumnFound, dict[str, int]]:
    kinds = {type(cell) for cell in cells if cell != ""}
    empty = np.array([cell == "" and isinstance(cell, str) for cell in cells])
    missing = {"": int(empty.sum())} if empty.any() else {}
    if not kinds:
        return ColumnFound(values=pd.Series(np.full(len(cells), np.nan), name=name)), missing
    if kinds <= {int, float}:
        numbers = np.array([np.nan if cell == "" else float(cell) for cell in cells])
        return _numbers(name, numbers, empty, lines), missing
    if kinds <= {datetime.date, datetime.datetime}:
        days = [None if cell == "" else cell for cell in cells]
        values = pd.Series(np.array(days, dtype="datetime64[us]"), name=name)
        return ColumnFound(values=values), missing
    # Mixed cells are judged as in a delimited file: by what all of them, written out, look like.
    return mixed_column(name, [_written(cell) for cell in cells], marks, lines)


def _numbers(name: str, numbers: np.ndarray, empty: np.ndarray, lines: np.ndarray) -> ColumnFound:
    if empty.any() or (numbers != np.trunc(numbers)).any() or not np.isfinite(numbers).all():
        return ColumnFound(values=pd.Series(numbers, name=name))
    long = np.abs(numbers) >= FIRST_INEXACT
    if not long.any():
        return ColumnFound(values=pd.Series(numbers.astype(np.int64), name=name))
    count = int(long.sum())
    note = (
        f"“{name}” holds whole numbers that Excel keeps to 15 digits only: identifiers among them may be "
        f"altered ({counted(count, 'cell')}, {at_lines(lines[long], count)})."
    )
    return ColumnFound(values=pd.Series(numbers, name=name), notes=(note,))


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
