"""Relativities that are fixed beforehand, by a regulator or by management: given, checked, and made terms.

>>> region = pd.Series(["north", "south", "north"], name="region")
>>> fixed_term(region, np.ones(3), {"south": 1.2, "north": 1.0}).relativities
(1.2, 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import Checks, DataError, Problem
from fairdash.tariff.levels import level_text, positions
from fairdash.tariff.terms import Fixed, Term
from fairdash.utils.text import at_lines

Array = NDArray[np.float64]


def check_fixed(checks: Checks, fixed: Mapping[str, Any]) -> None:
    """Require of each column's relativities that they can rate."""
    for name, given in fixed.items():
        is_table = isinstance(given, Mapping) and bool(given)
        checks.require(
            is_table,
            "fixed",
            f"“{name}” has no relativities",
            'Give one a level, such as {"region": {"north": 1.0, "south": 1.2}}.',
        )
        if not is_table:
            continue
        checks.require(
            all(_is_relativity(each) for each in given.values()),
            "fixed",
            f"A relativity of “{name}” is no number above 0",
            "Premiums are multiplied by it: give a number above 0.",
        )
        levels = [None if pd.isna(level) else level_text(level) for level in given]
        checks.require(
            len(set(levels)) == len(levels),
            "fixed",
            f"A level of “{name}” stands twice",
            "Keep one; 3, 3.0 and “3” are one level.",
        )


def _is_relativity(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and float(value) > 0


def fixed_term(column: pd.Series, weight: Array, given: Mapping[Any, float]) -> Fixed:
    """The term of a column of training rows with these relativities, levels in their order.

    Parameters
    ----------
    weight
        (n,) weights of the rows.
    given
        Level to relativity; None, or NaN, is the level of missing cells.
    """
    missing = [float(each) for level, each in given.items() if pd.isna(level)]
    known = {level_text(level): float(each) for level, each in given.items() if not pd.isna(level)}
    places, _ = positions(column, list(known))
    places = np.where(column.isna() & bool(missing), len(known), places)
    there = places >= 0
    shares = np.bincount(places[there], weight[there], len(known) + len(missing)) / weight.sum()
    return Fixed(
        column=str(column.name),
        base=0,
        levels=tuple(known),
        relativities=(*known.values(), *missing),
        shares=tuple(shares.tolist()),
        has_missing=bool(missing),
    )


def require_fixed(
    terms: Sequence[Term], table: pd.DataFrame, *, numbers: NDArray[np.intp] | None = None
) -> None:
    """DataError naming the rows, and their columns, for which no relativity is given.

    Parameters
    ----------
    terms
        A tariff's; all but fixed ones are passed over.
    numbers
        Of the table's rows in the data they are from, from 0; None for their places.
    """
    problems = []
    for term in (each for each in terms if isinstance(each, Fixed)):
        rows = np.flatnonzero(term.unknown(table))
        if len(rows):
            problems.append(
                lacking_relativity(
                    term.column,
                    rows if numbers is None else numbers[rows],
                    what="Its relativities are fixed, and there is none",
                    hint="Add the level to those in fixed, None for missing cells, or correct the cells.",
                )
            )
    if problems:
        raise DataError(*problems)


def lacking_relativity(column: str, rows: NDArray[np.intp], *, what: str, hint: str) -> Problem:
    """The problem of rows, from 0, that a factor has no relativity for."""
    where = at_lines(rows + 1, len(rows), word="row")
    return Problem(column=column, what=f"{what} for what stands in {where}", count=len(rows), hint=hint)
