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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from fairdash.data.cells import MISSING_MARKS, TextColumn
from fairdash.data.columnar import FEATHER, PARQUET, read_feather, read_parquet
from fairdash.data.content import check_encoding, check_is_text, encoding_name, find_encoding
from fairdash.data.dialect import (
    announced_delimiter,
    check_delimiter,
    cut,
    delimiter_name,
    find_delimiter,
)
from fairdash.data.excel import is_workbook, read_excel, sheet_names
from fairdash.data.headers import named
from fairdash.data.packed import unpack
from fairdash.data.r_file import MARKS, frame_names, read_rda
from fairdash.data.typed import TypedTable, too_large
from fairdash.data.wording import counted, few
from fairdash.errors import FairdashError, OptionError, Problem, ReadingError

LARGEST_FILE = 200 * 10**6
MOST_CELLS = 50 * 10**6
MOST_COLUMNS = 10_000

TEXT, EXCEL = "text", "Excel"
_FORMATS = {
    "Parquet": "a Parquet file",
    "Feather": "a Feather file",
    EXCEL: "an Excel workbook",
    "R": "an R data file",
}


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What the user decides about reading; None leaves it to be found.

    Parameters
    ----------
    encoding
        A name that Python knows, such as ``"cp1252"``.
    delimiter
        One character.
    decimal
        ``"."`` or ``","``.
    missing_values
        Cells that count as missing, besides the empty one.
    sheet
        Which sheet of a workbook, or which data frame of an R file.
    number_names
        Whether a name that stands over several columns is numbered: the second ``age`` becomes ``age (2)``.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    missing_values: tuple[str, ...] | None = None
    sheet: str | None = None
    number_names: bool = False

    def __post_init__(self) -> None:
        if self.missing_values is not None:
            if isinstance(self.missing_values, str):
                raise TypeError("missing_values takes a tuple of marks, not one mark")
            object.__setattr__(self, "missing_values", tuple(self.missing_values))


@dataclass(frozen=True, kw_only=True)
class ReadingReport:
    """How a file was read.

    Parameters
    ----------
    name
        Name of the file, for display.
    format
        ``"text"``, ``"Parquet"``, ``"Feather"``, ``"Excel"`` or ``"R"``.
    encoding, delimiter
        As found or chosen; None of a file that is not text.
    decimal
        ``","`` if any number has a decimal comma, else ``"."``.
    n_rows, n_columns
        Shape of the table.
    decimal_commas
        Column to the number of its cells with a decimal comma.
    missing_marks
        The marks that count as missing, besides the empty cell.
    missing_found
        Mark to the number of cells that hold it; ``""`` is the empty cell.
    renamed
        ``(position, name)`` of the columns whose header was blank, had spaces around it or was numbered; the
        first column has position 1.
    notes
        Whole sentences on what else the user should know.
    lines : array, shape (n_rows,)
        The line of the file that each row begins on; of a sheet its row, and of a file without lines the
        number of the row, from 1.
    sheet, sheets
        The sheet or table that was read, of which; None and empty where a file holds one alone.
    """

    name: str
    format: str = TEXT
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str
    n_rows: int
    n_columns: int
    decimal_commas: dict[str, int]
    missing_marks: tuple[str, ...]
    missing_found: dict[str, int]
    renamed: tuple[tuple[int, str], ...]
    notes: tuple[str, ...]
    lines: np.ndarray = field(repr=False, compare=False)
    sheet: str | None = None
    sheets: tuple[str, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        """Say it in plain words, the most important first."""
        way = _FORMATS.get(self.format, "")
        if self.encoding is not None and self.delimiter is not None:
            way = f"{encoding_name(self.encoding)} with {delimiter_name(self.delimiter)}s between the cells"
        words = [f"Read as {way}: {counted(self.n_rows, 'row')}, {counted(self.n_columns, 'column')}."]
        if self.decimal_commas:
            words.append(
                f"Numbers with a decimal comma: {counted(sum(self.decimal_commas.values()), 'cell')} in "
                f"{counted(len(self.decimal_commas), 'column')} ({few(self.decimal_commas)})."
            )
        if self.missing_found:
            found = ", ".join(
                f"{count:,} {f'marked “{mark}”' if mark else 'empty'}"
                for mark, count in sorted(self.missing_found.items(), key=lambda item: -item[1])
            )
            words.append(f"Missing cells: {found}.")
        else:
            words.append("No cell is missing.")
        if self.renamed:
            words.append(
                "Columns named, trimmed or numbered: "
                + ", ".join(f"column {position} is “{name}”" for position, name in self.renamed[:10])
                + (", …" if len(self.renamed) > 10 else "")
                + "."
            )
        return (*words, *self.notes)


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
) -> tuple[pd.DataFrame, ReadingReport]:
    """Read delimited text, Parquet, Feather, an Excel workbook or R's .rda, packed (gzip, zip) or by itself.

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
    encoding, delimiter, decimal, missing_values, sheet, number_names
        See :class:`ReadingOptions`; what is left out is found, and said in the report.

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
    content = _bytes_of(source)
    if name is None:
        name = "table" if isinstance(source, bytes) else Path(source).name
    if len(content) > LARGEST_FILE:
        raise too_large(f"the file has {len(content) / 1e6:,.0f} MB, more than {LARGEST_FILE // 10**6:,}")
    content, packed = unpack(content, largest=LARGEST_FILE)
    if not content.strip():
        raise ReadingError(
            Problem(what="the file is empty: it has no data rows", mend="Choose another file.")
        )
    unpacked = () if packed is None else (f"Unpacked from {packed}.",)
    kind = _kind_of(content)
    if kind != TEXT:
        for option, chosen in (("encoding", encoding), ("delimiter", delimiter), ("decimal mark", decimal)):
            if chosen is not None:
                raise OptionError(
                    Problem(what=f"{_FORMATS[kind]} has no {option} to choose", mend="Leave it as found.")
                )
        table = _read_typed(content, kind, missing_values, sheet, number_names)
        marks = _marks(missing_values) if kind == EXCEL else tuple(missing_values or ())
        return _described(table, name=name, kind=kind, marks=marks, notes=unpacked)
    if sheet is not None:
        raise OptionError(Problem(what="a text table has no sheets to choose from", mend="Choose none."))
    return _read_text(
        content,
        name=name,
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
        missing_values=missing_values,
        number_names=number_names,
        notes=unpacked,
    )


def file_contents(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Tell a file's format, as :attr:`ReadingReport.format` has it, and the sheets of a workbook.

    Raises
    ------
    ReadingError
        The file can't be unpacked, or is a workbook that can't be read.
    """
    content, _ = unpack(content, largest=LARGEST_FILE)
    kind = _kind_of(content)
    if kind == EXCEL:
        return kind, sheet_names(content)
    if kind == "R":
        return kind, frame_names(content, most_cells=MOST_CELLS)
    return kind, ()


