"""Construction of a data frame from the columns of a file, with notes on the columns.

A text file or a sheet may have a title above the table (see `header_at`), and totals or notes below it (see
`rows_below`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median_high
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from fairdash.errors import Fix, OptionError, Problem, ReadingError
from fairdash.tables.codes import TOTALS, numbers_rows, spellings, unify_spellings
from fairdash.tables.grammar import LIKE_NUMBER, without_accents
from fairdash.tables.readers.report import ReadingOptions, ReadingReport, Renamed
from fairdash.tables.readers.texts import as_text
from fairdash.utils.text import at_lines, counted, few

#: Smallest integer that is equal to the next integer as a 64-bit float. From this integer on, different
#: identifiers may become equal.
FIRST_INEXACT = 2**53

#: The header is searched in the first `ROWS_ABOVE` non-empty rows of a file. Totals and notes are searched in
#: its last `ROWS_BELOW` rows.
ROWS_ABOVE, ROWS_BELOW = 30, 10

#: Words with which a note may begin, in lower case and without accents.
_NOTES = frozenset(
    "source sources quelle quellen fuente fonte bron note notes notiz hinweis nota remarque".split()
)
#: Words that may precede a word for a total, as in "grand total".
_GRAND = frozenset({"grand", "general", "sub"})
_MIN_FOR_NOTE = 3


class TableBuilder:
    """Collects the columns of a file of any format, and builds a data frame and a report from them.

    Parameters
    ----------
    header
        Unchanged cells of the header.
    lines : array of int64, shape (n,)
        For each row of the table, the line of the file or the row of the sheet on which it begins. If the
        file has no lines, the rows are numbered from 1.
    options
        Options set by the user.
    default_marks
        Strings that mean a missing cell by default, in addition to the empty cell.

    Raises
    ------
    ReadingError
        Several columns have the same name, and the user did not choose to add numbers to repeated names.
    """

    def __init__(
        self,
        header: Sequence[object],
        lines: np.ndarray,
        options: ReadingOptions,
        *,
        default_marks: Sequence[str] = (),
    ) -> None:
        self.names, self.renamed, self.notes = named(header, number=options.number_names)
        self.blank = [pair for pair in self.renamed if _is_blank(header[pair[0] - 1])]
        self.lines = lines
        marks = default_marks if options.missing_values is None else options.missing_values
        self.marks = tuple(mark.strip() for mark in (*marks, *options.also_missing))
        # Readers of text replace the default marks earlier, before they determine the type of a column.
        self._chosen_marks = (*(options.missing_values or ()), *options.also_missing)
        self._one_spelling = options.one_spelling
        self.problems: list[Problem] = []
        self.decimal_commas: dict[str, int] = {}
        #: Map from columns to the currency or percent sign in their cells.
        self.units: dict[str, str] = {}
        #: Number of cells with each string that means a missing cell.
        self.missing_found = Counter[str]()
        self._columns: dict[str, pd.Series] = {}
        self._said: list[str] = []

    def add(self, name: str, values: np.ndarray | pd.Series, *notes: str) -> None:
        """Add a column of type int64, float64, bool, datetime64 or text. Missing cells are NaN or NaT."""
        self._columns[name] = pd.Series(values, name=name, copy=False)
        self._said += notes

    def add_empty(self, name: str) -> None:
        """Add a column in which all cells are missing."""
        self.add(name, np.full(len(self.lines), np.nan))

    def add_whole_numbers(self, name: str, numbers: pd.Series) -> None:
        """Add integers as int64. They become float64 if cells are missing, and text if a number is too large.

        Parameters
        ----------
        numbers : Series, shape (n,)
            Numbers of any integer type of pandas; cells may be missing.
        """
        missing = numbers.isna().to_numpy()
        present = numbers[~missing]
        is_inexact = np.zeros(len(numbers), dtype=bool)
        is_inexact[~missing] = ((present >= FIRST_INEXACT) | (present <= -FIRST_INEXACT)).to_numpy(dtype=bool)
        if is_inexact.any():
            texts = numbers.astype("string").astype(object).where(~missing, None)
            reason = f"whole numbers are too large for an exact float ({self.places(is_inexact)})"
            self.add(name, as_text(texts), f"“{name}” becomes text, as an identifier: {reason}.")
        elif missing.any():
            self.add(name, numbers.to_numpy(float, na_value=np.nan))
        else:
            self.add(name, numbers.to_numpy(np.int64))

    def add_truth_values(self, name: str, values: pd.Series) -> None:
        """Add truth values as bool. If cells are missing, add them as 0 and 1, with a note."""
        if not values.isna().any():
            self.add(name, values.to_numpy(bool))
            return
        note = f"“{name}” is read as 1 for true and 0 for false, because cells are missing."
        self.add(name, values.to_numpy(float, na_value=np.nan), note)

    def places(self, rows: np.ndarray, problem: str = "") -> str:
        """State the number of cells that the mask `rows` (n,) selects, and the lines of the first ones."""
        count = int(rows.sum())
        word = f"{counted(count, 'cell')}{f' with {problem}' if problem else ''}"
        return f"{word}, {at_lines(self.lines[rows], count)}" if count else word

    def count_missing(self) -> None:
        """Count the missing cells of a file in a format that doesn't mark missing cells by strings."""
        n_missing = sum(int(values.isna().sum()) for values in self._columns.values())
        if n_missing:
            self.missing_found[""] = n_missing

    def _take_marked(self) -> None:
        """Replace the values that the user names (999, or age=999 for one column) by missing cells."""
        for mark in map(str.strip, self._chosen_marks):
            name, _, value = mark.rpartition("=")
            for column in [name] if name in self._columns else [] if name else list(self._columns):
                values = self._columns[column]
                if pd.api.types.is_datetime64_any_dtype(values):
                    day: Any = pd.to_datetime(value, errors="coerce")
                    marked = values.eq(day)
                elif pd.api.types.is_numeric_dtype(values) and LIKE_NUMBER.fullmatch(value):
                    marked = values.eq(pd.to_numeric(value, errors="coerce"))
                else:
                    marked = values.eq(value)
                if count := int(marked.sum()):
                    self._columns[column] = values.mask(marked)
                    self.missing_found[value] += count

    def _leave_out_row_numbers(self) -> None:
        """Leave out an unnamed column of row numbers, which R and pandas may add to a file."""
        for position, name in self.blank:
            if len(self._columns) > 1 and numbers_rows(self._columns[name], gaps=True):
                del self._columns[name]
                self.renamed = tuple(pair for pair in self.renamed if pair[0] != position)
                self.notes.append(
                    f"Column {position} has no name and contains row numbers. This column is left out. "
                    "To keep it, give it a name."
                )

    def leave_out(self, names: Sequence[str], reason: str) -> None:
        """Add a note on the columns that are not read, if there are any."""
        if names:
            self.notes.append(f"{counted(len(names), 'column')} not read: {reason} ({few(names)}).")

    def finish(
        self,
        format: str,
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        sheet: str | None = None,
        sheets: Sequence[str] = (),
    ) -> tuple[pd.DataFrame, ReadingReport]:
        """Return the frame and its :class:`~fairdash.tables.readers.report.ReadingReport`.

        Raises
        ------
        ReadingError
            A column has cells that fairdash can't use.
        """
        if self.problems:
            raise ReadingError(*self.problems)
        self._take_marked()
        self._leave_out_row_numbers()
        for name in filter(self._columns.__contains__, self._one_spelling):
            if spellings(self._columns[name]):
                self._columns[name], note = unify_spellings(self._columns[name])
                self._said.append(note)
            else:
                self._said.append(
                    f"“{name}” is unchanged. It has no levels that differ only in capitals or spaces. "
                    "Numbers, and text columns with many levels, are not compared."
                )
        report = ReadingReport(
            format=format,
            encoding=encoding,
            delimiter=delimiter,
            decimal="," if self.decimal_commas else ".",
            n_rows=len(self.lines),
            n_columns=len(self._columns),
            decimal_commas=MappingProxyType(self.decimal_commas),
            missing_marks=self.marks,
            missing_found=MappingProxyType(self.missing_found),
            renamed=self.renamed,
            notes=(*self.notes, *self._said),
            lines=self.lines,
            sheet=sheet,
            sheets=tuple(sheets),
            units=MappingProxyType(self.units),
        )
        return pd.DataFrame(self._columns), report


