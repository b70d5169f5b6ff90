"""Detection of cells with a special meaning, such as 999 for a missing age, or 19480711 for 11 July 1948.

fairdash detects codes by their form and by their distance from the other values. For example, -1 is a code if
all other numbers are whole and non-negative, and 999 is a code if it is far above all other numbers. fairdash
reports likely codes, and adds a note if it replaces them.

>>> ages = pd.Series([18, 25, 31, 40, 52, 66, 71] * 3 + [999] * 4, name="age")
>>> special_codes(ages)
{999.0: 4}
>>> special_codes(pd.Series([99.0, 199.0, 299.0, 399.0, 999.0] * 5))
{}
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.grammar import without_accents, words_in_order
from fairdash.tables.header_words import meanings_of, other_words
from fairdash.utils.text import amount, counted

Floats = NDArray[np.float64]

#: A code must occur in at least `_MIN_ROWS` rows of a column with at least `_MIN_VALUES` other distinct
#: values. A column has at most `_MAX_CODES` codes.
_MIN_ROWS, _MIN_VALUES, _MAX_CODES = 3, 5, 6
#: Numbers that programs such as Stata write for missing cells, namely limits of integer types and huge
#: numbers.
_LIMITS = frozenset(
    float(sign * number)
    for number in (2**15 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 10**20, 10**30)
    for sign in (1, -1)
)
#: The distance of a code from the other values is more than `_GAP` times their range, and more than `_STEPS`
#: times the median difference between adjacent values.
_GAP, _STEPS = 0.1, 5
#: Placeholder dates for “unknown”, “from the beginning” and “until further notice”.
_DAYS = (
    "0001-01-01 1600-01-01 1601-01-01 1753-01-01 1800-01-01 1899-12-30 1899-12-31 1900-01-01 1901-01-01 "
    "1970-01-01 2099-12-31 2199-12-31 2999-12-31 3000-01-01 3999-12-31 9999-01-01 9999-12-31"
)
_SPECIAL_DAYS = frozenset(np.datetime64(day, "D") for day in _DAYS.split())
_MIN_DAYS_AWAY = 5 * 365
#: Plausible years in a column of years are in the range `_YEARS`. `_BEGINNING` stands for an unknown year.
_YEARS, _BEGINNING = (1905, 2150), 1900
#: Names that programs give to a column of row numbers.
ROW_NAMES = re.compile(
    r"Unnamed: ?0|column 1_*|X|V1|\.\.\.1|index|level_0|row_?names?|row\.names|_N_|obs", re.IGNORECASE
)
#: Range of dates that are written as numbers, such as 19480711 for 11 July 1948.
_FIRST_DAY, _LAST_DAY = 18000101, 21001231
_MAX_LEVELS, _LOOKED_AT, _MAX_SHOWN = 50, 1000, 3
#: Words for a total, in lower case and without accents.
TOTALS = frozenset(
    "total totals sum gesamt gesamtsumme summe insgesamt totaux totale totali totales somme suma somma totaal"
    " som".split()
)
#: Maximum share of rows with a level that means a total.
_TOTALS_SHARE = 0.02
#: Words in the headers of date columns. The cells of these columns may be days since 1970, 1960 or 1900.
_DATE_WORDS = frozenset("date datum geburtsdatum fecha dob birthdate birthday".split())
#: Words in the headers of columns with a duration or a count, such as “days insured”, and not with dates.
_COUNT_WORDS = frozenset("count number days day lag since until months weeks tage jours".split())
_MIN_DAYS, _SURE_DAYS, _MAX_DAYS = -40_000, 4_000, 80_000
_EPOCHS = {"R": "1970-01-01", "SAS and Stata": "1960-01-01", "Excel": "1899-12-30"}
#: Range of plausible ages of insured persons.
_YOUNGEST, _OLDEST = 10, 120


def special_codes(values: pd.Series) -> dict[float | np.datetime64, int]:
    """Return the likely codes in a column, each with its number of rows.

    Parameters
    ----------
    values : Series, shape (n,)
        Column of numbers or dates. A column of another kind has no codes.
    """
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return _special_days(values)
    is_number = pd.api.types.is_float_dtype(values.dtype) or pd.api.types.is_integer_dtype(values.dtype)
    if not is_number:
        return {}
    cells: Floats = values.to_numpy(dtype=np.float64, na_value=np.nan)
    codes: dict[float | np.datetime64, int] = {}
    low, high = np.fmin.reduce(cells, initial=np.inf), np.fmax.reduce(cells, initial=-np.inf)
    # In most columns, neither the smallest nor the largest value has the form of a code, and the search ends
    # here.
    for sign in (1, -1):
        if (low if sign < 0 else high) * sign > 0 and _looks_special(low if sign < 0 else high):
            codes |= _codes_at_end(cells[np.isfinite(cells)], sign)
    if low in (0, _BEGINNING) and (count := _leading_placeholders(values.name, cells, low)):
        codes[float(low)] = count
    return codes


def _looks_special(number: float) -> bool:
    """Return whether a number has the form of a code, such as 99, 998, -1 or the limit of an integer type."""
    if not np.isfinite(number):
        return False
    if number in _LIMITS or abs(number) > 1e300 or number in range(-9, 0):
        return True
    if abs(number) > 1e16:
        return False
    text = repr(abs(float(number))).removesuffix(".0")
    digits = text.replace(".", "")
    is_repeated_digit = len(set(digits)) == 1 and digits[0] in (
        "9" if "." in text or len(digits) < 3 else "6789"
    )
    is_nearly_all_nines = "." not in text and set(digits[:-1]) == {"9"} and digits[-1] in "678"
    return (len(digits) > 1 + ("." in text)) and (
        is_repeated_digit
        or is_nearly_all_nines
        or (len(digits) > 4 and len(set(digits)) == 1)
        or digits == "88"
    )


def _codes_at_end(cells: Floats, sign: int) -> dict[float | np.datetime64, int]:
    """Return the codes among the largest values (`sign` 1) or the smallest values (`sign` -1) of a column."""
    levels, counts = np.unique(sign * cells, return_counts=True)
    codes: list[int] = []
    while len(codes) < _MAX_CODES and len(levels) - len(codes) > _MIN_VALUES:
        position = len(levels) - len(codes) - 1
        if not _looks_special(sign * levels[position]):
            break
        codes.append(position)
    if sign < 0 and len(codes) > 1 and levels[codes].tolist() == list(range(len(codes), 0, -1)):
        # Consecutive negative numbers are ordinary values, for example on a bonus scale that starts at -2.
        return {}
    # A code is far from all ordinary values, but may be close to another code, as 98 is to 99.
    while codes:
        position = codes[-1]
        if counts[position] >= _MIN_ROWS and _is_far_from_others(
            levels[: position + 1], counts[: position + 1], sign
        ):
            break
        codes.pop()
    return {float(sign * levels[k]): int(counts[k]) for k in codes}


def _is_far_from_others(levels: Floats, counts: NDArray[np.int64], sign: int) -> bool:
    """Return whether the last of `levels` is far above the others. All levels are multiplied by `sign`."""
    *_, code = levels
    others = levels[:-1]
    if sign < 0 and others[-1] <= 0:
        # If all other values are non-negative, a negative value is a code, unless all numbers are single
        # digits, as on a scale.
        return bool(code > 9 or others[0] <= -10 or (others != np.round(others)).any())
    endings = np.mod(np.abs(others), 100) == code % 100
    if code >= 99 and endings.mean() > 0.2:
        # Prices such as 199 and 299 also end in 99, so this ending alone does not indicate a code.
        return False
    step = float(np.median(np.diff(others[-_STEPS - 1 :])))
    gap, spread = code - others[-1], others[-1] - others[0]
    is_frequent = gap > spread or counts[-1] > 2 * counts[-2]
    return bool(is_frequent and gap > max(_GAP * spread, _STEPS * step))


def _leading_placeholders(name: object, cells: Floats, first: float) -> int:
    """Count the placeholders 0 or 1900 in a column whose other values are plausible ages or years."""
    others = cells[cells > first]
    low, high = float(others.min(initial=np.inf)), float(others.max(initial=-np.inf))
    # The header is checked last, because this check is the slowest.
    if not (_YEARS[0] <= low < high <= _YEARS[1] or _YOUNGEST <= low <= high <= _OLDEST):
        return 0
    count = int((cells == first).sum())
    if count < _MIN_ROWS or (others != np.round(others)).any():
        return 0
    if _YEARS[0] <= low < high <= _YEARS[1]:
        return count if first == 0 or count > 2 * (others == low).sum() else 0
    is_age = bool({"age", "driver_age"} & set(meanings_of(name))) and not other_words(name, "age", "thing")
    return count if first == 0 and is_age else 0


def _special_days(values: pd.Series) -> dict[float | np.datetime64, int]:
    present = values.dropna()
    present = present.dt.tz_localize(None) if getattr(present.dtype, "tz", None) is not None else present
    days = present.to_numpy().astype("datetime64[D]")
    codes: dict[float | np.datetime64, int] = {}
    for end in (np.min, np.max):
        if len(days) == 0 or (day := end(days)) not in _SPECIAL_DAYS:
            continue
        count, others = int((days == day).sum()), days[days != day]
        is_far = len(others) and abs(int((end(others) - day) / np.timedelta64(1, "D"))) > _MIN_DAYS_AWAY
        if count >= _MIN_ROWS and is_far:
            codes[day] = count
    return codes


def code_text(code: float | np.datetime64) -> str:
    """Format a code as it is written in files."""
    if isinstance(code, np.datetime64):
        return str(code)
    return f"{code:.0f}" if code == round(code) and abs(code) < 1e16 else amount(code)


def numbers_rows(values: pd.Series, *, gaps: bool = False) -> bool:
    """Return whether a column contains row numbers in any order, without gaps, from 0 or 1.

    Parameters
    ----------
    gaps
        True if the row numbers may have gaps and any start, for example because rows were removed in R.
    """
    if not pd.api.types.is_integer_dtype(values.dtype) or len(values) < 2 or values.isna().any():
        return False
    low, high, n = int(values.min()), int(values.max()), len(values)
    is_whole = low in (0, 1) and high - low == n - 1
    return bool((is_whole or (gaps and low >= 0 and high < 20 * n)) and values.is_unique)


def codes_in_words(values: pd.Series) -> list[str]:
    """Return a list with a sentence on a column's likely codes, or an empty list if there are none."""
    if not (codes := special_codes(values)):
        return []
    text = ", ".join(f"{code_text(code)} in {counted(count, 'row')}" for code, count in codes.items())
    marks = " ".join(f"--missing {values.name}={code_text(code)}" for code in codes)
    return [
        f"“{values.name}” holds {text}, apart from all other values. This may be a code for a missing value. "
        f"It is used as a number, unless you add the option {marks}."
    ]


