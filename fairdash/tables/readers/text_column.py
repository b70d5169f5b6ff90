"""Conversion of text columns to numbers, truth values or dates. A note reports every loss.

pandas guesses the type of a column, and may convert some cells wrongly without a warning. In fairdash, a
column becomes numeric only if all cells that are not missing are numbers in the same notation. Otherwise the
column stays text, and a note states the reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairdash.errors import Problem
from fairdash.tables import grammar
from fairdash.tables.grammar import MAX_BANDS, bands_in_order
from fairdash.tables.readers.table import FIRST_INEXACT, TableBuilder
from fairdash.tables.readers.texts import Texts, distinct

#: Strings that mean a missing cell by default, in addition to the empty cell.
MISSING_MARKS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?")
#: Strings that spreadsheets write for failed formulas. They also mean a missing cell, and a note lists them.
ERRORS = ("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")


class TextColumn:
    """Column of text cells, which classifies its distinct cells.

    All checks use only the distinct cells and their numbers of rows. This makes the reading of large files
    fast, because most columns have few distinct cells.

    Parameters
    ----------
    name
        Name of the column.
    cells
        Strings (n,), as a list or pyarrow strings.
    table
        Builder to which the column is added. It also lists the strings that mean a missing cell.
    """

    def __init__(self, name: str, cells: Any, table: TableBuilder) -> None:
        self.name = name
        self._table = table
        self._codes, self._texts = distinct(cells)
        self._trimmed: Texts = self._texts.trimmed()
        self._counts = np.bincount(self._codes, minlength=len(self._texts))
        self.is_missing = self._trimmed.is_in(["", *table.marks])
        self.n_known = self._count(~self.is_missing)
        self._negative = self._take_negatives()
        self.unit = self._take_unit()

    def _take_negatives(self) -> np.ndarray:
        """Replace accounting notation of negative amounts by a minus sign. Return a mask of these amounts."""
        is_negative = np.zeros(len(self._texts), dtype=bool)
        if not any(self._trimmed.hold(sign).any() for sign in ("(", "-", "\u2212", "\u2013")):
            return is_negative
        if not self._trimmed.match(grammar.SIGNS, whole=False).any():
            return is_negative
        texts, indices = self._trimmed.to_list(), np.flatnonzero(~self.is_missing)
        signed = grammar.negatives([texts[k] for k in indices], self._counts[indices].tolist())
        if signed:
            is_negative[indices] = [texts[k] in signed for k in indices]
            self._trimmed = type(self._trimmed).of([signed.get(text, text) for text in texts])
        return is_negative

    def _take_unit(self) -> str:
        """Remove the currency or percent sign from the cells, and return it, or "" if the signs differ."""
        indices = np.flatnonzero(~self.is_missing)
        if len(indices) == 0 or not self._trimmed.match(grammar.SIGN_OF_UNIT, whole=False).any():
            return ""
        texts = self._trimmed.to_list()
        units = set()
        for index in indices:
            number, unit = grammar.without_unit(texts[index])
            if not grammar.LIKE_NUMBER.fullmatch(number):
                return ""
            texts[index] = re.sub(grammar.SPACES, "", number) if unit else number
            units.add(unit)
        units.discard("")
        if len(units) != 1:
            return ""
        self._trimmed = type(self._trimmed).of(texts)
        (unit,) = units
        return unit

    def _matches(self, pattern: str, *, holding: str = "") -> np.ndarray:
        """Return a mask of distinct cells that match a pattern. All matches contain the string `holding`."""
        # Most columns don't contain the fixed string, and the search for it is much faster than the search
        # for a pattern.
        if holding and not self._trimmed.hold(holding).any():
            return np.zeros(len(self._texts), dtype=bool)
        return self._trimmed.match(pattern) & ~self.is_missing

    def _count(self, chosen: np.ndarray) -> int:
        return int(self._counts[chosen].sum())

    @cached_property
    def whole(self) -> np.ndarray:
        """Mask of distinct cells that are whole numbers."""
        return self._matches(grammar.WHOLE)

    @cached_property
    def power(self) -> np.ndarray:
        """Mask of numbers such as 1e6, which have an exponent and no decimal mark."""
        return self._matches(grammar.POWER)

    @cached_property
    def dot(self) -> np.ndarray:
        """Mask of numbers with a decimal point."""
        return self._matches(grammar.FRACTION.format(mark="."), holding=".")

    @cached_property
    def comma(self) -> np.ndarray:
        """Mask of numbers with a decimal comma."""
        return self._matches(grammar.FRACTION.format(mark=","), holding=",")

    @cached_property
    def infinite(self) -> np.ndarray:
        """Mask of strings for infinity."""
        return self._matches(grammar.INFINITE)

    def all_known(self, *kinds: np.ndarray) -> bool:
        """Return whether every cell that is not missing is selected by at least one mask."""
        return bool(np.all(self.is_missing | np.logical_or.reduce(kinds)))

    def decimal_evidence(self) -> tuple[bool, bool]:
        """Return whether some number certainly has a decimal comma, and whether one has a decimal point."""
        return self._is_certain(",", self.comma), self._is_certain(".", self.dot)

    def _is_certain(self, mark: str, fractions: np.ndarray) -> bool:
        if not fractions.any() or not self.all_known(self.whole, self.power, fractions):
            return False
        return bool((fractions & ~self._ambiguous(mark)).any())

    def _ambiguous(self, mark: str) -> np.ndarray:
        return self._matches(grammar.AMBIGUOUS.format(mark=mark), holding=mark)

    def add(self, *, marks: Sequence[str] = (".", ","), doubted: Sequence[str] = (",", ".")) -> None:
        """Convert the column to its type, and add it to the table.

        Parameters
        ----------
        marks
            Decimal marks that the file may use: ``[","]``, ``["."]`` or both.
        doubted
            Marks that may be decimal marks or thousands separators, as in 1.234. A column stays text if all
            its cells with a mark are ambiguous.
        """
        self._count_missing()
        if self.n_known == 0:
            self._table.add_empty(self.name)
        elif self.all_known(self.whole):
            self._add_whole_numbers()
        else:
            self._add_others(marks, doubted)

    def _count_missing(self) -> None:
        errors = np.zeros(len(self._texts), dtype=bool)
        for position in np.flatnonzero(self.is_missing):
            mark = self._trimmed[int(position)]
            self._table.missing_found[mark] += int(self._counts[position])
            errors[position] = mark in ERRORS
        if errors.any():
            self._table.notes.append(
                f"“{self.name}” contains errors of formulas, which become missing ({self._places(errors)})."
            )

    def _add_others(self, marks: Sequence[str], doubted: Sequence[str]) -> None:
        notes: list[str] = []
        for mark in marks:
            fractions = self.comma if mark == "," else self.dot
            numbers = self.whole | self.power | fractions
            if not self.all_known(numbers, self.infinite) or not numbers.any():
                if self._in_thousands(mark, fractions, chosen=len(marks) == 1):
                    return
                continue
            ambiguous = self._ambiguous(mark)
            has_certain = (fractions & ~ambiguous).any()
            if self.is_money and fractions.any() and not has_certain and len(marks) > 1:
                # Amounts of money don't have three decimals, so the mark separates thousands.
                continue
            if mark not in doubted or not fractions.any() or has_certain:
                self._add_numbers(mark, fractions)
                return
            notes.append(
                f"“{self.name}” stays text: its cells may have three decimals, or a thousands separator "
                f"({self._places(ambiguous)}). Choose the decimal mark."
            )
        if not self._add_truth_values() and not self._add_dates(notes):
            self._add_text(notes)

    @property
    def is_money(self) -> bool:
        """Return whether the cells have a currency sign."""
        return self.unit not in ("", "%")

    def _in_thousands(self, mark: str, fractions: np.ndarray, *, chosen: bool) -> bool:
        """Add the column if it certainly has a thousands separator. Return whether it was added."""
        other = "." if mark == "," else ","
        grouped = self._matches(grammar.GROUPED.format(mark=mark, other=other), holding=other)
        if not grouped.any() or not self.all_known(self.whole, fractions, grouped, self.infinite):
            return False
        is_surely_grouped = self._matches(
            grammar.SURELY_GROUPED.format(mark=mark, other=other), holding=other
        )
        is_shown_by_cells = is_surely_grouped.any() or (fractions & ~self._ambiguous(mark)).any()
        if not (chosen or self.is_money or is_shown_by_cells):
            return False
        separators = "points" if other == "." else "commas"
        reason = "as you chose" if chosen and not is_shown_by_cells else "because its cells show this"
        locations = self._places(grouped)
        note = f"“{self.name}” is read with {separators} as thousands separators, {reason} ({locations})."
        self._add_numbers(mark, fractions | (grouped & self._trimmed.hold(mark)), grouped=grouped, note=note)
        return True

    def _add_whole_numbers(self) -> None:
        zeros = self._matches(grammar.LEADING_ZERO)
        if zeros.any():
            self._add_identifier("numbers begin with a zero", zeros)
            return
        numbers = self._trimmed.floats(~self.is_missing)
        is_too_large = ~self.is_missing & (np.abs(numbers) >= FIRST_INEXACT)
        if is_too_large.any():
            self._add_identifier("whole numbers are too long to be exact", is_too_large)
            return
        self._keep_unit()
        values = numbers[self._codes]
        values = values if self.is_missing.any() else values.astype(np.int64)
        self._table.add(self.name, values, *self._negatives_in_words())

    def _negatives_in_words(self) -> list[str]:
        if not self._negative.any():
            return []
        return [
            f"“{self.name}”: amounts in brackets or with a minus sign after them are read as negative "
            f"({self._places(self._negative)})."
        ]

    def _add_numbers(
        self, mark: str, fractions: np.ndarray, *, grouped: np.ndarray | None = None, note: str = ""
    ) -> None:
        zeros = self._matches(grammar.LEADING_ZERO)
        if zeros.any():
            self._add_identifier("numbers begin with a zero", zeros)
            return
        texts = self._trimmed
        if grouped is not None:
            texts = texts.replaced("." if mark == "," else ",", "", grouped)
        numbers = (texts.replaced(",", ".") if mark == "," else texts).floats(~self.is_missing)
        infinite = np.isinf(numbers)
        if infinite.any():
            rows = infinite[self._codes]
            self._table.problems.append(
                Problem(
                    what="cells are infinite, or too large for a number",
                    hint="Correct these cells in the file, or leave them empty.",
                    column=self.name,
                    lines=[int(line) for line in self._table.lines[rows][:5]],
                    count=int(rows.sum()),
                )
            )
        if mark == "," and fractions.any():
            self._table.decimal_commas[self.name] = self._count(fractions)
        self._keep_unit()
        notes = [note] if note else []
        self._table.add(self.name, numbers[self._codes], *notes, *self._negatives_in_words())

    def _keep_unit(self) -> None:
        if self.unit:
            self._table.units[self.name] = self.unit

    def _add_identifier(self, reason: str, which: np.ndarray) -> None:
        note = f"“{self.name}” stays text, as an identifier: {reason} ({self._places(which)})."
        self._table.add(self.name, self._as_text(), note)

    def _add_truth_values(self) -> bool:
        """Add the column if all its cells are "true" or "false". Return whether it was added."""
        not_missing = ~self.is_missing
        if not not_missing.any() or not_missing.sum() > 8:
            return False
        lowered = [text.lower() for text in self._trimmed.to_list()]
        if not {lowered[index] for index in np.flatnonzero(not_missing)} <= {"true", "false"}:
            return False
        truth = pd.arrays.BooleanArray(np.array([word == "true" for word in lowered]), self.is_missing)
        self._table.add_truth_values(self.name, pd.Series(truth[self._codes]))
        return True

    def _add_dates(self, notes: list[str]) -> bool:
        """Add the column if its cells are unambiguous dates. Return whether it was added."""
        not_missing = ~self.is_missing
        if self.all_known(self._matches(grammar.ISO_DATE)):
            dates = pd.to_datetime(self._as_written(), format="ISO8601", errors="coerce")
            # A column with an impossible date, such as 30 February, stays text.
            if not dates[not_missing].isna().any():
                self._table.add(self.name, dates.to_numpy()[self._codes])
                return True
        orders = grammar.date_orders(self._trimmed[int(index)] for index in np.flatnonzero(not_missing))
        if len(orders) == 1:
            dates = grammar.to_dates(self._as_written(), orders[0])
            note = f"“{self.name}” is read as dates, with {grammar.ORDER_WORDS[orders[0]]}."
            self._table.add(self.name, dates.to_numpy()[self._codes], note)
            return True
        if orders:
            notes.append(
                f"“{self.name}” stays text: its dates are ambiguous (day and month are never above 12). "
                "To use it, choose whether the day or the month comes first."
            )
        return False

    def _add_text(self, notes: list[str]) -> None:
        """Add the column as text. If most of its cells are numbers, add a note on the reason."""
        first = np.flatnonzero(~self.is_missing)[: MAX_BANDS + 1]
        if bands_in_order([self._trimmed[int(index)] for index in first]):
            notes = [f"“{self.name}” contains bands, which are used as ordered categories."]
            self._table.add(self.name, self._as_text(), *notes)
            return
        numbers = self.whole | self.power | self.dot | self.comma
        thousands = self._matches(grammar.THOUSANDS) & ~numbers
        others = ~self.is_missing & ~numbers & ~thousands
        mark = self._trimmed[int(np.flatnonzero(others)[0])] if others.sum() == 1 else ""
        reason = ""
        if mark and grammar.is_mark(mark) and (numbers | thousands).sum() > 1:
            reason = (
                f"it contains “{mark}” in {self._places(others)}, and numbers elsewhere. Convert this "
                f"mark as 0 or as missing, or name the mark as missing (--missing {mark})"
            )
        elif thousands.any() and self.all_known(numbers, thousands):
            reason = (
                f"its numbers have a thousands separator ({self._places(thousands)}). "
                "Remove it in the file to use them as numbers"
            )
        elif notes or self._count(numbers) < self.n_known / 2:
            pass
        elif self.all_known(numbers):
            reason = (
                "its decimal marks differ from each other or from the chosen mark "
                f"({self._places(self.comma, 'a comma')}; {self._places(self.dot, 'a point')})"
            )
        else:
            others = ~self.is_missing & ~numbers
            reason = f"most of its cells are numbers, but some are not ({self._places(others)})"
        if reason:
            notes.append(f"“{self.name}” stays text: {reason}.")
        self._table.add(self.name, self._as_text(), *notes)

    def _as_written(self) -> pd.Series:
        """Return the distinct cells without blanks at the start and end. Missing cells are NaN."""
        return self._trimmed.column(np.arange(len(self._trimmed)), ~self.is_missing)

    def _as_text(self) -> pd.Series:
        return self._texts.column(self._codes, ~self.is_missing)

    def _places(self, which: np.ndarray, problem: str = "") -> str:
        """State the number of selected cells, and the lines of the first ones."""
        return self._table.places(which[self._codes], problem)


def add_text_columns(columns: Sequence[TextColumn], *, decimal: str | None, prefers_comma: bool) -> None:
    """Find the decimal mark of a text file, and add all columns of the file to their table.

    Parameters
    ----------
    decimal
        Decimal mark selected by the user.
    prefers_comma
        True if points are ambiguous when no column shows the decimal mark. An example is a file with
        semicolons between the cells, because such files often have decimal commas.
    """
    if decimal is not None:
        marks, doubted = [decimal], []
    else:
        evidence = [column.decimal_evidence() for column in columns]
        has_comma, has_dot = any(certain for certain, _ in evidence), any(certain for _, certain in evidence)
        marks, doubted = [".", ","], [] if has_comma and not has_dot else [","]
        if has_comma or (prefers_comma and not has_dot):
            doubted.append(".")
    for column in columns:
        column.add(marks=marks, doubted=doubted)
