"""Excel workbooks written by hand, so that tests may write what no spreadsheet program would."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"

#: A date; the style that says so is written into every workbook.
DATE = 1


def letters(number: int) -> str:
    """A column's letters, from 1."""
    found = ""
    while number:
        number, rest = divmod(number - 1, 26)
        found = chr(65 + rest) + found
    return found


def cell(value: object, place: str) -> str:
    """A cell; an object that is no number, text or truth value is taken for its XML."""
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


def sheet_xml(rows: Sequence[Sequence[object]], *, first_row: int = 1, before: str = "") -> str:
    lines = []
    for r, row in enumerate(rows, start=first_row):
        cells = "".join(cell(value, f"{letters(c)}{r}") for c, value in enumerate(row, start=1))
        lines.append(f'<row r="{r}">{cells}</row>')
    return f'{HEAD}{before}<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def workbook(
    sheets: Mapping[str, Sequence[Sequence[object]] | str], *, hidden: Sequence[str] = (), **parts: str
) -> bytes:
    """A workbook of these sheets, each rows of cells or its XML; `parts` replaces whole parts by name."""
    names = list(sheets)
    listed = "".join(
        '<sheet name={} sheetId="{}" r:id="rId{}"{}/>'.format(
            quoteattr(name), k, k, ' state="hidden"' if name in hidden else ""
        )
        for k, name in enumerate(names, start=1)
    )
    links = "".join(
        f'<Relationship Id="rId{k}" Type="{LINKS}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(1, len(names) + 1)
    )
    kinds = "".join(
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" ContentType="application/vnd.openxmlformats-'
        'officedocument.spreadsheetml.worksheet+xml"/>'
        for k in range(1, len(names) + 1)
    )
    content = {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-'
        'types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships'
        '+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml"'
        ' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        f"{kinds}</Types>",
        "_rels/.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" '
        f'Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}">{links}<Relationship Id="rId98" '
        f'Type="{LINKS}/styles" Target="styles.xml"/><Relationship Id="rId99" Type="{LINKS}/sharedStrings" '
        'Target="sharedStrings.xml"/></Relationships>',
        "xl/styles.xml": f'{HEAD}<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f'{HEAD}<sst xmlns="{MAIN}"/>',
    }
    for k, rows in enumerate(sheets.values(), start=1):
        content[f"xl/worksheets/sheet{k}.xml"] = rows if isinstance(rows, str) else sheet_xml(rows)
    content |= parts
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return buffer.getvalue()