def doubts_about(values: pd.Series) -> list[str]:
    """Return sentences on values that probably have a special meaning in a column."""
    note = codes_in_words(values)
    if day_numbers(values) is not None:
        note.append(
            f"“{values.name}” holds dates written as numbers, such as {values.dropna().iloc[0]:.0f}. Without "
            "a conversion to years or ages, they are used as numbers."
        )
    note += counted_days_in_words(values)
    levels = _levels(values)
    if warning := spellings_in_words(values, levels):
        note.append(
            f"“{values.name}”: {warning}. They are different levels unless you choose one spelling "
            f"(--one-spelling {values.name})."
        )
    for level in levels:
        word = without_accents(level.strip()).removeprefix("grand ")
        rows = int((values == level).sum()) if word in TOTALS else 0
        if 0 < rows <= max(1, _TOTALS_SHARE * len(values)):
            note.append(
                f"“{values.name}” holds “{level}” in {counted(rows, 'row')}, used as a level. If this level "
                "is the total of other rows, leave it out."
            )
    return note


def counted_days_in_words(values: pd.Series) -> list[str]:
    """Return a list with a warning if a column is named like a date, but its cells may be numbers of days."""
    words = words_in_order(str(values.name))
    if _DATE_WORDS.isdisjoint(words) or not _COUNT_WORDS.isdisjoint(words) or not is_plain_number(values):
        return []
    low, high = float(values.min()), float(values.max())
    if not (low > _MIN_DAYS and _SURE_DAYS < high < _MAX_DAYS) or (values.dropna() % 1 != 0).any():
        return []
    days = ", ".join(
        f"{np.datetime64(start) + np.timedelta64(int(high), 'D')} as {by} counts"
        for by, start in _EPOCHS.items()
    )
    return [
        f"“{values.name}” is named like a date and holds whole numbers up to {high:.0f}. These numbers may "
        f"be days ({days}) and are used as numbers. Write them as dates."
    ]


