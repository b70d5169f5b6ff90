"""Tables whose cells have types already, as Parquet, Feather, Excel and R keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fairdash.data.cells import FIRST_INEXACT, ColumnFound, TextColumn
from fairdash.data.headers import Renamed
from fairdash.data.wording import at_lines, counted, few
from fairdash.errors import Problem, ReadingError


@dataclass(frozen=True, kw_only=True)
class TypedTable:
    """A table as its reader found it.

    Parameters
    ----------
    columns
        In the file's order, each with its name.
    lines : array of int64, shape (n,)
        The row of the sheet, or the number of the row from 1 where a file has no lines.
    renamed
        As in :class:`~fairdash.data.reading.ReadingReport`.
    notes
        Whole sentences on what else the user should know.
    missing_found
        Mark to the number of cells that hold it; ``""`` is the empty cell.
    sheet, sheets
        Which sheet or table of the file it is, of which; None and empty where a file holds one alone.
    """

    columns: list[ColumnFound]
    lines: np.ndarray
    renamed: Renamed = ()
    notes: list[str] = field(default_factory=list)
    missing_found: dict[str, int]
    sheet: str | None = None
    sheets: tuple[str, ...] = ()


def no_rows(what: str = "the file") -> ReadingError:
    """The error of a table without rows."""
    return ReadingError(
        Problem(what=f"{what} has a header but no data rows", mend="Choose a file with rows.")
    )


def too_large(what: str) -> ReadingError:
    """The error of a table beyond a limit."""
    return ReadingError(Problem(what=what, mend="Take a sample of the rows, or leave columns out."))


def whole_numbers(name: str, numbers: pd.Series, lines: np.ndarray) -> ColumnFound:
    """A column of whole numbers: int64, float64 where cells are missing, text where neither is exact.

    Parameters
    ----------
    numbers : Series, shape (n,)
        Any integer type, with pandas' mark of missing cells.
    """
    missing = numbers.isna().to_numpy()
    known = numbers[~missing]
    beyond = np.zeros(len(numbers), dtype=bool)
    beyond[~missing] = ((known >= FIRST_INEXACT) | (known <= -FIRST_INEXACT)).to_numpy(dtype=bool)
    if beyond.any():
        texts = numbers.astype("string").astype(object).where(~missing, None)
        count = int(beyond.sum())
        note = (
            f"“{name}” becomes text, as an identifier: whole numbers are too long to be exact "
            f"({counted(count, 'cell')}, {at_lines(lines[beyond], count)})."
        )
        return ColumnFound(values=as_text(name, texts), notes=(note,))
    if missing.any():
        return ColumnFound(values=pd.Series(numbers.to_numpy(float, na_value=np.nan), name=name))
    return ColumnFound(values=pd.Series(numbers.to_numpy(np.int64), name=name))


def truth_values(name: str, values: pd.Series) -> ColumnFound:
    """A column of truth values: bool, or 0 and 1 where cells are missing, with a note."""
    if not values.isna().any():
        return ColumnFound(values=pd.Series(values.to_numpy(bool), name=name))
    note = f"“{name}” is read as 1 for true and 0 for false, because cells are missing."
    return ColumnFound(values=pd.Series(values.to_numpy(float, na_value=np.nan), name=name), notes=(note,))


def as_text(name: str, texts: pd.Series) -> pd.Series:
    """A column of text, as the reading of delimited text makes it; missing cells are NaN."""
    import pyarrow as pa

    return pa.array(texts, pa.string(), from_pandas=True).to_pandas().rename(name)


def mixed_column(
    name: str, cells: Sequence[str], marks: Sequence[str], lines: np.ndarray
) -> tuple[ColumnFound, dict[str, int]]:
    """A column of cells written as text, judged as in a delimited file; with the missing marks found."""
    import pyarrow as pa

    column = TextColumn(name, pa.chunked_array([pa.array(cells, pa.string())]), marks)
    return column.convert(marks=[".", ","], doubted=[",", "."], lines=lines), column.marks_found()


def excluded(names: Sequence[str], why: str) -> list[str]:
    """A note on columns that are not read, or none."""
    return [f"{counted(len(names), 'column')} not read: {why} ({few(names)})."] if names else []