def _is_blank(cell: object) -> bool:
    return cell is None or not str(cell).strip()


def empty_file(problem: str = "the file", hint: str = "Choose another file.") -> ReadingError:
    """Return the error for a file without any rows."""
    return ReadingError.of(f"{problem} is empty: it has no data rows", hint)


def no_such_header(line: int) -> OptionError:
    """Return the error for a header line that the user chose and that is empty."""
    return OptionError.of(
        f"line {line}, chosen for the column names, is empty", "Choose another line, or let fairdash find it."
    )


def no_rows(problem: str = "the file") -> ReadingError:
    """Return the error for a table that has a header and no rows."""
    return ReadingError.of(f"{problem} has a header but no data rows", "Choose a file with rows.")


def named(header: Sequence[object], *, number: bool = False) -> tuple[list[str], Renamed, list[str]]:
    """Make column names from a header. Return the names, the changed names, and notes.

    Parameters
    ----------
    header
        Unchanged cells of the header. Cells of other types are converted to text.
    number
        True to add numbers to repeated names. The second ``age`` becomes ``age (2)``.

    Returns
    -------
    names, renamed, notes
        `renamed` has ``(position, name)`` for each changed name; the first column has position 1.

    Raises
    ------
    ReadingError
        Several columns have the same name, and `number` is false. The error lists all repeated names.
    """
    names = ["" if _is_blank(cell) else str(cell).strip() for cell in header]
    for position, column in enumerate(names, start=1):
        if not column:
            new_name = f"column {position}"
            while new_name in names:
                new_name += "_"
            names[position - 1] = new_name
    if number:
        names = _numbered(names)
    problems = [
        Problem(
            what="several columns have the same name: columns "
            + ", ".join(str(position) for position, other in enumerate(names, start=1) if other == column),
            hint=f"Add numbers, so that the second becomes “{column} (2)”, or rename them in the file.",
            column=column,
            fixes=(Fix("number_names", column),),
        )
        for column, count in Counter(names).items()
        if count > 1
    ]
    if problems:
        raise ReadingError(*problems)
    renamed = tuple(
        (position, column)
        for position, (column, cell) in enumerate(zip(names, header, strict=True), start=1)
        if column != cell
    )
    notes = []
    if all(cell.lstrip("+-").replace(".", "", 1).replace(",", "", 1).isdigit() for cell in names):
        notes.append(
            "The first line contains only numbers. If this line is not a header, add a header to the file."
        )
    return names, renamed, notes