def _kind_of(content: bytes) -> str:
    """Tell a file's format by its first bytes; text is what is none of the others."""
    if content.startswith(PARQUET):
        return "Parquet"
    if content.startswith(FEATHER):
        return "Feather"
    if content.startswith(MARKS):
        return "R"
    if content.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return EXCEL if is_workbook(archive.namelist()) else TEXT
        except (OSError, ValueError, zipfile.BadZipFile):
            return TEXT
    return TEXT


def _marks(missing_values: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(MISSING_MARKS if missing_values is None else (mark.strip() for mark in missing_values))


def _read_typed(
    content: bytes, kind: str, missing_values: Sequence[str] | None, sheet: str | None, number_names: bool
) -> TypedTable:
    if kind == EXCEL:
        return read_excel(
            content,
            marks=_marks(missing_values),
            most_columns=MOST_COLUMNS,
            sheet=sheet,
            number_names=number_names,
        )
    if kind == "R":
        return read_rda(
            content,
            most_cells=MOST_CELLS,
            most_columns=MOST_COLUMNS,
            sheet=sheet,
            missing_values=missing_values,
            number_names=number_names,
        )
    if sheet is not None:
        raise OptionError(Problem(what=f"{_FORMATS[kind]} has no sheets to choose from", mend="Choose none."))
    read = read_parquet if kind == "Parquet" else read_feather
    return read(
        content,
        most_cells=MOST_CELLS,
        most_columns=MOST_COLUMNS,
        missing_values=missing_values,
        number_names=number_names,
    )


def _described(
    table: TypedTable, *, name: str, kind: str, marks: tuple[str, ...], notes: Sequence[str]
) -> tuple[pd.DataFrame, ReadingReport]:
    problems = [problem for column in table.columns for problem in column.problems]
    if problems:
        raise ReadingError(*problems)
    commas = {str(c.values.name): c.decimal_commas for c in table.columns if c.decimal_commas}
    report = ReadingReport(
        name=name,
        format=kind,
        decimal="," if commas else ".",
        n_rows=len(table.lines),
        n_columns=len(table.columns),
        decimal_commas=commas,
        missing_marks=marks,
        missing_found=table.missing_found,
        renamed=table.renamed,
        notes=(*notes, *table.notes, *(note for column in table.columns for note in column.notes)),
        lines=table.lines,
        sheet=table.sheet,
        sheets=table.sheets,
    )
    return pd.DataFrame({str(column.values.name): column.values for column in table.columns}), report


def _read_text(
    content: bytes,
    *,
    name: str,
    encoding: str | None,
    delimiter: str | None,
    decimal: str | None,
    missing_values: Sequence[str] | None,
    number_names: bool,
    notes: Sequence[str],
) -> tuple[pd.DataFrame, ReadingReport]:
    if decimal not in (None, ".", ","):
        raise OptionError(Problem(what="this can't be a decimal mark", mend="Choose a point or a comma."))
    if encoding is not None:
        encoding = check_encoding(content, encoding)
    check_is_text(content, encoding=encoding)
    if encoding is None:
        encoding = find_encoding(content)
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    if delimiter is None:
        delimiter = announced_delimiter(text) or find_delimiter(text)
    check_delimiter(delimiter)
    _check_size(content, text, delimiter)

    table = cut(text, delimiter=delimiter)
    names, renamed, remarks = named(table.header, number=number_names)
    if table.n_empty_lines:
        remarks.append(f"Empty lines skipped: {table.n_empty_lines:,}.")
    marks = _marks(missing_values)
    columns = [TextColumn(column, cells, marks) for column, cells in zip(names, table.columns, strict=True)]
    allowed, doubted = _decimal_marks(columns, decimal, delimiter)
    found = [column.convert(marks=allowed, doubted=doubted, lines=table.lines) for column in columns]
    problems = [problem for column in found for problem in column.problems]
    if problems:
        raise ReadingError(*problems)

    missing_found: Counter[str] = Counter()
    for column in columns:
        missing_found.update(column.marks_found())
    decimal_commas = {str(c.values.name): c.decimal_commas for c in found if c.decimal_commas}
    report = ReadingReport(
        name=name,
        encoding=encoding,
        delimiter=delimiter,
        decimal="," if decimal_commas else ".",
        n_rows=len(table.lines),
        n_columns=len(names),
        decimal_commas=decimal_commas,
        missing_marks=marks,
        missing_found=dict(missing_found),
        renamed=renamed,
        notes=(*notes, *remarks, *(note for column in found for note in column.notes)),
        lines=table.lines,
    )
    frame = pd.DataFrame({str(column.values.name): column.values for column in found})
    return frame, report


def _bytes_of(source: str | Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        size = Path(source).stat().st_size
        if size > LARGEST_FILE:
            raise too_large(f"the file has {size / 1e6:,.0f} MB, more than {LARGEST_FILE // 10**6:,}")
        return Path(source).read_bytes()
    # ValueError: a NUL in the path. A FairdashError is also a ValueError or an OSError.
    except FairdashError:
        raise
    except (OSError, ValueError) as error:
        raise ReadingError(
            Problem(
                what=f"the file can't be opened ({getattr(error, 'strerror', None) or 'not a path'})",
                mend="Check that it is there and that you may read it.",
            )
        ) from None


def _check_size(content: bytes, text: io.TextIOBase, delimiter: str) -> None:
    """Refuse a table by its size before its cells are cut."""
    text.seek(0)
    # Quoted or not, a header does not have more cells than delimiters and one.
    width = text.readline().count(delimiter) + 1
    if width > MOST_COLUMNS:
        raise too_large(f"the table has about {width:,} columns, more than {MOST_COLUMNS:,}")
    rows = max(content.count(b"\n"), content.count(b"\r"))
    if rows * width > MOST_CELLS:
        raise too_large(f"the table has about {rows * width:,} cells, more than {MOST_CELLS:,}")


def _decimal_marks(
    columns: Sequence[TextColumn], decimal: str | None, delimiter: str
) -> tuple[list[str], list[str]]:
    """Give the decimal marks that numbers may have, and those of them that may separate thousands."""
    if decimal is not None:
        return [decimal], []
    evidence = [column.decimal_evidence() for column in columns]
    comma, dot = any(sure for sure, _ in evidence), any(sure for _, sure in evidence)
    doubted = []
    if not comma or dot:
        doubted.append(",")
    if comma or (delimiter == ";" and not dot):
        # Programs that write semicolons do so because their comma is taken.
        doubted.append(".")
    return [".", ","], doubted
