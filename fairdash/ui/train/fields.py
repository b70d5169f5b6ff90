"""Fields of the Train page's form that a finished search may fill, and lists of numbers typed into them."""

from __future__ import annotations

from fairdash.errors import OptionError, Problem

#: Session key of how often the form has taken settings over from a search, and of the last ones.
TAKEN = "settings taken over"
#: Session keys of the fields; the grid's choice of free weights.
METHOD, OBJECTIVE, GRID = "method", "objective", "grid"
OWN_GRID = "My own"


def numbers(text: str, *, column: str) -> tuple[float, ...]:
    """Numbers separated by commas, semicolons or spaces; OptionError naming `column` otherwise."""
    words = text.replace(",", " ").replace(";", " ").split()
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise OptionError(
            Problem(column=column, what="Not a list of numbers", mend="Write numbers such as 0.1 0.5 1 2.")
        ) from None
