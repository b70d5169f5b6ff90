"""Size limits for files and tables."""

from __future__ import annotations

from fairdash.errors import ReadingError
from fairdash.utils.memory import most_memory
from fairdash.utils.text import megabytes

MAX_FILE = 200 * 10**6
#: Maximum size in bytes of a local Parquet file. Its limit is higher, because only the requested columns are
#: read.
MAX_PARQUET = 2_000 * 10**6
MAX_CELLS = 50 * 10**6
MAX_PARQUET_CELLS = 100 * 10**6
MAX_COLUMNS = 10_000
PARQUET_MAGIC = b"PAR1"
#: Memory in bytes that the reading of a table may use on any machine. On a large machine, the limit is
#: higher.
MAX_MEMORY = 1_500 * 10**6
#: A cell, its number and its copy in the table need at least `_PER_CELL` bytes of memory. The row number and
#: the line number of a row need `_PER_ROW` bytes. Strings and missing cells need more memory.
_PER_CELL, _PER_ROW = 24, 16


def too_large(problem: str) -> ReadingError:
    """Return the error for a table that exceeds a limit."""
    return ReadingError.of(problem, "Take a sample of the rows, or leave columns out.")


def check_file(size: int, begins: bytes) -> None:
    """Check a file's size in bytes.

    Parameters
    ----------
    begins
        First bytes of the file.

    Raises
    ------
    ReadingError
        The size exceeds MAX_FILE, or MAX_PARQUET for a Parquet file.
    """
    largest = MAX_PARQUET if begins.startswith(PARQUET_MAGIC) else MAX_FILE
    if size > largest:
        raise too_large(
            f"the size of the file is {megabytes(size, decimals=0)}, more than {largest // 10**6:,}"
        )


def check_shape(rows: int, columns: int, *, subject: str = "", most: int | None = None) -> None:
    """Check a table's rows and columns before its cells are read.

    Parameters
    ----------
    subject
        Word before the numbers if they are estimates, such as “about”.
    most
        Maximum number of cells; by default MAX_CELLS.

    Raises
    ------
    ReadingError
        There are more than MAX_COLUMNS columns, or too many cells.
    """
    most = MAX_CELLS if most is None else most
    if columns > MAX_COLUMNS:
        raise too_large(f"the table has {subject}{columns:,} columns, more than {MAX_COLUMNS:,}")
    if not 0 <= rows * columns <= most:
        raise too_large(f"the table has {subject}{rows * columns:,} cells, more than {most:,}")


def check_memory(rows: int, columns: int) -> None:
    """Check the memory that a table needs. The size of the file does not determine it.

    Raises
    ------
    ReadingError
        The table needs more memory than MAX_MEMORY, and more than a quarter of the memory that a run may use.
    """
    needed, largest = rows * (_PER_ROW + _PER_CELL * columns), max(MAX_MEMORY, most_memory() // 4)
    if needed > largest:
        raise too_large(
            f"reading the table takes about {needed / 1e9:,.1f} GB of memory, more than {largest / 1e9:,.1f}"
        )
