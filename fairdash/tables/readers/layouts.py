r"""Conversion of text tables without a common delimiter, and detection of a second header row.

In files of the Human Mortality Database and of R's ``write.table``, spaces separate the columns. In
tab-separated files of Eurostat, the first column contains several keys, ``:`` means a missing number, and
flags may follow a number. In files of the U.S. Census Bureau, a row of labels follows the column names.

>>> spaced_as_tabs("  Year  Age   Total\n  1900   0   0.1\n").splitlines()
['Year\tAge\tTotal', '1900\t0\t0.1']
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from fairdash.tables.grammar import LIKE_NUMBER
from fairdash.tables.readers.table import ROWS_ABOVE
from fairdash.tables.readers.text_column import ERRORS, MISSING_MARKS

#: Pattern of a cell between spaces, which is a quoted string or a string without spaces.
_CELL = re.compile(r'"(?:[^"]|"")*"|\S+')
#: Spaces separate columns if at least a share `_AGREEING` of the first `_LINES` lines have the same number of
#: cells, and at least `_MIN_NUMBERS` columns are numeric.
_LINES, _AGREEING, _MIN_NUMBERS = 1_000, 0.95, 2
#: Minimum share of numbers below the label of a numeric column.
_NUMBERS = 0.9
_EUROSTAT = re.compile(r"(?:\w+,)*\w+\\\w+(?=\t)")
_FLAGGED = re.compile(r"\s*(:|-?\d[\d.]*)\s*([a-z]*)\s*")


def spaced_as_tabs(text: str) -> str | None:
    """Replace the spaces between columns by tabs. Return None if spaces don't separate the columns.

    If the rows begin with row names, the header has one cell less than the rows. Then an empty cell is added
    at the start of the header. The line numbers stay the same.
    """
    lines = text.splitlines()
    cells_of_lines = [_CELL.findall(line) for line in islice(lines, _LINES)]
    nonempty_lines = [cells for cells in cells_of_lines if cells]
    if not nonempty_lines:
        return None
    width = Counter(map(len, nonempty_lines)).most_common(1)[0][0]
    first_full = next(index for index, cells in enumerate(cells_of_lines) if len(cells) == width)
    rows_below = [cells for cells in cells_of_lines[first_full + 1 :] if cells]
    rows = [cells for cells in rows_below if len(cells) == width]
    numbers = sum(all(LIKE_NUMBER.fullmatch(cell) for cell in column) for column in zip(*rows, strict=True))
    n_above = sum(bool(cells) for cells in cells_of_lines[:first_full])
    if (
        width < 2
        or numbers < _MIN_NUMBERS
        or n_above >= ROWS_ABOVE
        or len(rows) < _AGREEING * len(rows_below)
    ):
        return None
    names_rows = first_full > 0 and len(cells_of_lines[first_full - 1]) == width - 1
    # Spaces in a title above the table are not replaced by tabs.
    header_line = first_full - names_rows
    title = [" ".join(line.replace('"', " ").split()) for line in lines[:header_line]]
    lines_now = [*title, *("\t".join(_CELL.findall(line)) for line in lines[header_line:])]
    if names_rows:
        lines_now[header_line] = "\t" + lines_now[header_line]
    return "\n".join(lines_now) + "\n"


def is_of_eurostat(header: str) -> bool:
    """Return whether a header has Eurostat's form: keys between commas, and a backslash after the last key.

    Examples
    --------
    >>> is_of_eurostat("freq,geo\\\\TIME_PERIOD\\t2019 \\t2020 "), is_of_eurostat("age\\tprice")
    (True, False)
    """
    return _EUROSTAT.match(header) is not None


def eurostat_as_tabs(text: str) -> tuple[str, str]:
    """Return the text of a Eurostat table with a separate column for each key, and a note."""
    n_keys = text.partition("\\")[0].count(",") + 1
    flags, rows = Counter[str](), list[str]()
    for line in text.splitlines():
        keys, *cells = line.split("\t")
        key_names = keys.split(",")
        if not rows:
            key_names[-1] = key_names[-1].partition("\\")[0]
        elif len(key_names) == n_keys:
            for index, cell in enumerate(cells):
                if (match := _FLAGGED.fullmatch(cell)) is not None:
                    cells[index] = "" if match[1] == ":" else match[1]
                    flags[match[2]] += bool(match[2])
        rows.append("\t".join((*key_names, *cells)))
    counts = ", ".join(f"{flag} ({count:,})" for flag, count in sorted(flags.items()) if flag)
    note = f"The first column is split at its commas into {n_keys} columns, and “:” is a missing cell."
    return "\n".join(rows) + "\n", note + (f" Flags after numbers are left out: {counts}." if counts else "")


def is_second_header(first: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Return whether a table's first row has labels or units (words above at least two numeric columns).

    Parameters
    ----------
    first
        Cells of the first row.
    following
        For each column, the cells in the next few rows.

    Examples
    --------
    >>> is_second_header(["years", "EUR", "town"], [["40", "50"], ["9.5", "8"], ["Lyon", "Brest"]])
    True
    """
    n_labelled = 0
    for cell, column in zip((cell.strip() for cell in first), following, strict=True):
        filled_cells = [cell.strip() for cell in column if cell.strip()]
        numbers = sum(LIKE_NUMBER.fullmatch(cell) is not None for cell in filled_cells)
        if LIKE_NUMBER.fullmatch(cell):
            return False
        if filled_cells and numbers >= _NUMBERS * len(filled_cells):
            # A string that marks a missing cell is not a label.
            if not cell or cell in (*MISSING_MARKS, *ERRORS, *filled_cells):
                return False
            n_labelled += 1
    return n_labelled >= _MIN_NUMBERS
