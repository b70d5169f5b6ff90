"""Dates written as text, and the orders in which day, month and year can stand in them.

>>> date_orders(["31.12.2019", "1.2.2020"]), date_orders(["01/02/2019", "12/31/2019"])
(('day_first',), ('month_first',))
>>> date_orders(["01/02/2019", "03/04/2019"])
('day_first', 'month_first')
>>> date_orders(["31 Dec 2019"]), date_orders(["2019/12/31"]), date_orders(["31.12.2019", "soon"])
(('month_in_words',), ('year_first',), ())
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

import pandas as pd

DAY_FIRST, MONTH_FIRST = "day_first", "month_first"
YEAR_FIRST, MONTH_IN_WORDS = "year_first", "month_in_words"
ORDER_WORDS = {
    DAY_FIRST: "the day first",
    MONTH_FIRST: "the month first",
    YEAR_FIRST: "the year first",
    MONTH_IN_WORDS: "the month in words",
}

_TIME = r"(?:[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,6}))?)?)?"
_NUMBERS = re.compile(
    rf"(?P<one>\d{{1,2}})(?P<mark>[-/.])(?P<two>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){_TIME}"
)
_FROM_YEAR = re.compile(
    rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<one>\d{{1,2}})(?P=mark)(?P<two>\d{{1,2}}){_TIME}"
)
_DAY_AND_WORD = re.compile(
    rf"(?P<one>\d{{1,2}})\.?[ -](?P<word>[A-Za-z]{{3,9}})\.?[ -](?P<year>\d{{4}}){_TIME}"
)
_WORD_AND_DAY = re.compile(rf"(?P<word>[A-Za-z]{{3,9}})\.? (?P<one>\d{{1,2}}),? (?P<year>\d{{4}}){_TIME}")
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_OF_WORD = {word: k for k, name in enumerate(_MONTHS, start=1) for word in (name, name[:3])}
_MONTH_OF_WORD["sept"] = 9


def date_orders(texts: Iterable[str]) -> tuple[str, ...]:
    """Give the orders by which every one of these texts is a date.

    Parameters
    ----------
    texts
        Distinct cells, none missing.

    Returns
    -------
    tuple of str
        Empty if they are no dates, or of several shapes. Two, ``"day_first"`` and ``"month_first"``, if no
        number in the place of a day or a month is above 12, unless both give the same dates.
    """
    left: list[str] | None = None
    same = True
    for text in texts:
        found = _readings(str(text).strip())
        left = [order for order in found if left is None or order in left]
        if not left:
            return ()
        same &= len(set(found.values())) == 1
    # Where both give the same dates, as for a column of first Januaries, nothing is in doubt.
    return tuple(left or ())[: 1 if same else 2]


def to_dates(values: pd.Series, order: str) -> pd.Series:
    """Read texts as dates by one of the orders that :func:`date_orders` gave.

    Parameters
    ----------
    values : Series, shape (n,)
        Text, with missing cells.

    Returns
    -------
    Series, datetime64
        NaT where a cell is missing.
    """
    known = values.dropna()
    read = {text: _readings(str(text).strip())[order] for text in known.unique()}
    found = pd.Series([read[text] for text in known], index=known.index, dtype="datetime64[us]")
    return found.reindex(values.index)


def _readings(text: str) -> dict[str, datetime]:
    """Each order by which a text is a date, with the date."""
    if match := _NUMBERS.fullmatch(text):
        one, two = int(match["one"]), int(match["two"])
        tried = {DAY_FIRST: (two, one), MONTH_FIRST: (one, two)}
    elif match := _FROM_YEAR.fullmatch(text):
        tried = {YEAR_FIRST: (int(match["one"]), int(match["two"]))}
    elif match := _DAY_AND_WORD.fullmatch(text) or _WORD_AND_DAY.fullmatch(text):
        # Zero is no month.
        tried = {MONTH_IN_WORDS: (_MONTH_OF_WORD.get(match["word"].lower(), 0), int(match["one"]))}
    else:
        return {}
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    fraction = int((match["fraction"] or "").ljust(6, "0"))
    found = {}
    for order, (month, day) in tried.items():
        try:
            found[order] = datetime(int(match["year"]), month, day, hour, minute, second, fraction)
        except ValueError:
            # A 30 February, or a month 13: not by this order.
            continue
    return found
