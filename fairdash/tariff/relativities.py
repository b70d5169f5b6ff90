"""Table of relativities for filing, with a base and one relativity per level, band, breakpoint and pair.

With a log link, the premium is the base times one relativity per factor. With the identity link, the premium
is the base plus points per factor. :func:`rate` computes premiums from a table, which may have been edited.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import Checks, DataError, OptionError
from fairdash.tables.columns import clean_features, require_unique
from fairdash.tables.frames import band_texts, in_intervals
from fairdash.tariff.choosing import require_matching_levels, unrated_problems
from fairdash.tariff.terms import (
    BAND,
    BASE,
    BREAKPOINT,
    FIXED,
    INTERACTION,
    KINDS,
    LEVEL,
    MIN_CLAIMS,
    MISSING,
    Factor,
    Interaction,
    Term,
    premiums,
)

Array = NDArray[np.float64]

#: Name of the column of values: relativities with a log link, or points with the identity link.
RELATIVITY, POINTS = "relativity", "points"
TEXTS = ("factor", "kind", "level", "by", "by_level")
NUMBERS = ("from", "to", "at", "by_from", "by_to", "share", "claims")
#: Columns of the table, in order. The column of values follows them.
_COLUMNS = ("factor", "kind", "level", "from", "to", "at", "by", "by_level", "by_from", "by_to")
_TABLE_HINT = "Give a table in the format of relativities()."
#: In a table without a column “kind”, these entries of the column “factor” mark the row of the base.
BASES = ("", "base", "base rate", "(intercept)", "intercept")
_FILL_HINT = "Fill the column “level”, or “at”."


def relativities_table(
    terms: Sequence[Term],
    *,
    base: float,
    values: Sequence[Array],
    claims: Sequence[Array],
    has_log_link: bool,
) -> pd.DataFrame:
    """Return the table of relativities of one tariff.

    Parameters
    ----------
    base
        Linear predictor η of a row with the base level of every factor.
    values
        Values (n_values,) of every term, on the scale of η.
    claims
        Numbers of rows with a claim, (n_values,) for every term, from
        :func:`fairdash.tariff.terms.claims_of`.

    Returns
    -------
    DataFrame
        One row for the base, then one row per value of each term. The columns are: ``factor``, a column of
        the data; ``kind``, one of :data:`~fairdash.tariff.terms.KINDS` (``fixed`` is a level with a fixed
        relativity); ``level``; ``from`` (inclusive) and ``to`` (exclusive), the edges of a band, empty at an
        open end; ``at``, the breakpoint; ``by``, ``by_level``, ``by_from`` and ``by_to``, the second column
        of an interaction with its level or band; ``relativity`` (log link) or ``points`` (identity link),
        which in the row of the base is a premium; ``share``, the share of the training rows' weight, such as
        exposure; and ``claims``, the number of training rows with a claim, empty for the base and
        breakpoints.
    """
    rows: list[dict[str, Any]] = [{"kind": BASE, "value": base, "share": 1.0, "claims": math.nan}]
    fixed_by_term: dict[int, float] = {}
    for term, of_term, counts in zip(terms, values, claims, strict=True):
        if isinstance(term, Factor) and term.kind == FIXED:
            # Fixed relativities are copied, because exp(log(x)) may change the last digit.
            fixed_by_term |= dict(enumerate(term.relativities, start=len(rows)))
        rows += [
            row | {"value": value, "share": share, "claims": count}
            for row, value, share, count in zip(
                _rows(term), of_term.tolist(), term.shares, counts.tolist(), strict=True
            )
        ]
    table = pd.DataFrame(rows, columns=[*_COLUMNS, "value", "share", "claims"])
    table["value"] = np.exp(table["value"]) if has_log_link else table["value"]
    table.loc[list(fixed_by_term), "value"] = list(fixed_by_term.values())
    table = table.rename(columns={"value": RELATIVITY if has_log_link else POINTS})
    texts = {name: table[name].astype(object).where(table[name].notna(), None) for name in TEXTS}
    return table.assign(**texts, **{name: table[name].astype(float) for name in NUMBERS})


def _rows(term: Term) -> Iterator[dict[str, Any]]:
    """Return one row of the table for each value of a term."""
    if isinstance(term, Interaction):
        for first in _parts(term.first):
            for second in _parts(term.second):
                other = {f"by_{name}": cell for name, cell in second.items()}
                names = {"factor": term.first.column, "kind": INTERACTION, "by": term.second.column}
                yield names | first | other
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
    """Explain how to compute premiums from a table of relativities, one sentence per line.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": [None, "zone"], "kind": ["base", "level"], "level": [None, "A"],
    ...                       "by": None, "relativity": [100.0, 1.0]})
    >>> print(in_words(table))
    The premium is the base, 100, times one relativity for each of: “zone”.
    For a category, use the relativity of the row's level.
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
    sentences = [f"The premium is the base, {base:.6g}"]
    if factors:
        sentences[0] += (
            f", times one relativity for each of: {factors}"
            if multiplies
            else f", plus points for each of: {factors}"
        )
    sentences[0] += (
        "".join(f"; and one for the pair “{a}” and “{b}”" for a, b in pairs.itertuples(index=False)) + "."
    )
    fixed = ", ".join(f"“{name}”" for name in table.loc[kinds == FIXED, "factor"].unique())
    if fixed:
        sentences.append(f"The relativities of these factors are fixed in advance, not fitted: {fixed}.")
    if kinds.isin([LEVEL, FIXED]).any():
        sentences.append("For a category, use the relativity of the row's level.")
    if table[["from", "to", "by_from", "by_to"]].notna().any(axis=None):
        sentences.append("A band includes its lower edge and excludes its upper edge.")
    if (kinds == BREAKPOINT).any():
        sentences.append(
            "Between two breakpoints, a straight line joins "
            + ("the logarithms of their relativities" if multiplies else "their points")
            + ". Below the first and above the last breakpoint, the value is constant."
        )
    if (kinds == MISSING).any():
        sentences.append("For a missing cell, use the value of the row “missing”.")
    if len(pairs):
        neutral = "relativity 1" if multiplies else "0 points"
        sentences.append(f"A pair that is not in the table, or that contains a missing cell, has {neutral}.")
    if "claims" in table and len(rare := table[(table["claims"] < MIN_CLAIMS) & (kinds != FIXED)]):
        claims = ", ".join(map(_claims_in_words, rare.head(5).to_dict("records")))
        others = f" and {len(rare) - 5} more rows" if len(rare) > 5 else ""
        sentences.append(
            f"Fewer than {MIN_CLAIMS} training rows have a claim for {claims}{others}. Review these values."
        )
    return "\n".join(sentences)


