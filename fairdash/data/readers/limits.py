"""Size limits for files and tables."""

from __future__ import annotations

from fairdash.errors import ReadingError
from fairdash.utils.text import megabytes

LARGEST_FILE = 200 * 10**6
MOST_CELLS = 50 * 10**6
MOST_COLUMNS = 10_000
#: Bytes of memory that the reading of a typed table may take.
MOST_MEMORY = 1_500 * 10**6
#: Of them a cell takes its own, those of the number that it becomes and those of the table, and a row its
#: number and its line: at the least, which texts and missing cells exceed.
_PER_CELL, _PER_ROW = 24, 16


def too_large(what: str) -> ReadingError:
    """Return the error for a table beyond a limit."""
    return ReadingError.of(what, "Take a sample of the rows, or leave columns out.")


def check_file(size: int) -> None:
    """Check a file's size in bytes.

    Raises
    ------
    ReadingError
        More than LARGEST_FILE.
    """
    if size > LARGEST_FILE:
        raise too_large(f"the file has {megabytes(size, decimals=0)}, more than {LARGEST_FILE // 10**6:,}")


def check_shape(rows: int, columns: int, *, about: str = "") -> None:
    """Check a table's rows and columns before its cells are read.

    Parameters
    ----------
    about
        Put before the counts where they are an estimate.

    Raises
    ------
    ReadingError
        More than MOST_COLUMNS or MOST_CELLS.
    """
    if columns > MOST_COLUMNS:
        raise too_large(f"the table has {about}{columns:,} columns, more than {MOST_COLUMNS:,}")
    if not 0 <= rows * columns <= MOST_CELLS:
        raise too_large(f"the table has {about}{rows * columns:,} cells, more than {MOST_CELLS:,}")


def check_memory(rows: int, columns: int) -> None:
    """Check the memory that a table's cells take, however small the file.

    Raises
    ------
    ReadingError
        More than MOST_MEMORY.
    """
    needed = rows * (_PER_ROW + _PER_CELL * columns)
    if needed > MOST_MEMORY:
        raise too_large(
            f"reading the table takes about {needed / 1e9:,.1f} GB of memory, more than {MOST_MEMORY / 1e9:g}"
        )
