"""Counts, amounts and lists of names, as messages put them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice


def counted(count: int, word: str) -> str:
    """Put a count before a word.

    >>> counted(1, "row"), counted(2500, "row")
    ('1 row', '2,500 rows')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def amount(value: float) -> str:
    """Write a sum or a mean: four digits at least, and never a power of ten for what is counted or paid.

    >>> amount(2953412.25), amount(0.33107), amount(12.5)
    ('2,953,412', '0.3311', '12.5')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def few(names: Collection[object]) -> str:
    """List the first five names in quotes.

    >>> few(["age", "sex"])
    '“age”, “sex”'
    """
    return ", ".join(f"“{name}”" for name in islice(names, 5)) + (", …" if len(names) > 5 else "")


def at_lines(lines: Iterable[int], count: int) -> str:
    """Say where something is, by the first five lines of `count`.

    >>> at_lines([2, 3, 5, 7, 11, 13], 6)
    'lines 2, 3, 5, 7, 11, …'
    """
    first = ", ".join(str(line) for line in islice(lines, 5))
    return f"{'line' if count == 1 else 'lines'} {first}{', …' if count > 5 else ''}"
