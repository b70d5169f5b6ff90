"""Patterns that recognise numbers, dates, bands and names, and functions that convert text with them.

The patterns match whole cells. They are valid regular expressions in Python and in Arrow.

>>> date_orders(["31.12.2019", "1.2.2020"]), date_orders(["01/02/2019", "12/31/2019"])
(('day_first',), ('month_first',))
>>> date_orders(["01/02/2019", "03/04/2019"])
('day_first', 'month_first')
>>> date_orders(["31 Dec 2019"]), date_orders(["2019/12/31"]), date_orders(["31.12.2019", "soon"])
(('month_in_words',), ('year_first',), ())
>>> to_numbers(pd.Series(["1 234,5", "1.234.567,8", "soon"])).tolist()
[1234.5, 1234567.8, nan]
>>> bands_in_order(["10+", "2-5", "6-9", "1", "<1"])
('<1', '1', '2-5', '6-9', '10+')
>>> bands_in_order(["65 and over", "18 to 64"]), bands_in_order(["12-3", "4-7"]), bands_in_order(["1", "2"])
(('18 to 64', '65 and over'), None, None)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from math import inf

import numpy as np
import pandas as pd

WHOLE = r"[+-]?[0-9]+"
POWER = r"[+-]?[0-9]+[eE][+-]?[0-9]+"
#: Pattern of a decimal number, in which `mark` stands for the decimal mark.
FRACTION = r"[+-]?(?:[0-9]+[{mark}][0-9]*|[{mark}][0-9]+)(?:[eE][+-]?[0-9]+)?"
#: Pattern of numbers such as 1.234 or 1,234, whose mark may be a decimal mark or a thousands separator.
AMBIGUOUS = r"[+-]?[1-9][0-9]{{0,2}}[{mark}][0-9]{{3}}"
INFINITE = r"[+-]?(?i:inf|infinity)"
LEADING_ZERO = r"[+-]?0[0-9].*"
#: Thousands separators other than points and commas.
_SPACES = " '’\u00a0\u2009\u202f"
THOUSANDS = rf"[+-]?[0-9]{{1,3}}(?:[{_SPACES}.,][0-9]{{3}})+(?:[.,][0-9]+)?"
_SPACED = rf"[+-]?[0-9]{{1,3}}(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]+)?"
#: Pattern of a grouped number. `mark` stands for the decimal mark and `other` for the thousands separator.
GROUPED = r"[+-]?[1-9][0-9]{{0,2}}(?:[{other}][0-9]{{3}})+(?:[{mark}][0-9]+)?"
#: Patterns of numbers that are unambiguous, because they contain both marks, or the same mark twice.
SURELY_GROUPED = (
    r"[+-]?[1-9][0-9]{{0,2}}(?:(?:[{other}][0-9]{{3}})+[{mark}][0-9]+|(?:[{other}][0-9]{{3}}){{2,}})"
)
#: Currency signs and codes at the start or end of a cell.
_MONEY = r"(?:€|\$|£|¥|zł|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|Fr\.|kr\.?)"
_GAP = "[ \u00a0\u2009\u202f]*"
#: Pattern with which Python or Arrow finds cells that have a unit, before the cells are converted.
SIGN_OF_UNIT = rf"^[+-]?{_GAP}{_MONEY}|(?:{_MONEY}|%)$"
SPACES = f"[{_SPACES}]"
WITH_UNIT = re.compile(
    rf"(?P<sign>[+-]?){_GAP}(?:(?P<before>{_MONEY}){_GAP})?(?P<number>[+-]?[0-9][0-9{_SPACES}.,]*?)"
    rf"(?:{_GAP}(?P<after>{_MONEY}|%))?"
)
_BOTH_MARKS = r"[+-]?[0-9]{1,3}(?:(?:\.[0-9]{3})+,[0-9]+|(?:,[0-9]{3})+\.[0-9]+)"

#: Pattern of all cells that may contain a number, with or without a unit.
LIKE_NUMBER = re.compile(rf"[^A-Za-z0-9]*[0-9][0-9{_SPACES}.,]*(?:[eE][+-]?[0-9]+)?[^A-Za-z0-9]*")

ISO_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?"
#: Pattern of dates. The year may have only two digits, and the century is then unknown.
DATE_LIKE = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}(?:[T ].*)?")
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


def without_unit(text: str) -> tuple[str, str]:
    """Split a cell into a number and the currency or percent sign before or after it ("" if none).

    >>> without_unit("€ 1.076,78"), without_unit("13,0 %"), without_unit("-$5"), without_unit("5 m")
    (('1.076,78', '€'), ('13,0', '%'), ('-5', '$'), ('5 m', ''))
    """
    match = WITH_UNIT.fullmatch(text.strip())
    if match is None or bool(match["before"]) == bool(match["after"]):
        return text, ""
    number = match["number"] if match["number"][0] in "+-" else match["sign"] + match["number"]
    return number.strip(), match["before"] or match["after"]


#: Negative amounts in accounting notation: a number in brackets, or with a minus or dash before or after it.
_NEGATIVE = re.compile(
    r"(?P<money>[€$£¥] ?)?\((?P<inside>[^()]*[0-9][^()]*)\)|(?P<before>[^()]*[0-9]) ?[-\u2212]"
    r"|[\u2212\u2013](?P<after>.+)"
)
#: Pattern with which a fast preliminary check finds negative numbers and open ends.
SIGNS = "^[€$£¥]? ?[(\u2212\u2013<>≤≥]|[0-9] ?[-+\u2212]$"
#: Pattern of a number with an open end, such as 250,000+ or >250000.
_OPEN_END = re.compile(r"(?:[<>≤≥]=? ?)?(?P<limit>[^<>≤≥+]*?[0-9]) ?[+-]?")
#: Pattern of a placeholder that is neither a word nor a number, such as the dash for 0 in accounts.
_MARK = re.compile(r"[^\w\s]{1,3}")


def is_mark(text: str) -> bool:
    """Return whether a string is a placeholder, such as a dash, rather than a word or a number."""
    return _MARK.fullmatch(text) is not None


def negatives(texts: Sequence[str], counts: Sequence[int]) -> dict[str, str]:
    """Return a map from negative amounts in accounting notation to numbers with a minus sign.

    Parameters
    ----------
    texts, counts
        Distinct strings in a column without missing cells, and the number of rows with each string.

    Examples
    --------
    >>> negatives(["5", "7.5", "(1,247.37)", "437.67-"], [1, 1, 1, 1])
    {'(1,247.37)': '-1,247.37', '437.67-': '-437.67'}
    >>> negatives(["(1)", "(2)"], [1, 1]), negatives(["5,000", "2,500-", "250,000+"], [1, 4, 4])
    ({}, {})
    """
    replacements, behind, n_unmarked = {}, [], 0
    for text in texts:
        match = _NEGATIVE.fullmatch(text)
        if match is None:
            n_unmarked += LIKE_NUMBER.fullmatch(text) is not None
            continue
        number = "".join(part for part in match.groups() if part).strip()
        if number[:1] not in "+-" and LIKE_NUMBER.fullmatch(number):
            replacements[text] = f"-{number}"
            behind += [text] if match["before"] else []
    # If all numbers have brackets, the cells are labels. A string such as 2,500- may mean a negative number
    # or an open end. It means an open end if 250,000+ also occurs, or if it is the only string that ends with
    # a minus and occurs in several rows.
    is_single = len(behind) == 1 and counts[texts.index(behind[0])] > 1
    if behind and (is_single or any(text.endswith("+") for text in texts)):
        replacements = {text: number for text, number in replacements.items() if text not in behind}
    return replacements if len(replacements) <= n_unmarked else {}


def sole_mark(levels: Sequence[str]) -> str:
    """Return the placeholder in a column's distinct strings if all other strings are numbers, else "".

    >>> sole_mark(["-", "12", "1,250.50"]), sole_mark(["-", "*", "12"]), sole_mark(["-", "12", "soon"])
    ('-', '', '')
    """
    marks = [level for level in levels if not any(map(str.isdigit, level))]
    if len(marks) != 1 or len(levels) < 3 or not is_mark(marks[0].strip()):
        return ""
    other_texts = pd.Series([level for level in levels if level != marks[0]])
    return marks[0] if to_numbers(other_texts).notna().all() else ""


def _with_minus_signs(texts: pd.Series) -> pd.Series:
    """Replace accounting notation by a minus sign, and an open end such as 85+ by its limit."""
    if not texts.str.contains(SIGNS, regex=True).fillna(False).any():
        return texts
    counts = texts.value_counts()
    levels = [str(level) for level in counts.index]
    signed = negatives(levels, counts.tolist())
    limits = {level: match["limit"] for level in levels if (match := _OPEN_END.fullmatch(level))}
    return texts.map({**{level: level for level in levels}, **limits, **signed}).astype("string")


def n_open_ends(values: pd.Series) -> int:
    """Count the cells that contain a number with an open end, such as 250,000+."""
    texts = values.astype("string").str.strip()
    is_open = texts.str.contains(r"^[<>≤≥]|[0-9] ?[+]$", regex=True).fillna(False)
    return int(to_numbers(texts[is_open]).notna().sum()) if is_open.any() else 0


def to_numbers(values: pd.Series) -> pd.Series:
    """Convert strings with thousands separators or currency signs to numbers. Other strings become missing.

    Amounts in brackets are negative (see :func:`negatives`). A number with an open end becomes its limit: 85+
    becomes 85.

    Parameters
    ----------
    values : Series, shape (n,)
        Text.

    Returns
    -------
    Series, float64
        Numbers, with NaN for a cell that is not a number or exceeds the largest float.
    """
    texts = _without_units(_with_minus_signs(values.astype("string").str.strip()))
    spaced = texts.str.fullmatch(_SPACED).fillna(False)
    texts = texts.where(~spaced, texts.str.replace(f"[{_SPACES}]", "", regex=True))
    has_both_marks = texts.str.fullmatch(_BOTH_MARKS).fillna(False)
    last_is_comma = texts.str.rfind(",") > texts.str.rfind(".")
    german = texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    english = texts.str.replace(",", "", regex=False)
    texts = texts.where(~has_both_marks, english.where(~last_is_comma.fillna(False), german))
    texts = texts.str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(texts.astype(object).where(texts.notna(), None), errors="coerce")
    series = pd.Series(np.asarray(numbers, dtype=float), index=values.index, name=values.name)
    return series.where(np.isfinite(series))


def _without_units(texts: pd.Series) -> pd.Series:
    """Remove currency and percent signs around numbers."""
    signed = texts.str.contains(SIGN_OF_UNIT, regex=True).fillna(False)
    return (
        texts.where(~signed, texts[signed].map(lambda text: without_unit(text)[0])) if signed.any() else texts
    )


def holds_numbers(values: pd.Series) -> bool:
    """Return whether at least half of a column's strings are unambiguous numbers without leading zeros.

    A cell such as 1.234 is ambiguous, because its point may be a decimal mark or a thousands separator.
    """
    # Only distinct strings are checked, because even a million cells have few of them.
    counts = values.dropna().astype("string").str.strip().value_counts()
    numbers = _without_units(_with_minus_signs(pd.Series(counts.index, dtype="string")))
    if numbers.empty or numbers.str.fullmatch(LEADING_ZERO).any():
        return False
    is_unambiguous = numbers.str.fullmatch(_SPACED).any() or numbers.str.fullmatch(_BOTH_MARKS).any()
    if numbers.str.fullmatch(AMBIGUOUS.format(mark=".,")).any() and not is_unambiguous:
        return False
    return bool(np.average(to_numbers(numbers).notna(), weights=counts.to_numpy(dtype=float)) >= 0.5)


def date_orders(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the orders of day, month and year in which all strings are valid dates.

    Parameters
    ----------
    texts
        Distinct strings in a column without missing cells.

    Returns
    -------
    tuple of str
        The possible orders. The tuple is empty if a string is not a date, or if the formats differ. The tuple
        contains both ``"day_first"`` and ``"month_first"`` if the numbers of day and month are at most 12 and
        the two orders give different dates.
    """
    possible: list[str] | None = None
    are_same_dates = True
    for text in texts:
        readings = _readings(str(text).strip())
        possible = [order for order in readings if possible is None or order in possible]
        if not possible:
            return ()
        are_same_dates &= len(set(readings.values())) == 1
    # If both orders give the same dates, such as 1 January in all rows, one order is returned.
    return tuple(possible or ())[: 1 if are_same_dates else 2]


