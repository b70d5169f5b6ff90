"""Formatting of counts, amounts and lists of names for messages, and escapes for invisible characters."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from itertools import islice

#: Unicode categories of invisible characters that have an effect. They are controls (also of a terminal),
#: format characters such as U+202E, which reverses text, surrogates, and ends of lines and paragraphs.
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Separator between attributes in the name of a combination of attributes.
CROSS = " × "


def visible(text: str, *, keep: str = "\t\n\r") -> str:
    """Write the invisible characters of a user's text as escapes, as in JSON.

    Different column names then look different, and no character can change how other characters appear. If
    the text is a JSON document, its meaning does not change.

    Parameters
    ----------
    keep
        Control characters that are not escaped, or "" for text that must stay on one line.

    >>> visible("age\u202e"), visible("prime d\u2019été")
    ('age\\\\u202e', 'prime d’été')
    """
    if text.isprintable():
        return text
    return "".join(
        _escape(char) if unicodedata.category(char) in _INVISIBLE_CATEGORIES and char not in keep else char
        for char in text
    )


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[k : k + 2].hex()}" for k in range(0, len(units), 2))


#: Replacements that Unicode's names and decompositions do not provide.
_ASCII = {"λ": "lambda", "€": "EUR", "→": "->", "±": "+/-", "≤": "<=", "≥": ">=", "≈": "~"}
_ASCII |= {"×": "x", "÷": "/", "·": "*"} | dict.fromkeys("−–—", "-")
_ASCII |= dict.fromkeys("“”„", '"') | dict.fromkeys("‘’", "'")


def in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that a stream cannot encode: λ by lambda, − by -, é by e, and others by “?”.

    The function is an error handler for :func:`codecs.register_error`.

    >>> in_ascii(UnicodeEncodeError("ascii", "λ ≤ −2 ρ² €", 0, 11, ""))[0]
    'lambda <= -2 rho2 EUR'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii_of, error.object[error.start : error.end])), error.end


def _ascii_of(char: str) -> str:
    if char in _ASCII or char.isascii():
        return _ASCII.get(char, char)
    parts = [part for part in unicodedata.normalize("NFKD", char) if not unicodedata.combining(part)]
    if parts != [char]:
        return "".join(map(_ascii_of, parts))
    script, *_, last = unicodedata.name(char, "no name").split()
    is_greek = script == "GREEK" and char.isalpha()
    return (last.lower() if char.islower() else last.capitalize()) if is_greek else "?"


def counted(count: int, word: str) -> str:
    """Put a count before a word in the singular or plural.

    >>> counted(1, "row"), counted(2500, "row"), counted(2, "search")
    ('1 row', '2,500 rows', '2 searches')
    """
    plural = f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{count:,} {word if count == 1 else plural}"


def amount(value: float) -> str:
    """Format a sum or a mean with at least four digits, never in scientific notation for counts or money.

    >>> amount(2953412.25), amount(0.33107), amount(12.5)
    ('2,953,412', '0.3311', '12.5')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def number(value: float, *, error: float | None = None) -> str:
    """Format a number to two digits of its standard error, or to three digits if the error is unknown."""
    if not math.isfinite(value):
        return "–"
    if error is not None and math.isfinite(error) and error > 0:
        decimals = 1 - math.floor(math.log10(error))
    elif value == 0:
        return "0"
    else:
        decimals = 2 - math.floor(math.log10(abs(value)))
    decimals = min(max(decimals, 0), 10)
    return f"{value:,.{decimals}f}"


def with_unit(text: str, unit: str) -> str:
    """Append a unit to a number. A unit of several words is left out, because it appears only on axes."""
    return f"{text} {unit}" if unit and " " not in unit else text


def signed(value: float) -> str:
    """Format a number as :func:`number` does, with a leading sign (a true minus)."""
    return ("−" if value < 0 else "+") + number(abs(value))


