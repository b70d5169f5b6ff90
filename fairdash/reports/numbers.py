"""Numbers as people read them, with the digits that they deserve and their units."""

from __future__ import annotations

from fairdash.utils.text import number as number
from fairdash.utils.text import with_unit as with_unit


def p_value(value: float) -> str:
    """A p-value with two significant digits."""
    return f"{value:.2g}"


def signed(value: float, *, error: float | None = None) -> str:
    """The same with its sign in front, a true minus."""
    return ("−" if value < 0 else "+") + number(abs(value), error=error)


def label(name: str, unit: str) -> str:
    """An axis title: the name, and the unit in brackets if there is one."""
    return f"{name} ({unit})" if unit else name
