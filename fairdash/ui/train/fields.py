"""Fields of the Train page's form that a finished search may fill, and lists of numbers typed into them."""

from __future__ import annotations

from fairdash.errors import OptionError
from fairdash.ui.keys import Keys

KEY = Keys(__file__)

#: Session key of how often the form has taken settings over from a search, and of the last ones.
TAKEN = KEY("taken-over")
#: Session keys of the fields; the grid's choice of free weights.
METHOD, OBJECTIVE, GRID = KEY("method"), KEY("objective"), KEY("grid")
OWN_GRID = "My own"


def lams_key(grid: str) -> str:
    """Session key of the weights typed into a grid's field."""
    return KEY("lams", grid)


def numbers(text: str, *, column: str) -> tuple[float, ...]:
    """Numbers separated by commas, semicolons or spaces; OptionError naming `column` otherwise."""
    words = text.replace(",", " ").replace(";", " ").split()
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise OptionError.of(
            "Not a list of numbers", "Write numbers such as 0.1 0.5 1 2.", column=column
        ) from None
