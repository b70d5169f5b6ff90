"""Words as pages show them; the one place where a user's names are made safe for Markdown."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from fairdash.reports.numbers import label, number, signed, with_unit
from fairdash.utils.text import visible

__all__ = ["duration", "fixed", "label", "number", "safe", "signed", "with_unit"]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^@/])")


def safe(name: object) -> str:
    """A user's name as Markdown that shows it as it is: no link, image, formula or HTML comes alive.

    Characters that can't be seen are written out.
    """
    return _MARKDOWN.sub(r"\\\1", visible(" ".join(str(name).split())))


def fixed(value: float, decimals: int = 3) -> str:
    """A number with so many decimals, rounded as the browser rounds what tables and charts show.

    Python takes a tie to the even digit, JavaScript away from 0: .5625 would be .562 in a sentence and .563
    in the table below it.
    """
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    return str(abs(rounded) if rounded == 0 else rounded)


def duration(seconds: float) -> str:
    """A time that a person reads: "5 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