def _claims_in_words(row: dict[Any, Any]) -> str:
    """Describe a row of a table with its number of claims; for example, “zone” “C” (0)."""
    parts = [("factor", ""), ("by", "by_")] if row["kind"] == INTERACTION else [("factor", "")]
    names_with_claims = []
    for column, prefix in parts:
        level, low, high = (row[f"{prefix}{name}"] for name in ("level", "from", "to"))
        edges = [f"{word} {edge:g}" for word, edge in (("from", low), ("below", high)) if not pd.isna(edge)]
        text = "missing" if row["kind"] == MISSING else " ".join(edges) or f"“{level}”"
        names_with_claims.append(f"“{row[column]}” {text}")
    return f"{' × '.join(names_with_claims)} ({row['claims']:.0f})"


def rate(table: pd.DataFrame, X: Any, *, unknown: Literal["error", "base"] = "error") -> Array:
    """Return premiums (n,) for the rows of X from a table of relativities.

    Parameters
    ----------
    table
        Table from :meth:`fairdash.tariff.model.FairTariff.relativities` or
        :func:`fairdash.tariff.files.read_tariff`. The rows of the table may be in any order.
    X : DataFrame, shape (n, p)
        Rows for which to compute premiums. The columns must include the factors of the table; the columns of
        an array are named 0, 1, ….
    unknown
        If a level or a missing cell is not in the table, ``"error"`` raises an error, and ``"base"`` uses
        relativity 1 (0 points).

    Raises
    ------
    DataError
        Raised if the table is not valid, if X lacks a factor or contains text instead of numbers, or if a
        level is unknown.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": [None, "zone", "zone"], "kind": ["base", "level", "level"],
    ...                       "level": [None, "A", "B"], "relativity": [100.0, 1.0, 1.2]})
    >>> rate(table, pd.DataFrame({"zone": ["B", "A"]})).round(6).tolist()
    [120.0, 100.0]
    """
    if unknown not in ("error", "base"):
        raise OptionError.of("This value is not known", "Choose “error” or “base”.", column="unknown")
    terms, base, values, multiplies = read_terms(table)
    mains = [term for term in terms if isinstance(term, Factor)]
    parts = [part for term in terms for part in term.parts]
    numbers = [part.column for part in parts if not part.of_levels]
    X = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    for part in parts:
        if (
            part.of_levels
            and part.column in X
            and (levels := in_intervals(X[part.column], part.cells)) is not None
        ):
            X = X.assign(**{part.column: levels})
    features = named_features(X, [part.column for part in parts], numbers=numbers)
    require_matching_levels(mains, features)
    if unknown == "error":
        hint = 'Correct the cells, add the level to the table, or rate with unknown="base".'
        problems = unrated_problems(mains, features, problem="The tariff has no relativity", hint=hint)
        if problems:
            raise DataError(*problems)
    return premiums(
        terms, features, base=np.array([base]), values=[v[None] for v in values], multiplies=multiplies
    )[0]


