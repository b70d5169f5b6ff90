"""Excel workbooks with handwritten sheet XML, which can contain cells that no spreadsheet program writes."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import xlsxwriter
from xlsxwriter.utility import xl_rowcol_to_cell

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

#: A sheet with a cell in its first and its last corner.
CORNERS = (
    f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
    '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
)
#: Number of the date style, which every workbook contains.
DATE = 1


def cell(value: object, place: str) -> str:
    """A cell; an object that is no number, text or truth value is used as the cell's XML."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return value(place)


def day(serial: int):
    return lambda place: f'<c r="{place}" s="{DATE}"><v>{serial}</v></c>'


def formula(text: str, result: object = None):
    value = "" if result is None else f"<v>{result}</v>"
    return lambda place: f'<c r="{place}"><f>{escape(text)}</f>{value}</c>'


def sheet_xml(rows: Sequence[Sequence[object]]) -> str:
    lines = []
    for r, row in enumerate(rows):
        cells = "".join(cell(value, xl_rowcol_to_cell(r, c)) for c, value in enumerate(row))
        lines.append(f'<row r="{r + 1}">{cells}</row>')
    return f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def workbook(
    sheets: Mapping[str, Sequence[Sequence[object]] | str],
    *,
    hidden: Sequence[str] = (),
    **parts: str | bytes,
) -> bytes:
    """A workbook of sheets given as rows of cells or as XML; `parts` replaces files inside it by name."""
    frame, filled = io.BytesIO(), io.BytesIO()
    with xlsxwriter.Workbook(frame, {"in_memory": True}) as made:
        date = made.add_format({"num_format": 14})
        for name in sheets:
            sheet = made.add_worksheet(name)
            # Write one text and one date, so that the workbook has styles and a table of texts.
            sheet.write(0, 0, "", date)
            sheet.write(0, 1, "text")
            show = sheet.hide if name in hidden else sheet.activate
            show()
    for k, rows in enumerate(sheets.values(), start=1):
        part = f"xl/worksheets/sheet{k}.xml"
        parts = {part: rows if isinstance(rows, str) else sheet_xml(rows), **parts}
    with zipfile.ZipFile(frame) as old, zipfile.ZipFile(filled, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name, old.read(name)))
    return filled.getvalue()
