"""Words as pages show them; the one place where a user's names are made safe for Markdown."""

from __future__ import annotations

import re

from fairdash.reports.numbers import label, number, signed, with_unit

__all__ = ["duration", "label", "number", "safe", "signed", "with_unit"]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^@/])")


def safe(name: object) -> str:
    """A user's name as Markdown that shows it as it is: no link, image, formula or HTML comes alive."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(name).split()))


def duration(seconds: float) -> str:
    """A time that a person reads: "5 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
