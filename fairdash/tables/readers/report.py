"""Options for reading a file, messages on progress, and the report on the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from fairdash.tables.readers.encoding import encoding_name
from fairdash.utils.text import counted, few

TEXT, EXCEL, R_DATA, PARQUET = "text", "Excel", "R", "Parquet"
SAS, STATA, SPSS = "SAS", "Stata", "SPSS"
#: Display names of all formats except text.
FORMATS = {
    PARQUET: "a Parquet file",
    EXCEL: "an Excel workbook",
    R_DATA: "an R data file",
    SAS: "a SAS file",
    STATA: "a Stata file",
    SPSS: "an SPSS file",
}
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}

Renamed = tuple[tuple[int, str], ...]

# The listener is not an argument of the readers, because the cache of tables uses their arguments as keys.
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options for the reading of a file. If an option is None, the reader detects its value.

    Parameters
    ----------
    encoding
        Name of an encoding in Python, such as ``"cp1252"``.
    delimiter
        Character between cells.
    decimal
        ``"."`` or ``","``.
    missing_values
        Strings that mean a missing cell, in addition to the empty cell. They replace the default strings.
    also_missing
        Further strings or numbers that mean a missing cell, in all columns (``"999"``) or in one column
        (``"age=999"``).
    sheet
        Sheet of a workbook, or table of an R file or a SAS transport file.
    number_names
        True to add numbers to repeated names. The second ``age`` becomes ``age (2)``.
    header_row
        Line of a text, or row of a sheet, with the names of the columns. All lines above it are ignored.
    keep_below
        True to read totals and notes below the table as rows.
    one_spelling
        Columns whose levels may differ only in capitals or spaces. The most frequent spelling replaces the
        others.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    missing_values: tuple[str, ...] | None = None
    also_missing: tuple[str, ...] = ()
    sheet: str | None = None
    number_names: bool = False
    header_row: int | None = None
    keep_below: bool = False
    one_spelling: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.missing_values is not None:
            if isinstance(self.missing_values, str):
                raise TypeError("missing_values must be a tuple of texts, not a single text")
            object.__setattr__(self, "missing_values", tuple(self.missing_values))


@dataclass(frozen=True, kw_only=True)
class ReadingReport:
    """Report on the reading of a file.

    Parameters
    ----------
    name
        Name of the file, for display.
    format
        ``"text"``, ``"Parquet"``, ``"Excel"``, ``"R"``, ``"SAS"``, ``"Stata"`` or ``"SPSS"``.
    encoding, delimiter
        Encoding and delimiter, detected or selected; None for a file that is not text.
    decimal
        ``","`` if any number has a decimal comma, else ``"."``.
    n_rows, n_columns
        Shape of the table.
    decimal_commas
        Map from columns to numbers of cells with a decimal comma.
    missing_marks
        Strings that mean a missing cell, in addition to the empty cell.
    missing_found
        Map from these strings to numbers of cells, where ``""`` is the empty cell.
    units
        Map from columns to the currency or percent sign in their cells.
    renamed
        ``(position, name)`` of each column whose header was blank, was repeated, or had spaces at its start
        or end. The first column has position 1.
    notes
        Further sentences for the user.
    lines : array, shape (n_rows,)
        Line of the file, or row of the sheet, on which each row begins. For a file without lines, the row
        number from 1.
    sheet, sheets
        Name of the sheet or table that was read, and names of all sheets or tables. If the file has only one
        sheet or table, `sheet` is None and `sheets` is empty.
    """

    name: str = "table"
    format: str = TEXT
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str
    n_rows: int
    n_columns: int
    decimal_commas: Mapping[str, int]
    missing_marks: tuple[str, ...]
    missing_found: Mapping[str, int]
    renamed: Renamed
    notes: tuple[str, ...]
    lines: np.ndarray = field(repr=False, compare=False)
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    def sentences(self) -> tuple[str, ...]:
        """Describe the reading in plain sentences, the most important sentence first."""
        title = FORMATS.get(self.format, "")
        if self.encoding is not None and self.delimiter is not None:
            title = (
                f"{encoding_name(self.encoding)} with {_delimiter_name(self.delimiter)}s between the cells"
            )
        words = [f"Read as {title}: {counted(self.n_rows, 'row')}, {counted(self.n_columns, 'column')}."]
        if self.decimal_commas:
            words.append(
                f"Numbers with a decimal comma: {counted(sum(self.decimal_commas.values()), 'cell')} in "
                f"{counted(len(self.decimal_commas), 'column')} ({few(self.decimal_commas)})."
            )
        if self.units:
            units_in_text = ", ".join(f"“{column}” in {unit}" for column, unit in self.units.items())
            words.append(f"Units are removed from numbers and stored separately: {units_in_text}.")
        if self.missing_found:
            units_in_text = ", ".join(
                f"{count:,} {f'marked “{mark}”' if mark else 'empty'}"
                for mark, count in sorted(self.missing_found.items(), key=lambda item: -item[1])
            )
            words.append(f"Missing cells: {units_in_text}.")
        else:
            words.append("No cell is missing.")
        if self.renamed:
            words.append(
                "Changed column names: "
                + ", ".join(f"column {position} is “{name}”" for position, name in self.renamed[:10])
                + (", …" if len(self.renamed) > 10 else "")
                + "."
            )
        return (*words, *self.notes)


def _delimiter_name(delimiter: str) -> str:
    return _DELIMITERS.get(delimiter, f"“{delimiter}”")


@contextmanager
def listen_with(listener: Callable[[str], None]) -> Iterator[None]:
    """Send the readers' progress messages in this context, such as “100 rows so far”, to a listener.

    Examples
    --------
    >>> with listen_with(print):
    ...     report_progress("100 rows")
    100 rows
    >>> report_progress("nobody hears this")
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def report_progress(message: str) -> None:
    """Send a message on the progress of the reading to the listener, if there is one."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(message)