def to_dates(values: pd.Series, order: str) -> pd.Series:
    """Convert strings to dates, with an order of day, month and year from :func:`date_orders`.

    Parameters
    ----------
    values : Series, shape (n,)
        Column of strings. Cells may be missing.

    Returns
    -------
    Series, datetime64
        Dates, with NaT for missing cells.
    """
    present = values.dropna()
    date_of_text = {text: _readings(str(text).strip())[order] for text in present.unique()}
    dates = pd.Series([date_of_text[text] for text in present], index=present.index, dtype="datetime64[us]")
    return dates.reindex(values.index)


def _readings(text: str) -> dict[str, datetime]:
    """Return the date that a string means in each possible order of day, month and year."""
    if match := _NUMBERS.fullmatch(text):
        first_number, second_number = int(match["one"]), int(match["two"])
        months_and_days = {
            DAY_FIRST: (second_number, first_number),
            MONTH_FIRST: (first_number, second_number),
        }
    elif match := _FROM_YEAR.fullmatch(text):
        months_and_days = {YEAR_FIRST: (int(match["one"]), int(match["two"]))}
    elif match := _DAY_AND_WORD.fullmatch(text) or _WORD_AND_DAY.fullmatch(text):
        # A month with the number zero is invalid.
        months_and_days = {MONTH_IN_WORDS: (_MONTH_OF_WORD.get(match["word"].lower(), 0), int(match["one"]))}
    else:
        return {}
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    fraction = int((match["fraction"] or "").ljust(6, "0"))
    dates = {}
    for order, (month, day) in months_and_days.items():
        try:
            dates[order] = datetime(int(match["year"]), month, day, hour, minute, second, fraction)
        except ValueError:
            # An order is excluded if it gives an impossible date, such as 30 February or a month 13.
            continue
    return dates