def _numbered(names: Sequence[str]) -> list[str]:
    """Add numbers from 2 to repeated names, and skip a number if the new name already exists."""
    used_names, count_of_name, numbered = set(names), Counter[str](), []
    for name in names:
        count_of_name[name] += 1
        new_name = name
        while count_of_name[name] > 1 and (new_name := f"{name} ({count_of_name[name]})") in used_names:
            count_of_name[name] += 1
        used_names.add(new_name)
        numbered.append(new_name)
    return numbered


def header_at(rows: Sequence[Sequence[str]]) -> int:
    """Return the index of the header, from 0, among the first rows of a file.

    The header is usually the first row. If the first row has at most half the usual number of non-empty
    cells, the header is the first row with more cells, provided that these cells are distinct and not
    numbers.

    Parameters
    ----------
    rows
        Cells of the first non-empty rows (about 30), unchanged.

    Examples
    --------
    >>> header_at([["Portfolio 2024"], ["age", "price", "town"], ["40", "9.5", "Lyon"], ["50", "8", "Brest"]])
    1
    >>> header_at([["age", "price"], ["40", "9.5"]])
    0
    """
    nonempty_rows = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    usual_count = median_high([len(cells) for cells in nonempty_rows])
    for index, cells in enumerate(nonempty_rows):
        if len(cells) <= usual_count / 2:
            continue
        if index == 0:
            return 0
        names = len(set(cells)) == len(cells) > 1 and not any(LIKE_NUMBER.fullmatch(cell) for cell in cells)
        return index if names and index + 1 < len(nonempty_rows) else 0
    return 0


