"""Keys of widgets and session values, unique for each part of a page.

Keys must be unique on a page, because Streamlit stops at a second widget with the same key. Each key
therefore begins with the path of the file that defines the key. A single enum lists all parameters of the
address.
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from enum import StrEnum, unique
from pathlib import Path

_PREFIX_FOLDERS = ("ui", "pages")
_TAKEN: MutableMapping[str, Path] = {}


@unique
class Address(StrEnum):
    """Names of the parameters in the address, and of keys that pages share."""

    DATASET = "dataset"
    RUN = "run"
    SEARCH = "search"
    AUDIT = "audit"
    VISIT = "visit"
    # Parameters of the Trade-off page.
    OBJECTIVE = "objective"
    METHOD = "model"
    MEASURE = "measure"
    LAM = "lam"
    AGAINST = "against"
    SENSITIVE = "sensitive"
    # Parameters of the Patterns page.
    PATTERN = "pattern"
    POINTS = "points"
    N = "n"
    NOISE = "noise"
    TIES = "ties"
    HEAVY = "heavy"
    DRAW = "draw"
    ESTIMATORS = "all"
    # Parameters of the Lesson page.
    SCENE = "scene"
    PRESENT = "present"
    STEP = "step"
    TRAINED = "trained"
    FROZEN = "frozen"
    BENT = "bent"
    WEIGHT = "weight"
    WINDOW = "window"
    # Parameters of the Gaussians page.
    RHO = "rho"
    ROWS = "rows"
    BASE = "base"
    # Parameters of the Paper page.
    PART = "part"
    DATA = "data"
    READING = "reading"
    NETWORKS = "networks"


class Keys:
    """Widget keys of one file, which defines ``KEY = Keys(__file__)``. A widget has the key ``KEY("refit")``.

    >>> KEY = Keys("fairdash/ui/somewhere/doctest_of_keys.py")
    >>> KEY("refit")
    'somewhere.doctest_of_keys refit'
    >>> KEY("target", "table 1"), KEY("target", "table", 1)
    ('somewhere.doctest_of_keys target "table 1"', 'somewhere.doctest_of_keys target "table" 1')

    Parameters
    ----------
    file
        Value of ``__file__`` in the calling file.

    Raises
    ------
    ValueError
        Another file has the same prefix.
    """

    def __init__(self, file: str) -> None:
        path = Path(file)
        parts = path.with_suffix("").parts
        # The prefix is the part of the path that begins at the last folder "ui" or "pages", without "ui".
        start = max((index for index, part in enumerate(parts) if part in _PREFIX_FOLDERS), default=0)
        self.prefix = ".".join(parts[start + (parts[start] == "ui") :]).replace(" ", "_")
        # A file may register its prefix again, because a page's script is executed at every rerun.
        if _TAKEN.setdefault(self.prefix, path) != path:
            raise ValueError(f"Two files use the keys of {self.prefix}: {_TAKEN[self.prefix]} and {path}")

    def __call__(self, name: str, *parts: object) -> str:
        """Return the key of the file's widget `name`. Each combination of `parts` has a separate key."""
        # Parts are written as JSON, so that ("a", "b c") and ("a b", "c") differ.
        return " ".join(
            [self.prefix, name, *(json.dumps(part, ensure_ascii=False, default=str) for part in parts)]
        )


def name_in(key: str) -> str:
    """Return the part of a key that names the widget, as a name for a saved file.

    >>> name_in('tradeoff.comparison hiding "f"')
    'hiding-f'
    """
    _, _, name = key.partition(" ")
    return "-".join("".join(sign if sign.isalnum() or sign in "_-" else " " for sign in name).split())
