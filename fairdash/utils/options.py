"""Options of a command. Each option is declared once, as a field of the command's plan (a dataclass).

The form on the page (:mod:`fairdash.ui.widgets`), the command line (:func:`fairdash.cli.with_options`), the
plan and the check of the plan's JSON use this field's name, type, default, range and help text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, Field, field, fields
from numbers import Real
from typing import Any

from fairdash.errors import Checks


def option(
    default: Any,
    label: str,
    help: str,
    *,
    within: str = "",
    unit: str = "",
    choices: Collection[str] = (),
    step: float | None = None,
    needs: str = "",
    name: str = "",
    word: str = "",
) -> Any:
    """Return a field of a dataclass that is an option.

    Parameters
    ----------
    default
        Default of the option, or ``...`` for a required option.
    label
        Title of the option's widget, or "" for an option without a separate widget.
    help
        Help text of the widget and of the command.
    within
        Allowed range of a number, or of each number of a list, such as ``"(0, 1]"``.
    unit
        ``"%"`` for a share that users enter in per cent on the page, otherwise "".
    choices
        Ids of the allowed values.
    step
        Step of the option's widget.
    needs
        Role of a column, such as a weight, without which the option has no effect.
    name
        Name of the option in the library, if it differs from the name of the field.
    word
        Name of the option on the command line, if it differs from the name of the field. For a list, name of
        a single value.
    """
    metadata = {key: value for key, value in locals().items() if key != "default"}
    return field(default=MISSING if default is ... else default, metadata=metadata)


def options_of(plan: type) -> Mapping[str, Field[Any]]:
    """Return the fields of a plan that are options, by their names in the library."""
    return {entry.metadata["name"] or entry.name: entry for entry in fields(plan) if "help" in entry.metadata}


def check_ranges(plan: type, values: Mapping[str, Any], checks: Checks) -> None:
    """Report the numbers in a plan's fields that are out of range."""
    for name, entry in options_of(plan).items():
        value, allowed_range = values[entry.name], entry.metadata["within"]
        numbers = () if value is None else value if isinstance(value, Iterable) else (value,)
        if not allowed_range or all(_is_within(number, allowed_range) for number in numbers):
            continue
        low, high = bounds(allowed_range)
        limits = f"{'above' if allowed_range[0] == '(' else 'of at least'} {low:g}"
        if math.isfinite(high):
            limits += f" and {'below' if allowed_range[-1] == ')' else 'at most'} {high:g}"
        default: Any = entry.default
        example = f", such as {default} for {100 * default:g} %" if entry.metadata["unit"] else ""
        checks.require(False, name, "The number is out of range", f"Give a number {limits}{example}.")


def bounds(within: str) -> tuple[float, float]:
    """Return the lower and the upper limit of a range.

    >>> bounds("(0, 1]")
    (0.0, 1.0)
    """
    low, high = map(float, within[1:-1].split(","))
    return low, high


def _is_within(number: Any, within: str) -> bool:
    (low, high), closed = bounds(within), within[0] + within[-1]
    if not isinstance(number, Real):
        return False
    number = float(number)
    return (
        low < number < high or (number == low and closed[0] == "[") or (number == high and closed[1] == "]")
    )