def rows_below(rows: Sequence[tuple[int, Sequence[str]]]) -> int:
    """Count the rows at the end that are not part of the table, such as totals and notes on a source.

    Parameters
    ----------
    rows
        The last rows of the file, each with the number of its first line. An empty line has no cells or only
        empty cells. The first row in `rows` is never counted.

    Returns
    -------
    int
        Number of rows at the end that are not empty and not part of the table.

    Examples
    --------
    >>> rows_below([(4, ["50", "8", "Brest"]), (5, ["Total", "17.5", ""])])
    1
    """
    count = 0
    width = max((len(cells) for _, cells in rows), default=0)
    remaining = [[cell.strip() for cell in cells] for _, cells in rows]
    while remaining:
        cells = remaining.pop()
        if not any(cells):
            continue
        above = next((other for other in reversed(remaining) if any(other)), None)
        if above is None or not (_is_total(cells, above) or _is_note(cells, width, remaining)):
            break
        count += 1
    return count


def _is_total(cells: Sequence[str], above: Sequence[str]) -> bool:
    """Return whether a row begins with a word for a total and differs in form from the row above."""
    index = next(index for index, cell in enumerate(cells) if cell)
    words = without_accents(cells[index]).replace(":", " ").replace("-", " ").split()
    while words and words[0] in _GRAND:
        words = words[1:]
    if not words or words[0] not in TOTALS or len(words) > _MIN_FOR_NOTE:
        return False
    cell_above = above[index] if index < len(above) else ""
    return (
        not all(cells) or len(cells) < len(above) or not cell_above or bool(LIKE_NUMBER.fullmatch(cell_above))
    )


def _is_note(cells: Sequence[str], width: int, above: Sequence[Sequence[str]]) -> bool:
    """Return whether a row is a single string that follows an empty line or begins like a note."""
    nonempty_cells = [cell for cell in cells if cell]
    if width < _MIN_FOR_NOTE or len(nonempty_cells) > 1 or LIKE_NUMBER.fullmatch(nonempty_cells[0]):
        return False
    words = without_accents(nonempty_cells[0]).replace(":", " ").split()
    if words and (words[0] in _NOTES or words[0].startswith("*")):
        return True
    if not above or any(above[-1]):
        return False
    # A sparse table may have an empty row. A single cell after this row is a value rather than a note in two
    # cases. Either it is outside the first column, or the column also contains this value above.
    index = cells.index(nonempty_cells[0])
    return not any(any(row[:index]) or nonempty_cells[0] in row[index : index + 1] for row in above)


def rows_above_in_words(line: int, n_above: int) -> str:
    """Return a sentence on the line of a header that is not the first row."""
    rows = "row above it is" if n_above == 1 else f"{n_above} rows above it are"
    return f"The column names are on line {line}; the {rows} not used."


def rows_below_in_words(lines: Sequence[int]) -> str:
    """Return a sentence on the rows below the table that are left out."""
    where = ", ".join(str(line) for line in lines)
    single = len(lines) == 1
    return (
        f"{'A row' if single else f'{len(lines)} rows'} below the table "
        f"{'is' if single else 'are'} left out as a total or a note "
        f"({'line' if single else 'lines'} {where})."
    )
