"""One-click fixes of a column: convert text to numbers, bands to ranks, or dates to years or ages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import Checks, DataError, Fix
from fairdash.tables.codes import day_numbers, special_codes, spellings, unify_spellings, without_codes
from fairdash.tables.column_profile import NUMBERS, as_floats, kind_of
from fairdash.tables.exposure import OF_NEGATIVES
from fairdash.tables.grammar import (
    DAY_FIRST,
    MONTH_FIRST,
    ORDER_WORDS,
    YEAR_FIRST,
    bands_in_order,
    date_orders,
    holds_numbers,
    n_open_ends,
    to_dates,
    to_numbers,
)
from fairdash.tables.grammar import sole_mark as mark_among
from fairdash.tables.roles import Roles
from fairdash.utils.text import counted, few

_DAYS_IN_A_YEAR = 365.25

#: Unit of the result of each fix for dates, and the order of day and month that it uses in ambiguous cells.
_OF_DATES = {
    "year": ("year", None),
    "age": ("age", None),
    "year_day_first": ("year", DAY_FIRST),
    "year_month_first": ("year", MONTH_FIRST),
    "age_day_first": ("age", DAY_FIRST),
    "age_month_first": ("age", MONTH_FIRST),
}
KINDS = (
    "drop_rows",
    "codes",
    "spelling",
    "convert",
    "dash_zero",
    "order",
    "leave_out",
    "keep",
    *OF_NEGATIVES,
    *_OF_DATES,
)


def check_fixes(frame: pd.DataFrame, fixes: Sequence[Fix]) -> None:
    """Raise an error for fixes of an unknown kind, and for fixes of a column that does not exist.

    Raises
    ------
    DataError
        The error has one problem for each unsuitable fix.
    """
    checks, hint = Checks(DataError), "Choose the data again on the data page."
    for fix in fixes:
        if fix.kind in KINDS:
            checks.require(fix.column in frame.columns, fix.column, "there is no such column", hint)
        else:
            checks.require(False, fix.column, "this fix is not known", hint)
    checks.finish()


def with_fix(fixes: Sequence[Fix], fix: Fix) -> tuple[Fix, ...]:
    """Add a fix, and remove any earlier fix of the same column that has the same subject.

    >>> agreed = Fix("convert", "cost"), Fix("floor", "cost")
    >>> [each.kind for each in with_fix(agreed, Fix("drop_negative", "cost"))]
    ['convert', 'drop_negative']
    """
    subject = fix.column, _question(fix.kind)
    return (*(previous for previous in fixes if (previous.column, _question(previous.kind)) != subject), fix)


def _question(kind: str) -> str:
    """Return the subject of a fix: rows, codes, spelling, amounts below zero, or use of the cells."""
    if kind in OF_NEGATIVES:
        return "amounts below zero"
    return {"drop_rows": "rows", "codes": "codes", "spelling": "spelling"}.get(kind, "use")


def apply_fixes(
    frame: pd.DataFrame, roles: Roles, fixes: Sequence[Fix], notes: list[str]
) -> tuple[pd.DataFrame, Roles]:
    """Apply fixes: convert columns, and leave out the columns that a fix excludes.

    A sentence on each change is added to `notes`.
    """
    converted: dict[str, pd.Series] = {}
    # Codes become missing cells before another fix converts the column.
    for fix in sorted(fixes, key=lambda item: item.kind != "codes"):
        values = converted.get(fix.column, frame[fix.column])
        if fix.kind == "codes" and special_codes(values):
            converted[fix.column], note = without_codes(values)
        elif fix.kind == "spelling" and spellings(values):
            converted[fix.column], note = unify_spellings(values)
        elif fix.kind == "convert" and kind_of(values) == "text":
            converted[fix.column], note = _convert(values)
        elif fix.kind == "dash_zero" and sole_mark(values):
            converted[fix.column], note = _convert(values, zero=sole_mark(values))
        elif fix.kind == "order" and holds_bands(values):
            converted[fix.column], note = rank_of_bands(values)
        elif can_use_dates(values, fix.kind):
            converted[fix.column], note = _from_dates(values, fix.kind)
        else:
            continue
        notes.append(note)
    dropped_columns = [
        fix.column for fix in fixes if fix.kind == "leave_out" and fix.column in roles.features
    ]
    if dropped_columns:
        notes.append(
            f"{counted(len(dropped_columns), 'column')} left out, as you chose ({few(dropped_columns)})."
        )
        roles = replace(roles, features=tuple(name for name in roles.features if name not in dropped_columns))
    return (frame.assign(**converted) if converted else frame), roles


def can_convert(values: pd.Series) -> bool:
    """Return whether a text column may be converted to numbers.

    At least half of the column's cells must be numbers, and no number may have a leading zero. A column with
    bands such as 6-7 is not converted, because the bands would be lost.
    """
    is_text = kind_of(values) == "text" and not holds_bands(values)
    return is_text and (holds_numbers(values) or sole_mark(values) != "")


def sole_mark(values: pd.Series) -> str:
    """Return the single placeholder, such as a dash, in a text column of numbers, or "" if there is none."""
    return mark_among([str(level) for level in values.dropna().unique()]) if kind_of(values) == "text" else ""


def conversions(values: pd.Series) -> tuple[Fix, ...]:
    """Return the fixes that convert a text column to numbers, if any."""
    name = str(values.name)
    if not can_convert(values):
        return ()
    return (Fix("convert", name), *([Fix("dash_zero", name)] if sole_mark(values) else []))


def holds_bands(values: pd.Series) -> bool:
    """Return whether a column contains bands (see :func:`~fairdash.tables.grammar.bands_in_order`)."""
    return kind_of(values) == "text" and bands_in_order(values.dropna().unique().tolist()) is not None


def rank_of_bands(values: pd.Series) -> tuple[pd.Series, str]:
    """Return the ranks of bands (from 1; NaN for missing cells) and a note."""
    order = bands_in_order(values.dropna().unique().tolist())
    assert order is not None
    rank = {band: float(k) for k, band in enumerate(order, start=1)}
    note = f"“{values.name}” is used as the rank of its bands, from 1 to {len(order)}."
    return values.astype(object).map(rank).astype(float), note


def _convert(values: pd.Series, *, zero: str = "") -> tuple[pd.Series, str]:
    """Convert a text column to numbers, with a note on the number of cells that are not numbers.

    Parameters
    ----------
    zero
        Text that means 0, such as a dash, if any.
    """
    numbers = to_numbers(values)
    note = f"“{values.name}” is converted from text to numbers"
    if zero:
        is_zero = (values == zero).to_numpy(dtype=bool, na_value=False)
        numbers, note = (
            numbers.mask(is_zero, 0.0),
            f"{note}; “{zero}” is 0 ({counted(is_zero.sum(), 'cell')})",
        )
    if n_open := n_open_ends(values):
        note += f"; {counted(n_open, 'cell')} with an open end, such as 90+, count as the limit (90)"
    if n_lost := int((numbers.isna() & values.notna()).sum()):
        note += f"; {counted(n_lost, 'cell')} that are not numbers become missing"
    return numbers, f"{note}."


def date_fixes(values: pd.Series) -> tuple[Fix, ...]:
    """Return the fixes for a column of dates, which may be stored as text. Other columns have no such fix.

    If the order of day and month is ambiguous, the result has fixes for both orders (see
    :func:`use_of_dates`).
    """
    orders = _orders(values)
    return tuple(
        Fix(kind, str(values.name))
        for kind, (_, order) in _OF_DATES.items()
        if orders and (order is None if len(orders) == 1 else order in orders)
    )


def use_of_dates(fixes: Sequence[Fix]) -> tuple[str, str]:
    """Return the problem (or "") and the hint for a column of dates with these `fixes`."""
    if any(_OF_DATES[fix.kind][1] for fix in fixes):
        problem = "day and month are ambiguous, because neither is ever above 12"
        return problem, "Choose if day or month comes first, and convert the dates to years or ages."
    return "", "Convert the dates to years or ages."


def can_use_dates(values: pd.Series, kind: str) -> bool:
    """Return whether a fix of this kind can be applied to a column of dates."""
    if kind not in _OF_DATES:
        return False
    orders, order = _orders(values), _OF_DATES[kind][1]
    return len(orders) == 1 if order is None else order in orders


def on_one_scale(values: pd.Series) -> tuple[NDArray[np.float64] | None, bool]:
    """Return a column's numbers (dates as days since 1970), and whether the column contains dates.

    For ambiguous dates, either order may be used. Missing and infinite cells become NaN. For a column of
    another kind, the result is None.
    """
    kind = kind_of(values)
    if orders := _orders(values):
        from_numbers = day_numbers(values)
        dates = pd.to_datetime(
            to_dates(values, orders[0])
            if kind == "text"
            else values
            if from_numbers is None
            else from_numbers
        )
        days = (dates - pd.Timestamp(1970, 1, 1)).dt.total_seconds() / 86400
        return np.asarray(days, dtype=np.float64), True
    if kind not in NUMBERS:
        return None, False
    cells: NDArray[np.float64] = as_floats(values).to_numpy()
    return np.asarray(np.where(np.isfinite(cells), cells, np.nan), dtype=np.float64), False


def as_year(values: pd.Series, notes: list[str]) -> pd.Series:
    """Convert dates to years with a fraction if their order is unambiguous, and add a note."""
    years, note = _from_dates(values, "year")
    notes.append(note)
    return years


def _orders(values: pd.Series) -> tuple[str, ...]:
    """Return the possible orders of day, month and year in a column's dates, if it has dates."""
    present, kind = values.dropna(), kind_of(values)
    if (kind == "date" and len(present)) or day_numbers(values) is not None:
        # Cells stored as dates, and numbers such as 19480711, are unambiguous.
        return (YEAR_FIRST,)
    return date_orders(present.unique()) if kind == "text" else ()


def _from_dates(values: pd.Series, kind: str) -> tuple[pd.Series, str]:
    """Convert dates to years with a fraction, or to ages in years. Missing cells become NaN.

    Ages are computed for the last day of the latest year in the column. Any other day would change all ages
    by the same amount. The column must satisfy :func:`can_use_dates`.
    """
    use, order = _OF_DATES[kind]
    note = f"“{values.name}” is used as "
    if kind_of(values) == "text":
        order = order or _orders(values)[0]
        note = f"“{values.name}” is read as dates, with {ORDER_WORDS[order]}, and used as "
        values = to_dates(values, order)
    dates = day_numbers(values)
    days = pd.to_datetime(values) if dates is None else dates
    year = days.dt.year
    start = pd.to_datetime(pd.DataFrame({"year": year.fillna(2000).astype(int), "month": 1, "day": 1}))
    exact = year + (days - start).dt.total_seconds() / 86400 / _DAYS_IN_A_YEAR
    if use == "year":
        return exact.rename(str(values.name)).astype(float), f"{note}the year."
    last = int(year.max())
    age = (last + 1 - exact).rename(str(values.name)).astype(float)
    return age, f"{note}an age in years, on the last day of {last}."
