"""What a click does to a column: text read as numbers, dates as a year or an age."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairdash.data.dates import DAY_FIRST, MONTH_FIRST, ORDER_WORDS, YEAR_FIRST, date_orders, to_dates
from fairdash.data.profile import kind_of
from fairdash.data.wording import counted
from fairdash.errors import DataError, Mend, Problem

#: What may stand between thousands, besides the points and commas that may be a decimal mark as well.
_SPACES = r"[ '’\u00a0\u2009\u202f]"
_SEPARATED = rf"[+-]?\d{{1,3}}(?:{_SPACES}\d{{3}})+(?:[.,]\d+)?"
_BOTH_MARKS = r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+)"
_AMBIGUOUS = r"[+-]?[1-9]\d{0,2}[.,]\d{3}"
_LEADING_ZERO = r"[+-]?0\d.*"
_DAYS_IN_A_YEAR = 365.25

#: What becomes of dates, and which of day and month comes first where that can't be told.
_OF_DATES = {
    "year": ("year", None),
    "age": ("age", None),
    "year_day_first": ("year", DAY_FIRST),
    "year_month_first": ("year", MONTH_FIRST),
    "age_day_first": ("age", DAY_FIRST),
    "age_month_first": ("age", MONTH_FIRST),
}
KINDS = ("drop_rows", "convert", "leave_out", "keep", *_OF_DATES)


def check_mends(frame: pd.DataFrame, mends: Sequence[Mend]) -> None:
    """Refuse mends of an unknown kind or of a column that is not there.

    Raises
    ------
    DataError
        With a problem for each.
    """
    problems = [
        Problem(
            what="there is no such column" if mend.kind in KINDS else "this mend is not known",
            mend="Choose the data again on the data page.",
            column=mend.column,
        )
        for mend in mends
        if mend.kind not in KINDS or mend.column not in frame.columns
    ]
    if problems:
        raise DataError(*problems)


def to_numbers(values: pd.Series) -> pd.Series:
    """Read text as numbers: separators between thousands are taken away, other cells become missing.

    Parameters
    ----------
    values : Series, shape (n,)
        Text.

    Returns
    -------
    Series, float64
        NaN where a cell is no number, or is beyond the largest.
    """
    texts = values.astype("string").str.strip()
    separated = texts.str.fullmatch(_SEPARATED).fillna(False)
    texts = texts.where(~separated, texts.str.replace(_SPACES, "", regex=True))
    both = texts.str.fullmatch(_BOTH_MARKS).fillna(False)
    last_is_comma = texts.str.rfind(",") > texts.str.rfind(".")
    german = texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    english = texts.str.replace(",", "", regex=False)
    texts = texts.where(~both, english.where(~last_is_comma.fillna(False), german))
    texts = texts.str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(texts.astype(object).where(texts.notna(), None), errors="coerce")
    found = pd.Series(np.asarray(numbers, dtype=float), index=values.index, name=values.name)
    return found.where(np.isfinite(found))


def can_convert(values: pd.Series) -> bool:
    """Say whether a column of text may be offered as numbers: at least half of it is, and no identifier.

    1.234 alone can be a fraction or a thousand and more; a column that only its decimal mark can settle is
    not offered.
    """
    if kind_of(values) != "text":
        return False
    known = values.dropna().astype("string").str.strip()
    if known.empty or known.str.fullmatch(_LEADING_ZERO).any():
        return False
    settled = known.str.fullmatch(_SEPARATED).any() or known.str.fullmatch(_BOTH_MARKS).any()
    if known.str.fullmatch(_AMBIGUOUS).any() and not settled:
        return False
    return bool(to_numbers(known).notna().mean() >= 0.5)


def convert(values: pd.Series) -> tuple[pd.Series, str]:
    """A column of text as numbers, with a note that counts the cells that are none."""
    numbers = to_numbers(values)
    lost = int((numbers.isna() & values.notna()).sum())
    note = f"“{values.name}” is converted from text to numbers"
    return numbers, f"{note}; {counted(lost, 'cell')} that are none become missing." if lost else f"{note}."


def date_mends(values: pd.Series) -> tuple[Mend, ...]:
    """Ways to use a column's dates, typed or written as text; none if it holds something else.

    Where day and month can't be told apart there are ways for either order, see :func:`may_be_misread`.
    """
    orders = _orders(values)
    return tuple(
        Mend(kind, str(values.name))
        for kind, (_, order) in _OF_DATES.items()
        if orders and (order is None if len(orders) == 1 else order in orders)
    )


def may_be_misread(ways: Sequence[Mend]) -> bool:
    """Say whether the ways of :func:`date_mends` differ in the order of day and month."""
    return any(_OF_DATES[way.kind][1] for way in ways)


def can_use_dates(values: pd.Series, kind: str) -> bool:
    """Say whether :func:`from_dates` can carry out a mend of this kind on a column."""
    if kind not in _OF_DATES:
        return False
    orders, order = _orders(values), _OF_DATES[kind][1]
    return len(orders) == 1 if order is None else order in orders


def _orders(values: pd.Series) -> tuple[str, ...]:
    """The orders in which a column's dates may be written; empty if it holds none."""
    known, kind = values.dropna(), kind_of(values)
    if kind == "date" and len(known):
        # Dates with a type of their own can't be misread.
        return (YEAR_FIRST,)
    return date_orders(known.unique()) if kind == "text" else ()


def from_dates(values: pd.Series, kind: str) -> tuple[pd.Series, str]:
    """Dates as their year with its fraction, or as an age in years; NaN where a cell is missing.

    The age is that on the last day of the latest year in the column: which day it is shifts every age alike.
    :func:`can_use_dates` must have said so.
    """
    use, order = _OF_DATES[kind]
    note = f"“{values.name}” is used as "
    if kind_of(values) == "text":
        order = order or _orders(values)[0]
        note = f"“{values.name}” is read as dates, with {ORDER_WORDS[order]}, and used as "
        values = to_dates(values, order)
    days = pd.to_datetime(values)
    year = days.dt.year
    start = pd.to_datetime(pd.DataFrame({"year": year.fillna(2000).astype(int), "month": 1, "day": 1}))
    exact = year + (days - start).dt.total_seconds() / 86400 / _DAYS_IN_A_YEAR
    if use == "year":
        return exact.rename(str(values.name)).astype(float), f"{note}the year."
    last = int(year.max())
    age = (last + 1 - exact).rename(str(values.name)).astype(float)
    return age, f"{note}an age in years, on the last day of {last}."
