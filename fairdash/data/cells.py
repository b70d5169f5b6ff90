"""Columns of text into columns of numbers, truth values, dates or text, without losing anything silently.

pandas guesses a type for a column and loads what does not fit wrongly or without a word. Here a column
becomes numbers only if every cell that is not missing is written as a number in one and the same way;
otherwise it stays as it stands in the file, and a note says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairdash.data.dates import ORDER_WORDS, date_orders, to_dates
from fairdash.data.wording import at_lines, counted
from fairdash.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

#: Read as "missing" unless the user says otherwise; the empty cell always is.
MISSING_MARKS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?")

#: From here on whole numbers are not exact as 64-bit floats; two identifiers could become one.
FIRST_INEXACT = 2**53

_WHOLE = r"^[+-]?[0-9]+$"
_POWER = r"^[+-]?[0-9]+[eE][+-]?[0-9]+$"
_WITH_MARK = r"^[+-]?([0-9]+\{mark}[0-9]*|\{mark}[0-9]+)([eE][+-]?[0-9]+)?$"
#: 1.234 or 1,234: a fraction, or a thousand and more.
_AMBIGUOUS = r"^[+-]?[1-9][0-9]{{0,2}}\{mark}[0-9]{{3}}$"
_THOUSANDS = r"^[+-]?[0-9]{1,3}([  '’.,\x{a0}\x{2009}\x{202f}][0-9]{3})+([.,][0-9]+)?$"
_INFINITE = r"^[+-]?(?i:inf|infinity)$"
_LEADING_ZERO = r"^[+-]?0[0-9]"
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"


@dataclass(frozen=True, kw_only=True)
class ColumnFound:
    """A column as it was read.

    Parameters
    ----------
    values : Series, shape (n,)
        int64, float64, bool, datetime64 or text; missing cells are NaN or NaT.
    decimal_commas
        How many cells were numbers with a decimal comma.
    notes
        Whole sentences on what the user should know.
    problems
        What makes the table unusable.
    """

    values: pd.Series
    decimal_commas: int = 0
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class TextColumn:
    """A column of text, with what its distinct cells look like.

    Every question is asked of the distinct cells and counted over the rows, which is what makes large
    files quick: a code or an age has few of them.

    Parameters
    ----------
    name
        Name of the column.
    cells
        pyarrow strings, shape (n,).
    missing_marks
        Cells that count as missing, besides the empty one.
    """

    def __init__(self, name: str, cells: pa.ChunkedArray, missing_marks: Sequence[str]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.name = name
        coded = pc.dictionary_encode(cells.combine_chunks())
        self._codes = coded.indices.to_numpy()
        self._texts = coded.dictionary
        self._trimmed = pc.utf8_trim_whitespace(self._texts)
        self._counts = np.bincount(self._codes, minlength=len(self._texts))
        marks = pa.array(["", *missing_marks], pa.string())
        self.is_missing = np.asarray(pc.is_in(self._trimmed, value_set=marks))
        self.n_known = self._count(~self.is_missing)

    def _matches(self, pattern: str, *, holding: str = "") -> np.ndarray:
        """Say which distinct cells match; `holding` is a text that all of these hold."""
        import pyarrow.compute as pc

        # Looking for a text is far quicker than matching, and most columns hold no comma at all.
        if holding and not pc.any(pc.match_substring(self._trimmed, holding)).as_py():
            return np.zeros(len(self._texts), dtype=bool)
        return np.asarray(pc.match_substring_regex(self._trimmed, pattern)) & ~self.is_missing

    def _count(self, chosen: np.ndarray) -> int:
        return int(self._counts[chosen].sum())

    @cached_property
    def whole(self) -> np.ndarray:
        """Which distinct cells are whole numbers."""
        return self._matches(_WHOLE)

    @cached_property
    def power(self) -> np.ndarray:
        """Which are numbers such as 1e6, without a decimal mark."""
        return self._matches(_POWER)

    @cached_property
    def dot(self) -> np.ndarray:
        """Which are numbers with a decimal point."""
        return self._matches(_WITH_MARK.format(mark="."), holding=".")

    @cached_property
    def comma(self) -> np.ndarray:
        """Which are numbers with a decimal comma."""
        return self._matches(_WITH_MARK.format(mark=","), holding=",")

    @cached_property
    def infinite(self) -> np.ndarray:
        """Which are words for infinity."""
        return self._matches(_INFINITE)

    def all_known(self, *kinds: np.ndarray) -> bool:
        """Say whether every cell that is not missing is of one of these kinds."""
        return bool(np.all(self.is_missing | np.logical_or.reduce(kinds)))

    def marks_found(self) -> dict[str, int]:
        """Count the cells by the mark that made them missing."""
        found: dict[str, int] = {}
        for position in np.flatnonzero(self.is_missing):
            mark = self._trimmed[int(position)].as_py()
            found[mark] = found.get(mark, 0) + int(self._counts[position])
        return found

    def decimal_evidence(self) -> tuple[bool, bool]:
        """Say whether a number here has a decimal comma for sure, and whether one has a point."""
        return self._surely(",", self.comma), self._surely(".", self.dot)

    def _surely(self, mark: str, fractions: np.ndarray) -> bool:
        if not fractions.any() or not self.all_known(self.whole, self.power, fractions):
            return False
        return bool((fractions & ~self._ambiguous(mark)).any())

    def _ambiguous(self, mark: str) -> np.ndarray:
        return self._matches(_AMBIGUOUS.format(mark=mark), holding=mark)

    def convert(self, *, marks: Sequence[str], doubted: Sequence[str], lines: np.ndarray) -> ColumnFound:
        """Give the column its type.

        Parameters
        ----------
        marks
            Decimal marks that the file may use: ``[","]``, ``["."]`` or both.
        doubted
            Those of them by which 1.234 might as well be a thousand and more; a column with nothing but
            such cells stays text.
        lines : array, shape (n,)
            The line of the file that each row begins on.
        """
        if self.n_known == 0:
            return ColumnFound(values=self._named(np.full(len(self._codes), np.nan)))
        if self.all_known(self.whole):
            return self._whole_numbers(lines)
        notes: list[str] = []
        for mark in marks:
            fractions = self.comma if mark == "," else self.dot
            numbers = self.whole | self.power | fractions
            if not self.all_known(numbers, self.infinite) or not numbers.any():
                continue
            ambiguous = self._ambiguous(mark)
            if mark in doubted and fractions.any() and not (fractions & ~ambiguous).any():
                notes.append(
                    f"“{self.name}” stays text: its cells may be fractions with three digits, or thousands "
                    f"with a separator ({self._places(ambiguous, lines)}). Set the decimal mark to decide."
                )
                continue
            return self._numbers(mark, fractions, lines)
        return self._text(notes, lines)

    def _whole_numbers(self, lines: np.ndarray) -> ColumnFound:
        zeros = self._matches(_LEADING_ZERO)
        if zeros.any():
            return self._identifier("numbers begin with a zero", zeros, lines)
        numbers = self._cast(self._trimmed)
        large = ~self.is_missing & (np.abs(numbers) >= FIRST_INEXACT)
        if large.any():
            return self._identifier("whole numbers are too long to be exact", large, lines)
        values = numbers[self._codes]
        if not self.is_missing.any():
            values = values.astype(np.int64)
        return ColumnFound(values=self._named(values))

    def _numbers(self, mark: str, fractions: np.ndarray, lines: np.ndarray) -> ColumnFound:
        import pyarrow.compute as pc

        zeros = self._matches(_LEADING_ZERO)
        if zeros.any():
            return self._identifier("numbers begin with a zero", zeros, lines)
        numbers = self._cast(pc.replace_substring(self._trimmed, ",", ".") if mark == "," else self._trimmed)
        infinite = np.isinf(numbers)
        problems: tuple[Problem, ...] = ()
        if infinite.any():
            rows = infinite[self._codes]
            problems = (
                Problem(
                    what="cells are infinite, or too large for a number",
                    mend="Correct them in the file, or leave them empty.",
                    column=self.name,
                    lines=[int(line) for line in lines[rows][:5]],
                    count=int(rows.sum()),
                ),
            )
        return ColumnFound(
            values=self._named(numbers[self._codes]),
            decimal_commas=self._count(fractions) if mark == "," else 0,
            problems=problems,
        )

    def _identifier(self, why: str, which: np.ndarray, lines: np.ndarray) -> ColumnFound:
        return ColumnFound(
            values=self._as_text(),
            notes=(f"“{self.name}” stays text, as an identifier: {why} ({self._places(which, lines)}).",),
        )

    def _text(self, notes: list[str], lines: np.ndarray) -> ColumnFound:
        import pyarrow.compute as pc

        lowered = pc.utf8_lower(self._trimmed)
        known = ~self.is_missing
        words = set(lowered.filter(known).to_pylist()) if known.sum() <= 8 else set()
        if words and words <= {"true", "false"}:
            truth = np.asarray(pc.equal(lowered, "true"))
            if not self.is_missing.any():
                return ColumnFound(values=self._named(truth[self._codes]))
            numbers = np.where(known, truth.astype(float), np.nan)
            return ColumnFound(
                values=self._named(numbers[self._codes]),
                notes=(f"“{self.name}” is read as 1 for true and 0 for false, because cells are missing.",),
            )
        if self.all_known(self._matches(_ISO_DATE)):
            texts = self._trimmed.to_pandas().where(known)
            dates = pd.to_datetime(texts, format="ISO8601", errors="coerce")
            # A 30 February is text like any other.
            if not dates[known].isna().any():
                return ColumnFound(values=self._named(dates.to_numpy()[self._codes]))
        orders = date_orders(self._trimmed[int(place)].as_py() for place in np.flatnonzero(known))
        if len(orders) == 1:
            dates = to_dates(self._trimmed.to_pandas().where(known), orders[0])
            return ColumnFound(
                values=self._named(dates.to_numpy()[self._codes]),
                notes=(f"“{self.name}” is read as dates, with {ORDER_WORDS[orders[0]]}.",),
            )
        if orders:
            notes.append(
                f"“{self.name}” stays text: its dates may have the day or the month first, as neither is "
                "ever above 12. Choose the column to say which."
            )
        numbers = self.whole | self.power | self.dot | self.comma
        thousands = self._matches(_THOUSANDS) & ~numbers
        if thousands.any() and self.all_known(numbers, thousands):
            notes.append(
                f"“{self.name}” stays text: its numbers have a separator between thousands "
                f"({self._places(thousands, lines)}). Remove it in the file to use them as numbers."
            )
        elif not notes and self._count(numbers) >= self.n_known / 2:
            if self.all_known(numbers):
                commas = self._places(self.comma, lines, "a comma")
                points = self._places(self.dot, lines, "a point")
                notes.append(
                    f"“{self.name}” stays text: its decimal marks differ, or are not the one chosen "
                    f"({commas}; {points})."
                )
            else:
                others = known & ~numbers
                notes.append(
                    f"“{self.name}” stays text: most of its cells are numbers, others are not "
                    f"({self._places(others, lines)})."
                )
        return ColumnFound(values=self._as_text(), notes=tuple(notes))

    def _cast(self, texts: pa.Array) -> np.ndarray:
        """Give the distinct cells as float64, NaN for those that are missing; infinity stays infinity."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pc.if_else(pa.array(~self.is_missing), texts, pa.scalar(None, pa.string()))
        return pc.cast(known, pa.float64()).to_numpy(zero_copy_only=False)

    def _as_text(self) -> pd.Series:
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pc.if_else(pa.array(~self.is_missing), self._texts, pa.scalar(None, pa.string()))
        return known.take(pa.array(self._codes)).to_pandas().rename(self.name)

    def _named(self, values: np.ndarray) -> pd.Series:
        return pd.Series(values, name=self.name, copy=False)

    def _places(self, which: np.ndarray, lines: np.ndarray, what: str = "") -> str:
        """Say how many cells are meant and where the first are."""
        rows = which[self._codes]
        count = int(rows.sum())
        word = f"{counted(count, 'cell')}{f' with {what}' if what else ''}"
        return f"{word}, {at_lines(lines[rows], count)}" if count else word