def is_plain_number(values: pd.Series) -> bool:
    """Return whether a column contains numbers. Truth values are not numbers."""
    return pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)


def day_numbers(values: pd.Series) -> pd.Series | None:
    """Return a column of numbers such as 19480711 as dates, or None for any other column.

    >>> day_numbers(pd.Series([19480711, 19520229]))[0].year, day_numbers(pd.Series([19520230])) is None
    (1948, True)
    """
    if not is_plain_number(values):
        return None
    # If all cells are missing, the minimum is NaN, or NA, whose comparison would raise an error.
    if pd.isna(low := values.min()) or not _FIRST_DAY <= float(low) <= float(values.max()) <= _LAST_DAY:
        return None
    present = values.dropna()
    if (present % 1 != 0).any():
        return None
    month, day = present // 100 % 100, present % 100
    if ((month < 1) | (month > 12) | (day < 1) | (day > 31)).any():
        return None
    days = pd.to_datetime(present.astype(np.int64).astype(str), format="%Y%m%d", errors="coerce")
    return None if days.isna().any() else days.reindex(values.index)


def spellings(values: pd.Series, levels: list[str] | None = None) -> list[list[str]]:
    """Return groups of levels that differ only in capitals or spaces, the most frequent level first.

    By default, `levels` are computed from `values`.

    >>> spellings(pd.Series(["Male", "male ", "Male", "female"]))
    [['Male', 'male ']]
    """
    levels = _levels(values) if levels is None else levels
    groups: dict[str, list[str]] = {}
    for level in levels:
        groups.setdefault(" ".join(level.casefold().split()), []).append(level)
    if len(groups) == len(levels):
        return []
    counts = values.value_counts()
    groups_of_spellings = (group for group in groups.values() if len(group) > 1)
    return [sorted(group, key=lambda level: (-counts[level], level)) for group in groups_of_spellings]


