"""Numbers as people read them, with the digits that they deserve and their units."""

from __future__ import annotations

import math


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


def p_value(value: float) -> str:
    """A p-value with two significant digits."""
    return f"{value:.2g}"


def signed(value: float, *, error: float | None = None) -> str:
    """The same with its sign in front, a true minus."""
    return ("−" if value < 0 else "+") + number(abs(value), error=error)


def with_unit(text: str, unit: str) -> str:
    """The number with its unit behind it; a unit of several words is for axes only."""
    return f"{text} {unit}" if unit and " " not in unit else text


def label(name: str, unit: str) -> str:
    """An axis title: the name, and the unit in brackets if there is one."""
    return f"{name} ({unit})" if unit else name
