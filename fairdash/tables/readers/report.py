"""Options for reading a file, progress while it is read, and the report afterwards."""

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
#: Name of a file that is not text.
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

# This is not an argument, because the cache of tables between page and reader uses the file and the options
# as its key.
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Reading options; None means detection.

    Parameters
    ----------
    encoding
        A name that Python knows, such as ``"cp1252"``.
    delimiter
        One character.
    decimal
        ``"."`` or ``","``.
    missing_values
        Texts that count as missing, besides the empty cell; they replace the default marks.
    also_missing
        Further such texts or numbers, in all columns or in one: ``"999"`` or ``"age=999"``.
    sheet
        Sheet of a workbook, or table of an R file or a SAS transport file.
    number_names
        Whether a repeated column name is numbered: the second ``age`` becomes ``age (2)``.
    header_row
        The line of a text, or the row of a sheet, with the column names; lines above it are not read.
    keep_below
        Whether totals and notes below the table are kept as rows.
    one_spelling
        Columns whose levels differ only in capitals or spaces and are merged into the most common of them.
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
                raise TypeError("missing_values takes a tuple of marks, not one mark")
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
        As detected or chosen; None for files that are not text.
    decimal
        ``","`` if any number has a decimal comma, else ``"."``.
    n_rows, n_columns
        Shape of the table.
    decimal_commas
        Column to the number of its cells with a decimal comma.
    missing_marks
        The marks that count as missing, besides the empty cell.
    missing_found
        Mark to its number of cells; ``""`` is the empty cell.
    units
        Column to the currency or percent sign in its cells.
    renamed
        ``(position, name)`` of the columns whose header was blank, had spaces around it or was numbered; the
        first column has position 1.
    notes
        Further sentences for the user.
    lines : array, shape (n_rows,)
        The line of the file on which each row begins; for a sheet its row, and for a file without lines the
        number of the row, from 1.
    sheet, sheets
        The sheet or table that was read, and all available ones; None and empty if a file holds only one.
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
        """Describe the reading in plain words, most important first."""
        way = FORMATS.get(self.format, "")
        if self.encoding is not None and self.delimiter is not None:
            way = f"{encoding_name(self.encoding)} with {_delimiter_name(self.delimiter)}s between the cells"
        words = [f"Read as {way}: {counted(self.n_rows, 'row')}, {counted(self.n_columns, 'column')}."]
        if self.decimal_commas:
            words.append(
                f"Numbers with a decimal comma: {counted(sum(self.decimal_commas.values()), 'cell')} in "
                f"{counted(len(self.decimal_commas), 'column')} ({few(self.decimal_commas)})."
            )
        if self.units:
            found = ", ".join(f"“{column}” in {unit}" for column, unit in self.units.items())
            words.append(f"Numbers with a unit, which is removed from the cells and stored: {found}.")
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


def _delimiter_name(delimiter: str) -> str:
    return _DELIMITERS.get(delimiter, f"“{delimiter}”")


@contextmanager
def heard_by(listener: Callable[[str], None]) -> Iterator[None]:
    """Report the steps of readers inside this context to a listener, each as the end of a sentence.

    Examples
    --------
    >>> with heard_by(print):
    ...     tell("100 rows")
    100 rows
    >>> tell("nobody hears this")
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(what: str) -> None:
    """Report what is being read, if there is a listener."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(what)