def named_features(X: Any, columns: Sequence[str], *, numbers: Sequence[str]) -> pd.DataFrame:
    """Return cleaned columns of X with strings as names; missing or unsuitable columns raise a DataError."""
    features = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    require_unique(features)
    features = features.set_axis([str(name) for name in features.columns], axis=1)
    names: list[Hashable] = list(dict.fromkeys(columns))
    checks = Checks(DataError)
    for name in names:
        problem = "The tariff has this factor, but X lacks this column"
        checks.require(name in features.columns, str(name), problem, "Add it to X under the same name.")
    checks.finish()
    return clean_features(features[names], numbers=tuple(dict.fromkeys(numbers)))


def read_terms(table: pd.DataFrame) -> tuple[list[Term], float, list[Array], bool]:
    """Check a table of relativities, which a user may have edited, and convert it to terms and values.

    Returns
    -------
    terms, base, values, multiplies
        Terms, η of a row with the base level of every factor, values (n_values,) of each term on the scale of
        η, and True if premiums are products (log link) instead of sums.

    Raises
    ------
    DataError
        Raised if entries are not valid; the error lists all invalid entries.
    """
    table, value = _complete_columns(table)
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
        interaction, codes = _pair(str(names[0]), str(names[1]), rows)
        terms.append(interaction)
        of_pairs = np.zeros(len(interaction.shares))
        of_pairs[codes] = eta[rows.index]
        values.append(of_pairs)
    (base,) = eta[kinds == BASE]
    return terms, float(base), values, multiplies


