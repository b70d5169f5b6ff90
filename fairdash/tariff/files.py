"""Export of tables of relativities as CSV and XLSX, and import with exactly the same numbers and levels.

A spreadsheet executes text that begins with =, +, - or @. A spreadsheet also drops spaces at the start and
end of a cell, and cannot store control characters. Text that a spreadsheet would execute or change is
therefore stored as a backslash followed by a JSON string:

>>> _encoded("=1+1"), _encoded("city"), _decoded(_encoded("=1+1"))
('\\\\"=1+1"', 'city', '=1+1')
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.errors import DataError, FairdashError, OptionError, StorageError
from fairdash.storage import write_whole
from fairdash.tables.readers.excel import MAX_EXCEL_CELLS, read_sheet, refuse_formulas
from fairdash.tables.readers.limits import check_file, too_large
from fairdash.tariff.relativities import NUMBERS, POINTS, RELATIVITY, TEXTS, in_words
from fairdash.tariff.terms import level_text
from fairdash.utils.text import few

#: Maximum number of characters in a cell of a workbook.
_MAX_CHARACTERS = 32_767
#: A formula in a spreadsheet can begin with these characters (OWASP, "CSV Injection"). Encoded text begins
#: with the backslash.
_FORMULA_STARTS = ("=", "+", "-", "@", "\\")
SHEET, INSTRUCTIONS = "Relativities", "How to rate"


class _FullPrecision(float):
    """Number that keeps all its digits in a workbook: XlsxWriter writes 16, but some numbers need 17."""

    def __format__(self, _: str) -> str:
        return repr(float(self))


def csv_of(table: pd.DataFrame) -> bytes:
    """Return a table of relativities as CSV, in UTF-8 with a byte order mark and with all digits."""
    return _escaped(table).to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig")


def xlsx_of(table: pd.DataFrame) -> bytes:
    """Return a workbook with a table of relativities and a sheet that explains how to compute premiums.

    Raises
    ------
    DataError
        Raised if the name of a level has more characters than a cell of a workbook can store.
    """
    import xlsxwriter

    content = io.BytesIO()
    workbook = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = workbook.add_worksheet(SHEET)
    bold = workbook.add_format({"bold": True, "bottom": 1})
    for column, name in enumerate(table.columns):
        sheet.write_string(0, column, name, bold)
    for row, cells in enumerate(_escaped(table).itertuples(index=False), start=1):
        for column, cell in enumerate(cells):
            if isinstance(cell, str):
                sheet.write_string(row, column, _checked_length(cell))
            elif not pd.isna(cell):
                sheet.write_number(row, column, _FullPrecision(cell))
    sheet.freeze_panes(1, 2)
    sheet.autofilter(0, 0, len(table), len(table.columns) - 1)
    sheet.set_column(0, len(table.columns) - 1, 14)
    words = workbook.add_worksheet(INSTRUCTIONS)
    words.set_column(0, 0, 100, workbook.add_format({"text_wrap": True, "valign": "top"}))
    for row, sentence in enumerate(in_words(table).splitlines()):
        words.write_string(row, 0, sentence[:_MAX_CHARACTERS])
    workbook.close()
    return content.getvalue()


def export(table: pd.DataFrame, path: str | PathLike[str]) -> None:
    """Write a table of relativities in the format of the file's extension, ``.csv`` or ``.xlsx``.

    Raises
    ------
    OptionError
        Raised if the extension of the file is not supported.
    DataError
        Raised if the name of a level has more characters than a cell of a workbook can store.
    StorageError
        Raised if the file cannot be written.
    """
    write_whole(Path(path), {".csv": csv_of, ".xlsx": xlsx_of}[_extension(path)](table))


def read_tariff(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a table of relativities from a ``.csv`` or ``.xlsx`` file, saved by fairdash or a spreadsheet.

    A CSV file must be encoded in UTF-8 and separated by commas. A workbook must have a sheet named
    “Relativities”.

    Raises
    ------
    OptionError
        Raised if the extension of the file is not supported.
    StorageError
        Raised if the file cannot be read, exceeds the size limit of uploads, or contains no table of
        relativities.

    Examples
    --------
    >>> import tempfile
    >>> X, age = pd.DataFrame({"km": [5.0, 10.0] * 50}), np.arange(100)
    >>> tariff = fd.FairTariff(lam=0).fit(X, [0, 1] * 50, sensitive_features=age)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tariff.export(f"{folder}/tariff.csv")
    ...     table = fd.read_tariff(f"{folder}/tariff.csv")
    >>> "km" in set(table["factor"])
    True
    """
    from_file = {".csv": cells_of_csv, ".xlsx": _cells_of_xlsx}[_extension(path)]
    text = f"the file {path} can't be read as a tariff"
    try:
        # The size is checked before the file is read into memory.
        check_file(Path(path).stat().st_size, b"")
        header, *rows = from_file(Path(path).read_bytes())
    except FairdashError as error:
        raise StorageError(
            *(replace(problem, what=f"{text}: {problem.what}", is_option=False) for problem in error.problems)
        ) from error
    except (OSError, ValueError, csv.Error) as error:
        raise StorageError.of(
            text, f"Give a CSV in UTF-8 with commas, or a workbook with the sheet “{SHEET}”."
        ) from error
    names = [str(name) for name in header]
    absent = [name for name in ("factor", "kind") if name not in names]
    if absent or (RELATIVITY in names) == (POINTS in names) or not rows:
        raise StorageError.of(
            f"{text}: it needs rows and columns “factor”, “kind” and either “{RELATIVITY}” or “{POINTS}”",
            "Give a file in the format that export() writes.",
        )
    repeated = sorted({name for name in names if name and names.count(name) > 1})
    if repeated:
        raise StorageError.of(
            f"{text}: {few(repeated)} appears twice in its header", "Keep one column per name."
        )
    return table_of_cells(names, rows)