#: Maximum number of levels in a column of bands such as 18-25, under 18 or 10+.
MAX_BANDS = 200

_PLAIN_NUMBER = r"(?:0|[1-9][0-9]*)(?:[.,][0-9]+)?"
_UNIT = r"(?: ?(?:years?|yrs?|y|jahren?|j|ans?|anos?|anni|jaar|km|€|eur|%))?"
_TO = r"(?:-|\u2013|\u2014|\.\.|to|until|bis|a|ate|fino a|tot)"
_MORE = (
    r"(?:\+|plus|and over|and more|or more|and above|and older|und mehr|und alter|und aelter|oder mehr"
    r"|et plus|ou plus|y mas|o mas|e oltre|o piu|e piu|en meer|of meer|en ouder)"
)
_LESS = r"(?:<|under|below|less than|unter|moins de|menos de|meno di|minder dan|onder)"
_LESS_OR = r"(?:<=|≤|up to|bis|bis zu|jusqu'?a|hasta|fino a|tot)"
_OVER = r"(?:>|over|above|more than|uber|ueber|plus de|mas de|oltre|piu di|meer dan)"
_OVER_OR = r"(?:>=|≥|from|ab|des|desde|da|vanaf)"

#: Patterns of bands.
_SHAPES = (
    rf"(?P<low>{_PLAIN_NUMBER}){_UNIT} ?{_TO} ?(?P<high>{_PLAIN_NUMBER}){_UNIT}",
    rf"[\[(\]] ?(?P<low>{_PLAIN_NUMBER}) ?[,;-] ?(?P<high>{_PLAIN_NUMBER}) ?[\])\[]",
    rf"(?P<low>{_PLAIN_NUMBER}){_UNIT} ?{_MORE}",
    rf"{_OVER_OR} ?(?P<low>{_PLAIN_NUMBER}){_UNIT}",
    rf"{_OVER} ?(?P<over>{_PLAIN_NUMBER}){_UNIT}",
    rf"{_LESS_OR} ?(?P<high>{_PLAIN_NUMBER}){_UNIT}",
    rf"{_LESS} ?(?P<under>{_PLAIN_NUMBER}){_UNIT}",
)
_BANDS = tuple(map(re.compile, _SHAPES))
_SINGLE_VALUE = re.compile(rf"(?P<low>{_PLAIN_NUMBER}){_UNIT}")


