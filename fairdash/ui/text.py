"""Words and numbers as people see them; the one place where a user's names are made safe for Markdown."""

from __future__ import annotations

import math
import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^@/])")


def safe(name: object) -> str:
    """A user's name as Markdown that shows it as it is: no link, image, formula or HTML comes alive."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(name).split()))


def number(value: float, *, error: float | None = None) -> str:
    """A number with the digits it deserves: two significant ones of its standard error, else three."""
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
    """The number with its unit behind it; a unit of several words is for axes only."""
    return f"{text} {unit}" if unit and " " not in unit else text


def label(name: str, unit: str) -> str:
    """An axis title: the name, and the unit in brackets if there is one."""
    return f"{name} ({unit})" if unit else name


def duration(seconds: float) -> str:
    """A time that a person reads: "5 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
