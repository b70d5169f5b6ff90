"""A tariff as the table that is filed: a base and a relativity for each level, band, breakpoint and pair.

With a log link the premium is the base times a relativity a factor; with the identity it is the base plus
points. The table alone rates: :func:`fairdash.tariff.rating.rate` takes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tariff.terms import (
    BAND,
    BASE,
    BREAKPOINT,
    FIXED,
    INTERACTION,
    LEVEL,
    MISSING,
    Factor,
    Interaction,
    Term,
)

Array = NDArray[np.float64]

#: Names of the column of what is multiplied, and of what is added.
RELATIVITY, POINTS = "relativity", "points"
TEXTS = ("factor", "kind", "level", "by", "by_level")
NUMBERS = ("from", "to", "at", "by_from", "by_to", "share")
#: Columns in their order; ``value`` stands for one of :data:`RELATIVITY` and :data:`POINTS`.
_COLUMNS = ("factor", "kind", "level", "from", "to", "at", "by", "by_level", "by_from", "by_to")


def relativities_table(
    terms: Sequence[Term], *, base: float, values: Sequence[Array], has_log_link: bool
) -> pd.DataFrame:
    """The table of one tariff.

    Parameters
    ----------
    base
        η of a row that has every base.
    values
        (n_values,) of each term, on the scale of η.

    Returns
    -------
    DataFrame
        A row a value, the base first. Columns: ``factor``, the column of the data; ``kind``, one of
        :data:`~fairdash.tariff.terms.KINDS` (``fixed`` is a level whose relativity was given); ``level``;
        ``from`` (inclusive) and ``to`` (exclusive) of a band, empty where it is open; ``at`` of a breakpoint;
        ``by``, ``by_level``, ``by_from`` and ``by_to``, the other column of an interaction; ``relativity``
        (log link: a factor) or ``points`` (identity: a summand), of the base the premium itself; ``share`` of
        the training rows' weight, exposure say.
    """
    rows: list[dict[str, Any]] = [{"kind": BASE, "value": base, "share": 1.0}]
    given: dict[int, float] = {}
    for term, own in zip(terms, values, strict=True):
        if isinstance(term, Factor) and term.kind == FIXED:
            # As they were filed, to the last digit, which their logarithms do not keep.
            given |= dict(enumerate(term.relativities, start=len(rows)))
        rows += [
            row | {"value": value, "share": share}
            for row, value, share in zip(_rows(term), own.tolist(), term.shares, strict=True)
        ]
    table = pd.DataFrame(rows, columns=[*_COLUMNS, "value", "share"])
    table["value"] = np.exp(table["value"]) if has_log_link else table["value"]
    table.loc[list(given), "value"] = list(given.values())
    table = table.rename(columns={"value": RELATIVITY if has_log_link else POINTS})
    texts = {name: table[name].astype(object).where(table[name].notna(), None) for name in TEXTS}
    return table.assign(**texts, **{name: table[name].astype(float) for name in NUMBERS})


def _rows(term: Term) -> Iterator[dict[str, Any]]:
    """What says which value it is, for each value of a term."""
    if isinstance(term, Interaction):
        for first in _parts(term.first):
            for second in _parts(term.second):
                other = {f"by_{name}": cell for name, cell in second.items()}
                both = {"factor": term.first.column, "kind": INTERACTION, "by": term.second.column}
                yield both | first | other
        return
    for part in _parts(term):
        yield {"factor": term.column, "kind": term.kind} | part
    if term.has_missing:
        yield {"factor": term.column, "kind": MISSING}


def _parts(factor: Factor) -> list[dict[str, Any]]:
    if factor.kind == BAND:
        return [{"from": low, "to": high} for low, high in pairwise([None, *factor.cells, None])]
    name = "at" if factor.kind == BREAKPOINT else "level"
    return [{name: cell} for cell in factor.cells]


def in_words(table: pd.DataFrame) -> str:
    """How to rate by a table, in plain words, a sentence a line.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": [None, "zone"], "kind": ["base", "level"], "level": [None, "A"],
    ...                       "by": None, "relativity": [100.0, 1.0]})
    >>> print(in_words(table))
    The premium is the base, 100, times one relativity for each of: “zone”.
    Of a category, take that of the row's own level.
    """
    multiplies = RELATIVITY in table
    table = table.reindex(columns=list(dict.fromkeys((*table.columns, *_COLUMNS))))
    value = RELATIVITY if multiplies else POINTS
    kinds = table["kind"]
    base = table.loc[kinds == BASE, value].iloc[0]
    factors = ", ".join(
        f"“{name}”" for name in table.loc[~kinds.isin([BASE, INTERACTION]), "factor"].unique()
    )
    pairs = table.loc[kinds == INTERACTION, ["factor", "by"]].drop_duplicates()
    says = [f"The premium is the base, {base:.6g}"]
    if factors:
        says[0] += (
            f", times one relativity for each of: {factors}"
            if multiplies
            else f", plus points for each of: {factors}"
        )
    says[0] += (
        "".join(f"; and one for the pair “{a}” and “{b}”" for a, b in pairs.itertuples(index=False)) + "."
    )
    fixed = ", ".join(f"“{name}”" for name in table.loc[kinds == FIXED, "factor"].unique())
    if fixed:
        says.append(f"Fixed beforehand, and not fitted: the relativities of {fixed}.")
    if kinds.isin([LEVEL, FIXED]).any():
        says.append("Of a category, take that of the row's own level.")
    if table[["from", "to", "by_from", "by_to"]].notna().any(axis=None):
        says.append("A band goes from its lower edge, which is in it, to its upper edge, which is not.")
    if (kinds == BREAKPOINT).any():
        says.append(
            "Between two breakpoints a straight line joins "
            + ("the logarithms of their relativities" if multiplies else "their points")
            + "; before the first and after the last the value stays that of the breakpoint."
        )
    if (kinds == MISSING).any():
        says.append("A missing cell has the value of the row “missing”.")
    if len(pairs):
        nothing = "relativity 1" if multiplies else "0 points"
        says.append(f"A pair that is not in the table, or has a missing cell, has {nothing}.")
    return "\n".join(says)