def bands_in_order(levels: Sequence[object]) -> tuple[str, ...] | None:
    """Return the levels of a column of bands from low to high, or None if the levels are not bands.

    Every level must be a band or a number, and at least one level must be a band. The end of a band must not
    be below its start.

    Parameters
    ----------
    levels
        Distinct strings in a column.
    """
    if not 2 <= len(levels) <= MAX_BANDS:
        return None
    upper_limits, n_bands = [], 0
    for level in levels:
        band = band_ends(str(level))
        if band is None:
            return None
        upper_limits.append((band[:2], str(level)))
        n_bands += band[2]
    return tuple(level for _, level in sorted(upper_limits)) if n_bands else None


def band_ends(text: str) -> tuple[float, float, bool] | None:
    """Return start and end of a band or number, and whether it is a band. Return None for other strings."""
    text = " ".join(without_accents(text.replace("≤", "<=").replace("≥", ">=")).split())
    match, is_band = _SINGLE_VALUE.fullmatch(text), False
    if match is None:
        match = next((band for pattern in _BANDS if (band := pattern.fullmatch(text))), None)
        is_band = True
    if match is None:
        return None
    parts = {name: float(part.replace(",", ".")) for name, part in match.groupdict().items() if part}
    if "under" in parts:
        return -inf, parts["under"], True
    if "over" in parts:
        # The added 1e-9 places a band such as “over 25” after the number 25.
        return parts["over"] + 1e-9, inf, True
    low = parts.get("low", -inf)
    high = parts.get("high", inf if is_band else low)
    return (low, high, is_band) if low <= high else None


