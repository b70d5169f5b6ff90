"""A table of relativities as terms and their values again: checked, since people change tables."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import Checks, DataError
from fairdash.tariff.relativities import (
    BAND,
    BASE,
    BREAKPOINT,
    FIXED,
    INTERACTION,
    KINDS,
    LEVEL,
    MISSING,
    NUMBERS,
    POINTS,
    RELATIVITY,
    TEXTS,
)
from fairdash.tariff.terms import Bands, Curve, Factor, Interaction, Levels, Term

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rated:
    """What a table says.

    Parameters
    ----------
    multiplies
        Whether premiums are products (log link) or sums.
    base
        η of a row that has every base.
    terms, values
        Each term with its values (n_values,), on the scale of η.
    """

    multiplies: bool
    base: float
    terms: tuple[Term, ...]
    values: tuple[Array, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are looked at, each once."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.columns))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those of them that must be numbers."""
        parts = [
            part
            for term in self.terms
            for part in ((term.first, term.second) if isinstance(term, Interaction) else (term,))
        ]
        return tuple(dict.fromkeys(part.column for part in parts if not isinstance(part, Levels)))


def read_terms(table: pd.DataFrame) -> Rated:
    """What a table says; DataError naming everything in it that can't be."""
    table, value = _whole(table)
    multiplies = value == RELATIVITY
    _check_values(table, value)
    kinds = table["kind"]
    eta = np.log(table[value]) if multiplies else table[value]
    terms: list[Term] = []
    values: list[Array] = []
    mains = table[~kinds.isin([BASE, INTERACTION])]
    for name, rows in mains.groupby("factor", sort=False):
        term, order = _factor(str(name), rows)
        terms.append(term)
        values.append(eta[rows.index[order]].to_numpy(dtype=float))
    pairs = table[kinds == INTERACTION]
    for names, rows in pairs.groupby(["factor", "by"], sort=False):
        interaction, places = _pair(str(names[0]), str(names[1]), rows)
        terms.append(interaction)
        of_pairs = np.zeros(len(interaction.shares))
        of_pairs[places] = eta[rows.index]
        values.append(of_pairs)
    (base,) = eta[kinds == BASE]
    return Rated(multiplies=multiplies, base=float(base), terms=tuple(terms), values=tuple(values))


