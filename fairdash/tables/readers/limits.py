"""Size limits for files and tables."""

from __future__ import annotations

from fairdash.errors import ReadingError
from fairdash.utils.memory import most_memory
from fairdash.utils.text import megabytes

MAX_FILE = 200 * 10**6
#: A Parquet file on this machine: its columns are read one by one, and only those that are wanted.
MAX_PARQUET = 2_000 * 10**6
MAX_CELLS = 50 * 10**6
MAX_PARQUET_CELLS = 100 * 10**6
MAX_COLUMNS = 10_000
PARQUET_MARK = b"PAR1"
#: Bytes of memory that the reading of a typed table may take, at least; more on a large machine.
MAX_MEMORY = 1_500 * 10**6
#: A cell needs its own bytes, those of its number and those of the table; a row needs its number and its
#: line. These are lower bounds: texts and missing cells need more.
_PER_CELL, _PER_ROW = 24, 16


def too_large(what: str) -> ReadingError:
    """Return the error for a table beyond a limit."""
    return ReadingError.of(what, "Take a sample of the rows, or leave columns out.")


def check_file(size: int, begins: bytes) -> None:
    """Check a file's size in bytes.

    Parameters
    ----------
    begins
        Its first bytes, or more bytes.

    Raises
    ------
    ReadingError
        More than MAX_FILE, or more than MAX_PARQUET for a Parquet file.
    """
    largest = MAX_PARQUET if begins.startswith(PARQUET_MARK) else MAX_FILE
    if size > largest:
        raise too_large(f"the file has {megabytes(size, decimals=0)}, more than {largest // 10**6:,}")


def check_shape(rows: int, columns: int, *, about: str = "", most: int | None = None) -> None:
    """Check a table's rows and columns before its cells are read.

    Parameters
    ----------
    about
        Text before the counts if they are estimates.
    most
        Largest number of cells; MAX_CELLS by default.

    Raises
    ------
    ReadingError
        More than MAX_COLUMNS, or too many cells.
    """
    most = MAX_CELLS if most is None else most
    if columns > MAX_COLUMNS:
        raise too_large(f"the table has {about}{columns:,} columns, more than {MAX_COLUMNS:,}")
    if not 0 <= rows * columns <= most:
        raise too_large(f"the table has {about}{rows * columns:,} cells, more than {most:,}")


def check_memory(rows: int, columns: int) -> None:
    """Check the memory for a table's cells, independent of the file's size.

    Raises
    ------
    ReadingError
        The memory exceeds MAX_MEMORY and a quarter of a run's limit.
    """
    needed, most = rows * (_PER_ROW + _PER_CELL * columns), max(MAX_MEMORY, most_memory() // 4)
    if needed > most:
        raise too_large(
            f"reading the table takes about {needed / 1e9:,.1f} GB of memory, more than {most / 1e9:,.1f}"
        )