def _extension(path: str | PathLike[str]) -> str:
    extension = Path(path).suffix.lower()
    if extension not in (".csv", ".xlsx"):
        raise OptionError.of("The file must be a .csv or an .xlsx", "Change its extension.", column="path")
    return extension


def cells_of_csv(content: bytes) -> list[list[Any]]:
    """Return the cells of a CSV file as text, or raise a ReadingError if the file is too large."""
    if content.count(b",") + content.count(b"\n") > MAX_EXCEL_CELLS:
        raise too_large(f"the table has more than {MAX_EXCEL_CELLS:,} cells")
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
    return list(csv.reader(text, strict=True))


def _cells_of_xlsx(content: bytes) -> list[list[Any]]:
    sheet = read_sheet(content, SHEET)
    refuse_formulas(sheet.xml)
    return sheet.rows


def _escaped(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with encoded text columns, ready to be written to a file."""
    texts = {name: table[name].map(_encoded, na_action="ignore") for name in table if name in TEXTS}
    return table.assign(**texts)


def table_of_cells(header: list[str], rows: list[list[Any]]) -> pd.DataFrame:
    """Convert cells to a table of relativities: text and float64 numbers; empty cells become missing."""
    columns: dict[str, pd.Series] = {}
    for index, name in enumerate(header):
        if name not in (*TEXTS, *NUMBERS, RELATIVITY, POINTS):
            continue
        convert, kind = (lambda cell: _decoded(level_text(cell)), object) if name in TEXTS else (float, float)
        cells = [row[index] if index < len(row) and row[index] != "" else None for row in rows]
        try:
            converted = [None if cell is None else convert(cell) for cell in cells]
        except (TypeError, ValueError, RecursionError) as error:
            raise StorageError.of(
                f"the column “{name}” of the tariff can't be read",
                "Correct its cells, or export the tariff again.",
            ) from error
        columns[name] = pd.Series(converted, dtype=kind)
    return pd.DataFrame(columns)


def _encoded(text: str) -> str:
    is_plain = text.isprintable() and text == text.strip() and text and not text.startswith(_FORMULA_STARTS)
    return text if is_plain else "\\" + json.dumps(text)


def _decoded(text: str) -> str:
    if not text.startswith("\\"):
        return text
    parsed = json.loads(text[1:])
    if not isinstance(parsed, str):
        raise TypeError("not a text")
    return parsed


def _checked_length(text: str) -> str:
    if len(text) > _MAX_CHARACTERS:
        raise DataError.of(
            f"a level's name has more than {_MAX_CHARACTERS:,} characters",
            "Shorten the name, or export a CSV.",
        )
    return text
