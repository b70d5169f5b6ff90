"""Columns of classes, and of class probabilities, in an audit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from fairdash.auditing.plan import Columns
from fairdash.errors import DataError, Problem
from fairdash.evaluation.class_probabilities import OFF_ONE
from fairdash.utils.classes import classes_of, why_no_classes
from fairdash.utils.text import counted, few

#: Line of a file in which the first row stands.
FIRST_LINE = 2


def class_names(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct part of each column's name.

    >>> class_names(("p_black", "p_white")), class_names(("P(a)", "P(b)")), class_names(("x", "xy"))
    (('black', 'white'), ('a', 'b'), ('x', 'xy'))
    """
    start, end = _shared(columns), _shared([name[::-1] for name in columns])
    found = tuple(name[start : len(name) - end] for name in columns)
    # Letters that names happen to share are theirs: cut where a sign parts them.
    cut = columns[0][:start]
    return columns if not all(found) or cut[-1:].isalnum() else found


def _shared(names: Sequence[str]) -> int:
    """How many letters all names begin with."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def with_codes(
    used: pd.DataFrame, columns: Columns, notes: list[str], *, fewest: int
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows with class codes for s, and the class names; merged classes are noted."""
    name = columns.sensitive
    found = classes_of(used[name])
    if (why := why_no_classes(found)) is not None and len(used) >= fewest:
        hint = "Merge classes, or choose another column."
        raise DataError.of(f"it is read as classes, and {why}", hint, column=name)
    notes.extend(found.merged_in_words(name))
    return used.assign(**{name: found.codes.astype(float)}), found.names


def probabilities_of(
    frame: pd.DataFrame, columns: Columns, rows: NDArray[np.bool_]
) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Return class probabilities (m, k) of the m rows marked in `rows` (n,), and known class codes (m,).

    Raises
    ------
    DataError
        A single column, other than probabilities, or rows that don't add up to 1, with their lines.
    """
    chosen = columns.probabilities
    if not chosen:
        return pd.DataFrame(index=range(int(rows.sum()))), np.full(int(rows.sum()), -1, dtype=np.intp)
    if len(chosen) < 2 or not all(is_numeric_dtype(frame[name]) for name in chosen):
        raise DataError.of(
            "Probabilities of classes are several columns of numbers",
            "Name a column for each class, including the last one.",
            column="probabilities",
        )
    p = frame[list(chosen)].to_numpy(dtype=float, na_value=np.nan)
    wrong = rows & ((p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > OFF_ONE))
    if wrong.any():
        raise DataError(
            Problem(
                what=f"rows in which {few(chosen)} are below 0 or don't add up to 1 (within {OFF_ONE:g})",
                hint="Name the columns of all classes, as shares of 1, and correct or leave out these rows.",
                column="probabilities",
                lines=(np.flatnonzero(wrong)[:5] + FIRST_LINE).tolist(),
                count=int(wrong.sum()),
            )
        )
    p, names = p[rows], class_names(chosen)
    known = np.full(len(p), -1, dtype=np.intp)
    if columns.known_class is not None:
        given = frame.loc[rows, columns.known_class]
        said = given.astype(object).where(given.notna(), "").astype(str)
        place = {each: k for names_of in (names, chosen) for k, each in enumerate(names_of)} | {"": -1}
        if (unknown := ~said.isin(place.keys()).to_numpy()).any():
            raise DataError.of(
                f"{counted(int(unknown.sum()), 'row')} of a class that has no column of probabilities",
                f"Its classes are {few(names)}. Empty cells are unknown classes.",
                column=columns.known_class,
            )
        known = said.map(place).to_numpy().astype(np.intp)
    return pd.DataFrame(p / p.sum(axis=1, keepdims=True), columns=list(names)), known