def _levels(values: pd.Series) -> list[str]:
    """Return the levels of a text column with few levels, or an empty list for any other column."""
    if not (pd.api.types.is_string_dtype(values.dtype) or isinstance(values.dtype, pd.CategoricalDtype)):
        return []
    if values.head(_LOOKED_AT).nunique() > _MAX_LEVELS:
        return []
    levels = pd.Series(values.unique()).dropna().tolist()
    return levels if len(levels) <= _MAX_LEVELS and all(isinstance(level, str) for level in levels) else []


def spellings_in_words(values: pd.Series, levels: list[str] | None = None) -> str:
    """Return a sentence on levels that differ only in capitals or spaces, or "" if there are none."""
    if not (groups := spellings(values, levels)):
        return ""
    rows = int(values.isin([level for group in groups for level in group]).sum())
    examples = "; ".join(" and ".join(f"“{level}”" for level in group) for group in groups[:_MAX_SHOWN])
    return f"levels differ in capitals or spaces alone: {examples} ({counted(rows, 'row')})"


def unify_spellings(values: pd.Series) -> tuple[pd.Series, str]:
    """Return a column with one spelling of each level, and a note on the changes (see :func:`spellings`)."""
    groups = spellings(values)
    new_level = {other: group[0] for group in groups for other in group}
    changed = values.astype(object).map(lambda cell: new_level.get(cell, cell))
    count = int((changed != values.astype(object))[values.notna()].sum())
    examples = ", ".join(f"“{group[0]}”" for group in groups)
    return changed, f"“{values.name}”: {examples} in one spelling ({counted(count, 'row')} changed)."


def without_codes(values: pd.Series) -> tuple[pd.Series, str]:
    """Replace likely codes by missing cells. Return the new column and a note on the changes."""
    codes = special_codes(values)
    days = values.to_numpy().astype("datetime64[D]") if values.dtype.kind == "M" else values
    examples = ", ".join(map(code_text, codes))
    note = f"“{values.name}”: {examples} is a missing cell ({counted(sum(codes.values()), 'row')})."
    return values.mask(np.isin(days, np.array(list(codes)))), note