def p_value(value: float) -> str:
    """Format a p-value with two significant digits, or as less than 0.001.

    >>> p_value(0.0325), p_value(0.0004998)
    ('0.033', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def p_equals(value: float) -> str:
    """Format a p-value with the symbol p, for use in a sentence.

    >>> p_equals(0.0325), p_equals(0.0004998)
    ('p = 0.033', 'p < 0.001')
    """
    return f"p {'' if value < 0.001 else '= '}{p_value(value)}"


def label(name: str, unit: str) -> str:
    """Return an axis title from the name and, in brackets, the unit (if there is one)."""
    return f"{name} ({unit})" if unit else name


def error_change(before: float, after: float, *, of_average: float, unit: str) -> str:
    """Describe a change of the root mean squared error, in the words of the pages, the lesson and reports.

    Percentages are relative to the error of predicting the average, and not to the previous error, which may
    be near 0.

    Parameters
    ----------
    before, after
        Root mean squared errors in the target's unit.
    of_average
        Error of predicting the average for everyone, or NaN if this error is unknown.

    >>> said = error_change(19.35, 28.49, of_average=96.2, unit="€")
    >>> said.split(" (")[0]
    'the root mean squared error grows from 19.4 € to 28.5 €'
    >>> said.split(" (")[1]
    'from 20.1 % to 29.6 % of the error of predicting the average for everyone)'
    """
    old_text, new = (with_unit(number(error), unit) for error in (before, after))
    shares = [f"{number(100 * error / of_average)} %" for error in (before, after)] if of_average > 0 else []
    of_baseline = "of the error of predicting the average for everyone"
    if old_text == new:
        share = f" ({shares[1]} {of_baseline})" if shares else ""
        return f"the root mean squared error stays at {new}{share}"
    share = f" (from {shares[0]} to {shares[1]} {of_baseline})" if shares else ""
    verb = "grows" if after > before else "falls"
    return f"the root mean squared error {verb} from {old_text} to {new}{share}"


def few(names: Collection[object]) -> str:
    """List at most five names in quotes.

    >>> few(["age", "sex"])
    '“age”, “sex”'
    """
    return ", ".join(f"“{name}”" for name in islice(names, 5)) + (", …" if len(names) > 5 else "")


def at_lines(lines: Iterable[int], count: int, *, word: str = "line") -> str:
    """List the numbers of at most five of `count` lines, or of other items.

    >>> at_lines([2, 3, 5, 7, 11, 13], 6), at_lines([4], 1, word="row")
    ('lines 2, 3, 5, 7, 11, …', 'row 4')
    """
    first = ", ".join(str(line) for line in islice(lines, 5))
    return f"{word}{'' if count == 1 else 's'} {first}{', …' if count > 5 else ''}"


def percent(share: float, *, decimals: int = 1) -> str:
    """Format a share in per cent.

    >>> percent(0.0512), percent(-0.0001), percent(0.25, decimals=0)
    ('5.1 %', '0.0 %', '25 %')
    """
    # The format “z” removes the minus sign of a number that rounds to 0.
    return f"{100 * share:z.{decimals}f} %"


def to_decimals(value: float, count: int = 2, *, sign: bool = False) -> str:
    """Format a number with fixed decimals and a true minus. A number that rounds to zero has no sign.

    >>> to_decimals(-0.314), to_decimals(-0.001), to_decimals(1234.5, 1, sign=True)
    ('−0.31', '0.00', '+1,234.5')
    """
    return f"{value:{'+' if sign else ''}z,.{count}f}".replace("-", "−")


def span(low: float, high: float) -> str:
    """Format a range of values, or a single value.

    >>> span(18.0, 25.52), span(3.0, 3.0)
    ('18 to 25.5', '3')
    """
    a, b = (f"{value:.3g}" for value in (low, high))
    return a if a == b else f"{a} to {b}"


def megabytes(n_bytes: float, *, decimals: int = 1) -> str:
    """Format a size in megabytes.

    >>> megabytes(2_340_000)
    '2.3 MB'
    """
    return f"{n_bytes / 1e6:,.{decimals}f} MB"


def utc_time(iso: str) -> str:
    """Format an ISO 8601 time with a precision of one minute.

    >>> utc_time("2026-03-01T13:05:00+01:00")
    '2026-03-01 12:05 UTC'
    """
    return datetime.fromisoformat(iso).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def unbroken(text: str) -> str:
    """Keep a number and its per cent sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def duration(seconds: float) -> str:
    """Format a duration in a suitable unit of time.

    >>> duration(5), duration(200), duration(7500)
    ('5 s', '3 min', '2 h 5 min')
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def time_left(low: float, high: float) -> str:
    """Format the range of the remaining time, given in seconds.

    >>> time_left(210, 390), time_left(56, 104), time_left(0.7, 1.3), time_left(5600, 10400)
    ('4–6 min', '56 s – 2 min', '1 s', '1 h 33 min – 2 h 53 min')
    """
    first, last = duration(low), duration(high)
    if first == last:
        return first
    (a, unit), (_, other) = (time.split(" ", 1) for time in (first, last))
    return f"{a}–{last}" if unit == other else f"{first} – {last}"