def words_in_order(name: str) -> tuple[str, ...]:
    """Split a name such as likeThis or like_this into words in lower case and without accents.

    >>> words_in_order("AgeDuConducteur"), words_in_order("durée d'exposition"), words_in_order("IDpol")
    (('age', 'du', 'conducteur'), ('duree', 'd', 'exposition'), ('id', 'pol'))
    """
    # A lower-case word may directly follow the letters ID, as in IDpol.
    words = re.findall(r"ID(?=[a-z])|[A-Z]?[a-z]+|[A-Z]+(?![a-z])", _plain(name))
    return tuple(word.lower() for word in words)


def without_accents(text: str, *, umlauts: bool = False) -> str:
    """Convert text to lower case and remove accents. If `umlauts` is true, umlauts become ae, oe and ue.

    >>> without_accents("Prämie"), without_accents("Prämie", umlauts=True), without_accents("GRÖSSE")
    ('pramie', 'praemie', 'grosse')
    """
    if umlauts:
        for letter, pair in zip("äöü", ("ae", "oe", "ue"), strict=True):
            text = text.lower().replace(letter, pair)
    return _plain(text).lower()


def _plain(text: str) -> str:
    """Remove accents from a string. Capital letters stay."""
    parts = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(letter for letter in parts if not unicodedata.combining(letter))