def _whole(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The table with every column, and the name of that of values."""
    checks = Checks(DataError)
    there = [name for name in (RELATIVITY, POINTS) if name in table.columns]
    checks.require(
        len(there) == 1,
        None,
        f"A tariff's table has a column “{RELATIVITY}” or one called “{POINTS}”",
        "Give a table as relativities() makes it.",
    )
    for name in ("factor", "kind"):
        checks.require(
            name in table.columns,
            name,
            "The tariff's table lacks it",
            "Give a table as relativities() makes it.",
        )
    checks.finish()
    table = table.reset_index(drop=True)
    lacking: dict[str, Any] = dict.fromkeys(name for name in TEXTS if name not in table.columns)
    lacking |= dict.fromkeys((name for name in NUMBERS if name not in table.columns), np.nan)
    table = table.assign(**lacking)
    try:
        numbers = {name: pd.to_numeric(table[name]).astype(float) for name in (*NUMBERS, there[0])}
    except (TypeError, ValueError):
        raise DataError.of(
            "There is text among the numbers of the tariff's table",
            f"The columns {', '.join((*NUMBERS, there[0]))} hold numbers alone.",
        ) from None
    return table.assign(**numbers), there[0]


def _check_values(table: pd.DataFrame, value: str) -> None:
    checks = Checks(DataError)
    kinds = table["kind"]
    checks.require(
        kinds.isin(KINDS).all(),
        "kind",
        f"{_rows(~kinds.isin(KINDS))} of the tariff's table hold another kind than {', '.join(KINDS)}",
        "Correct them.",
    )
    checks.require((kinds == BASE).sum() == 1, "kind", "The tariff's table has not one base", "Keep one row.")
    wrong = ~np.isfinite(table[value]) | ((value == RELATIVITY) & (table[value] <= 0))
    checks.require(
        not wrong.any(),
        value,
        f"{_rows(wrong)} of the tariff's table hold no number{' above 0' if value == RELATIVITY else ''}",
        "Correct them.",
    )
    nameless = (kinds != BASE) & table["factor"].isna() | (kinds == INTERACTION) & table["by"].isna()
    checks.require(
        not nameless.any(), "factor", f"{_rows(nameless)} of the tariff's table name none", "Name the column."
    )
    lacking = kinds.isin([LEVEL, FIXED]) & table["level"].isna() | (kinds == BREAKPOINT) & table["at"].isna()
    checks.require(
        not lacking.any(),
        "level",
        f"{_rows(lacking)} of the tariff's table do not say of which level or breakpoint they are",
        "Fill the column “level”, or “at”.",
    )
    checks.finish()


def _rows(wrong: pd.Series) -> str:
    """“Rows 2, 5”: where something is wrong, the header being row 1."""
    rows = np.flatnonzero(wrong)
    return f"Rows {', '.join(str(row + 2) for row in rows[:5])}{', …' if len(rows) > 5 else ''}"


def _factor(name: str, rows: pd.DataFrame) -> tuple[Factor, NDArray[np.int64]]:
    """A factor, and its rows in the order of its values."""
    missing = np.flatnonzero(rows["kind"] == MISSING)
    own = rows[rows["kind"] != MISSING]
    kinds = own["kind"].unique()
    checks = Checks(DataError)
    hint = "Keep one row a value, all of one kind."
    checks.require(len(kinds) <= 1, name, "Its relativities are of several kinds", hint)
    checks.require(len(missing) <= 1, name, "Missing cells have several relativities", hint)
    checks.finish()
    kind = kinds[0] if len(kinds) else LEVEL
    place = np.flatnonzero(rows["kind"] != MISSING)
    if kind == BREAKPOINT:
        place = place[np.argsort(own["at"].to_numpy(), kind="stable")]
        cells = rows["at"].to_numpy()[place].tolist()
    elif kind == BAND:
        place = place[_ordered_bands(name, own["from"], own["to"])]
        cells = rows["from"].to_numpy()[place][1:].tolist()
    else:
        cells = own["level"].tolist()
    checks.require(
        len(set(cells)) == len(cells), name, "A level or breakpoint stands twice in the table", hint
    )
    checks.finish()
    order = np.concatenate([place, missing])
    common: dict[str, Any] = {
        "column": name,
        "base": 0,
        "shares": tuple(rows["share"].to_numpy()[order].tolist()),
        "has_missing": bool(len(missing)),
    }
    if kind == BREAKPOINT:
        return Curve(points=tuple(cells), **common), order
    if kind == BAND:
        return Bands(edges=tuple(cells), **common), order
    return Levels(levels=tuple(map(str, cells)), **common), order


def _ordered_bands(name: str, low: pd.Series, high: pd.Series) -> NDArray[np.int64]:
    """Order of bands by their lower edges; DataError if they leave a gap, overlap or end somewhere."""
    order = np.argsort(low.fillna(-np.inf).to_numpy(), kind="stable")
    lows, highs = low.to_numpy()[order], high.to_numpy()[order]
    whole = np.isnan(lows[0]) and np.isnan(highs[-1]) and (lows[1:] == highs[:-1]).all()
    checks = Checks(DataError)
    checks.require(
        whole and (np.diff(lows[1:]) > 0).all(),
        name,
        "Its bands leave a gap, overlap or do not cover all numbers",
        "Let each begin where the one before ends; leave the first “from” and the last “to” empty.",
    )
    checks.finish()
    return order


def _pair(name: str, by: str, rows: pd.DataFrame) -> tuple[Interaction, NDArray[np.int64]]:
    """An interaction, and the place of each of its rows among its values."""
    first, of_first = _part(name, rows["level"], rows["from"], rows["to"])
    second, of_second = _part(by, rows["by_level"], rows["by_from"], rows["by_to"])
    places = of_first * second.n_places + of_second
    checks = Checks(DataError)
    checks.require(
        len(set(places.tolist())) == len(places),
        name,
        f"A pair with “{by}” stands twice in the table",
        "Keep one.",
    )
    checks.finish()
    shares = np.zeros(first.n_places * second.n_places)
    shares[places] = rows["share"]
    return Interaction(first=first, second=second, shares=tuple(shares.tolist())), places


def _part(
    name: str, level: pd.Series, low: pd.Series, high: pd.Series
) -> tuple[Levels | Bands, NDArray[np.int64]]:
    """The parts of one side of an interaction, and the part of each row."""
    if level.notna().all():
        codes, levels = pd.factorize(level.map(str))
        return Levels(column=name, base=0, shares=_none(levels), levels=tuple(levels)), codes.astype(np.int64)
    bands = pd.DataFrame({"low": low, "high": high}).drop_duplicates()
    ordered = bands.iloc[_ordered_bands(name, bands["low"], bands["high"])]
    edges = tuple(ordered["low"].tolist()[1:])
    places = np.where(low.isna(), 0, np.searchsorted(edges, low.fillna(-np.inf), side="right"))
    return Bands(column=name, base=0, shares=_none(ordered), edges=edges), places.astype(np.int64)


def _none(parts: Sized) -> tuple[float, ...]:
    """Shares that nobody asks for, one a part."""
    return (0.0,) * len(parts)