def _complete_columns(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the table with all columns, and the name of its column of values."""
    checks = Checks(DataError)
    table = _with_kinds(table)
    value_columns = [name for name in (RELATIVITY, POINTS) if name in table.columns]
    problem, hint = f"A tariff's table needs a column “{RELATIVITY}” or “{POINTS}”", _TABLE_HINT
    checks.require(len(value_columns) == 1, None, problem, hint)
    for name in ("factor", "kind"):
        how = (
            "The table needs the columns factor, kind, level and relativity; split a coefficient's name, "
            "such as zoneB, into the factor zone and the level B."
        )
        checks.require(name in table.columns, name, "The tariff's table lacks this column", how)
    checks.finish()
    table = table.reset_index(drop=True)
    empty = dict.fromkeys(TEXTS) | dict.fromkeys(NUMBERS, np.nan)
    table = table.assign(**{name: cell for name, cell in empty.items() if name not in table.columns})
    try:
        numbers = {name: pd.to_numeric(table[name]).astype(float) for name in (*NUMBERS, value_columns[0])}
    except (TypeError, ValueError):
        raise DataError.of(
            "A numeric column of the tariff's table contains text",
            f"The columns {', '.join((*NUMBERS, value_columns[0]))} must contain only numbers.",
        ) from None
    return table.assign(**numbers), value_columns[0]


def _with_kinds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with lower-case column names and with a column “kind”, derived from other columns."""
    known_names = {*_COLUMNS, RELATIVITY, POINTS, "share", "claims"}
    new = {column: str(column).strip().lower() for column in table.columns if column not in known_names}
    new = {column: name for column, name in new.items() if name in known_names and name not in table.columns}
    table = table.rename(columns=new)
    if "kind" in table.columns or "factor" not in table.columns:
        return table
    if {"from", "to"} <= {*table.columns}:
        bands = band_texts(table["factor"], table["from"], table["to"])
        table = table.assign(level=bands.fillna(table.get("level"))).drop(columns=["from", "to"])
    if "level" not in table.columns:
        return table
    lacks_factor = table["factor"].isna() | table["factor"].astype(str).str.lower().isin(BASES)
    kind = np.where(lacks_factor, BASE, np.where(table["level"].isna(), MISSING, LEVEL))
    return table.assign(kind=kind, factor=table["factor"].astype(object).where(~lacks_factor, None))


def _check_values(table: pd.DataFrame, value: str) -> None:
    kinds = table["kind"]
    lacks_factor = (kinds != BASE) & table["factor"].isna() | (kinds == INTERACTION) & table["by"].isna()
    lacks_level = (
        kinds.isin([LEVEL, FIXED]) & table["level"].isna() | (kinds == BREAKPOINT) & table["at"].isna()
    )
    above = " above 0" if value == RELATIVITY else ""
    lacks_number = ~np.isfinite(table[value]) | (table[value] <= 0 if above else False)
    checks = Checks(DataError)
    checks.require(
        (kinds == BASE).sum() == 1, "kind", "The tariff's table must have exactly one base", "Keep one row."
    )
    for column, invalid, problem, hint in (
        ("kind", ~kinds.isin(KINDS), f"have a kind other than {', '.join(KINDS)}", "Correct the kinds."),
        (value, lacks_number, f"have no number{above}", "Correct the numbers."),
        ("factor", lacks_factor, "have no factor", "Name the column."),
        ("level", lacks_level, "have no level or breakpoint", _FILL_HINT),
    ):
        checks.require(
            not invalid.any(), column, f"{_rows_in_words(invalid)} of the tariff's table {problem}", hint
        )
    checks.finish()


def _rows_in_words(invalid: pd.Series) -> str:
    """Return the numbers of invalid rows as text, such as “Rows 2, 5”; the header is row 1."""
    rows = np.flatnonzero(invalid)
    return f"Rows {', '.join(str(row + 2) for row in rows[:5])}{', …' if len(rows) > 5 else ''}"


def _factor(name: str, rows: pd.DataFrame) -> tuple[Factor, NDArray[np.int64]]:
    """Return the factor that `rows` describe, and the row number of each of the factor's values."""
    missing = np.flatnonzero(rows["kind"] == MISSING)
    present = rows[rows["kind"] != MISSING]
    kinds = present["kind"].unique()
    checks = Checks(DataError)
    hint = "Keep one row per value, and rows of one kind only."
    checks.require(len(kinds) <= 1, name, "The factor has rows of several kinds", hint)
    checks.require(len(missing) <= 1, name, "Missing cells have several relativities", hint)
    checks.finish()
    kind = kinds[0] if len(kinds) else LEVEL
    not_missing = np.flatnonzero(rows["kind"] != MISSING)
    if kind == BREAKPOINT:
        not_missing = not_missing[np.argsort(present["at"].to_numpy(), kind="stable")]
        cells = rows["at"].to_numpy()[not_missing].tolist()
    elif kind == BAND:
        not_missing = not_missing[_ordered_bands(name, present["from"], present["to"])]
        cells = rows["from"].to_numpy()[not_missing][1:].tolist()
    else:
        cells = present["level"].tolist()
    checks.require(
        len(set(cells)) == len(cells), name, "A level or breakpoint appears twice in the table", hint
    )
    checks.finish()
    order = np.concatenate([not_missing, missing])
    factor = Factor(
        column=name,
        # Levels with fixed relativities become ordinary levels, because the table contains their
        # relativities.
        kind=kind if kind in (BREAKPOINT, BAND) else LEVEL,
        cells=tuple(cells if kind in (BREAKPOINT, BAND) else map(str, cells)),
        base=0,
        shares=tuple(rows["share"].to_numpy()[order].tolist()),
        has_missing=bool(len(missing)),
    )
    return factor, order


def _ordered_bands(name: str, low: pd.Series, high: pd.Series) -> NDArray[np.int64]:
    """Return the order of bands by their lower edges, or raise a DataError if bands leave gaps or overlap."""
    order = np.argsort(low.fillna(-np.inf).to_numpy(), kind="stable")
    lows, highs = low.to_numpy()[order], high.to_numpy()[order]
    is_gapless = np.isnan(lows[0]) and np.isnan(highs[-1]) and (lows[1:] == highs[:-1]).all()
    if not (is_gapless and (np.diff(lows[1:]) > 0).all()):
        raise DataError.of(
            "The bands leave a gap, overlap or do not cover all numbers",
            "Each band must begin where the previous one ends; leave the first “from” and last “to” empty.",
            column=name,
        )
    return order


def _pair(name: str, by: str, rows: pd.DataFrame) -> tuple[Interaction, NDArray[np.int64]]:
    """Return the interaction that `rows` describe, and each row's position among the interaction's values."""
    first, of_first = _part(name, rows["level"], rows["from"], rows["to"])
    second, of_second = _part(by, rows["by_level"], rows["by_from"], rows["by_to"])
    codes = of_first * second.n_places + of_second
    if len(set(codes.tolist())) < len(codes):
        raise DataError.of(f"A pair with “{by}” appears twice in the table", "Keep one row.", column=name)
    shares = np.zeros(first.n_places * second.n_places)
    shares[codes] = rows["share"]
    return Interaction(first=first, second=second, shares=tuple(shares.tolist())), codes


def _part(name: str, level: pd.Series, low: pd.Series, high: pd.Series) -> tuple[Factor, NDArray[np.int64]]:
    """Return the levels or bands of one column of an interaction, and each row's position among them."""
    if level.notna().all():
        codes, levels = pd.factorize(level.map(str))
        kind, cells, count = LEVEL, tuple(levels), len(levels)
    else:
        bands = pd.DataFrame({"low": low, "high": high}).drop_duplicates()
        ordered = bands.iloc[_ordered_bands(name, bands["low"], bands["high"])]
        kind, cells, count = BAND, tuple(ordered["low"].tolist()[1:]), len(ordered)
        codes = np.where(low.isna(), 0, np.searchsorted(cells, low.fillna(-np.inf), side="right"))
    factor = Factor(column=name, kind=kind, cells=cells, base=0, shares=(0.0,) * count)
    return factor, codes.astype(np.int64)
