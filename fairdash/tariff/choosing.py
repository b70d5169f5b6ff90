"""Selection of a tariff's terms for a table, by default or by the user's options.

By default, a numeric column becomes a curve with breakpoints at quantiles, and a category becomes its levels.
A regulator or the management may set relativities in advance. Fitting does not change these:

>>> region = pd.Series(["north", "south", "north"], name="region")
>>> fixed_term(region, np.ones(3), {"south": 1.2, "north": 1.0}).relativities
(1.2, 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence.classical import quantiles
from fairdash.errors import Checks, DataError, OptionError, Problem
from fairdash.tariff.terms import (
    BAND,
    BREAKPOINT,
    FIXED,
    LEVEL,
    Factor,
    Interaction,
    Term,
    interpolate_between,
    level_text,
    levels_of,
    numbers_of,
    positions,
)
from fairdash.utils.text import at_lines

Array = NDArray[np.float64]

#: Maximum number of levels of a column. A column with more levels probably identifies rows, such as a policy
#: number, and can't be a rating factor.
MAX_LEVELS = 1000

#: Suffixes that R adds to the coefficients of an ordered factor.
_CONTRASTS = frozenset((".L", ".Q", ".C", *(f"^{k}" for k in range(4, 20))))


@dataclass(frozen=True, kw_only=True)
class TermOptions:
    """Options for a tariff's terms, by column name. A column without an option gets the default term.

    Parameters
    ----------
    n_breakpoints
        Number of breakpoints of a curve, at quantiles of the training rows, before duplicates are removed.
    breakpoints
        Map of columns to the breakpoints of their curves.
    bands
        Map of numeric columns with bands instead of a curve to the inner edges of the bands, or to a number
        of bands of equal weight.
    n_bands
        Number of bands of a numeric column in an interaction, unless `bands` sets this number.
    categorical_features
        Numeric columns whose values are levels.
    interactions
        Pairs of columns that interact.
    base_levels
        Map of columns to the value with relativity 1: a level, a breakpoint, or a number inside a band.
    fixed
        Map of columns to the fixed relativities of their levels, above 0, which fitting does not change; the
        level None stands for missing cells.
    """

    n_breakpoints: int = 16
    breakpoints: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bands: Mapping[str, Sequence[float] | int] = field(default_factory=dict)
    n_bands: int = 5
    categorical_features: Sequence[str] = ()
    interactions: Sequence[tuple[str, str]] = ()
    base_levels: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)


def choose_terms(
    features: pd.DataFrame, sample_weight: Array | None, options: TermOptions
) -> tuple[Term, ...]:
    """Choose the terms for training rows: one term per column, in the columns' order, then the interactions.

    Parameters
    ----------
    features
        Table (n, p) with strings as column names. Columns contain numbers, booleans, categories or text.
    sample_weight
        Weights of the rows, (n,), or None for equal weights.

    Raises
    ------
    OptionError
        Raised if an option names a column that does not exist, or does not suit the column.
    DataError
        Raised if a column has more levels than a tariff can have.
    """
    check_term_options(options, features)
    # Weights are not normalised. Sums of whole weights are exact, so a row of weight 2 has exactly the same
    # effect as two rows.
    weight = np.ones(len(features)) if sample_weight is None else sample_weight
    _check_levels(features, options)
    factors: dict[str, Factor] = {}
    for name in map(str, features.columns):
        column = features[name]
        if name in options.fixed:
            factors[name] = fixed_term(column, weight, options.fixed[name])
        elif name in options.bands:
            factors[name] = _bands(column, weight, options.bands[name], options)
        elif _is_number(column, options):
            factors[name] = _curve(column, weight, options)
        else:
            factors[name] = _levels(column, weight, options)
    return (*factors.values(), *(_interaction(pair, factors, features, weight, options)
                                 for pair in options.interactions))  # fmt: skip


def check_term_options(options: TermOptions, features: pd.DataFrame) -> None:
    """Raise an OptionError that lists all options that do not suit the columns of `features`."""
    checks = Checks(OptionError)
    minimum_hint = "Give a whole number of at least 2."
    checks.require(
        _is_count(options.n_breakpoints), "n_breakpoints", "A curve needs two breakpoints", minimum_hint
    )
    checks.require(_is_count(options.n_bands), "n_bands", "An interaction needs two bands", minimum_hint)
    present = set(map(str, features.columns))
    paired = [name for pair in options.interactions for name in pair]
    for option in ("breakpoints", "bands", "categorical_features", "interactions", "base_levels", "fixed"):
        names = paired if option == "interactions" else list(getattr(options, option))
        absent = _quoted(name for name in names if name not in present)
        hint = "Name columns of X that are not sensitive."
        checks.require(not absent, option, f"There is no feature called {absent}", hint)
        factors = _quoted(name for name in names if name in options.fixed and option != "fixed")
        problem = f"The relativities of {factors} are fixed, so this option has no effect"
        checks.require(not factors, option, problem, f"Leave the column out of {option}, or out of fixed.")
    _check_fixed(checks, options.fixed)
    checks.finish()
    for option, columns in (("breakpoints", options.breakpoints), ("bands", options.bands)):
        for name in columns:
            is_number = _is_number(features[name], options)
            checks.require(
                is_number, option, f"“{name}” is not numeric", f"Leave the column out of {option}."
            )
    in_both = ", ".join(sorted(set(options.breakpoints) & set(options.bands)))
    hint = "A column has either a curve or bands: leave the column out of one of the two options."
    checks.require(not in_both, "bands", f"“{in_both}” has bands and breakpoints", hint)
    for name, points in options.breakpoints.items():
        hint = "Give at least two numbers in ascending order."
        checks.require(
            _is_ascending(points, is_strict=2), "breakpoints", f"“{name}” has invalid breakpoints", hint
        )
    for name, edges in options.bands.items():
        fits = _is_count(edges) if isinstance(edges, (int, np.integer)) else _is_ascending(edges, is_strict=1)
        hint = "Give the inner edges in ascending order, or a number of bands of at least 2."
        checks.require(fits, "bands", f"“{name}” has invalid bands", hint)
    pairs = [frozenset(pair) for pair in options.interactions]
    fits = all(len(pair) == 2 for pair in pairs) and len(set(pairs)) == len(pairs)
    hint = 'Give pairs such as [("age", "gender")].'
    checks.require(fits, "interactions", "Interactions must be distinct pairs of two columns", hint)
    checks.finish()


def _check_fixed(checks: Checks, fixed: Mapping[str, Any]) -> None:
    """Check that fixed relativities are numbers above 0 and that no level appears twice."""
    for name, relativities in fixed.items():
        if not isinstance(relativities, Mapping) or not relativities:
            hint = 'Give one per level, such as {"region": {"north": 1.0, "south": 1.2}}.'
            checks.require(False, "fixed", f"“{name}” has no relativities", hint)
            continue
        are_positive = all(
            isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf
            for value in relativities.values()
        )
        problem, hint = f"A relativity of “{name}” is not a number above 0", "Give numbers above 0."
        checks.require(are_positive, "fixed", problem, f"Premiums are multiplied by relativities. {hint}")
        levels = {None if pd.isna(level) else level_text(level) for level in relativities}
        problem, hint = f"A level of “{name}” appears twice", "Keep one; 3, 3.0 and “3” are one level."
        checks.require(len(levels) == len(relativities), "fixed", problem, hint)


def fixed_term(column: pd.Series, weight: Array, levels: Mapping[Any, float]) -> Factor:
    """Return the term for a training column with fixed relativities; levels keep the order of `levels`.

    Parameters
    ----------
    weight
        Weights of the rows, (n,).
    levels
        Map of levels to relativities; the key None or NaN stands for missing cells.
    """
    missing = [float(value) for level, value in levels.items() if pd.isna(level)]
    given_values = {level_text(level): float(value) for level, value in levels.items() if not pd.isna(level)}
    codes, _ = positions(column, list(given_values))
    codes = np.where(column.isna() & bool(missing), len(given_values), codes)
    has_level = codes >= 0
    shares = np.bincount(codes[has_level], weight[has_level], len(given_values) + len(missing)) / weight.sum()
    return Factor(
        column=str(column.name),
        kind=FIXED,
        cells=tuple(given_values),
        base=0,
        relativities=(*given_values.values(), *missing),
        shares=tuple(shares.tolist()),
        has_missing=bool(missing),
    )


def require_fixed(
    terms: Sequence[Term], table: pd.DataFrame, *, numbers: NDArray[np.intp] | None = None
) -> None:
    """Raise a DataError that names the rows without a fixed relativity, and the columns of these rows.

    Parameters
    ----------
    terms
        Terms of a tariff; only fixed terms are checked.
    numbers
        Row numbers for messages, starting with 0, or None to use the positions in `table`.
    """
    problems = unrated_problems(
        [term for term in terms if isinstance(term, Factor) and term.kind == FIXED],
        table,
        problem="The relativities of this column are fixed, but no relativity is given",
        hint="Add these levels to fixed, with None for missing cells, or correct the cells.",
        numbers=numbers,
    )
    if problems:
        raise DataError(*problems)


def unrated_problems(
    terms: Sequence[Factor],
    table: pd.DataFrame,
    *,
    problem: str,
    hint: str,
    numbers: NDArray[np.intp] | None = None,
) -> list[Problem]:
    """Return a problem for each factor that lacks a relativity for some rows; see :func:`require_fixed`."""
    problems = []
    for term in terms:
        rows = np.flatnonzero(term.unknown(table))
        if len(rows):
            where = at_lines((rows if numbers is None else numbers[rows]) + 1, len(rows), word="row")
            message = f"{problem} for the cells in {where}"
            problems.append(Problem(column=term.column, what=message, count=len(rows), hint=hint))
    return problems


def require_matching_levels(terms: Sequence[Factor], features: pd.DataFrame) -> None:
    """Raise a DataError if a column contains none of its factor's levels, so the factor would have no effect.

    A column with a single value is not checked: the value may be a new level.
    """
    checks = Checks(DataError)
    for term in terms:
        levels, hint = set(map(str, term.cells)), "Write the table's levels in the same way as this column."
        if term.of_levels and levels and levels <= _CONTRASTS:
            problem = "The table contains contrasts of an ordered factor (.L, .Q, …) instead of levels"
            hint = 'Give a relativity per level, such as exp(predict(…, type="terms")) in R.'
            checks.require(False, term.column, problem, hint)
            continue
        has_several = features[term.column].dropna().nunique() > 1
        matches_none = has_several and bool(term.unknown(features)[features[term.column].notna()].all())
        checks.require(
            not matches_none, term.column, "No cell of this column matches a level of the tariff", hint
        )
    checks.finish()


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in sorted(set(names)))


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 2)


def _is_ascending(numbers: Sequence[float], *, is_strict: int) -> bool:
    values = np.asarray(numbers, dtype=float)
    return bool(len(values) >= is_strict and np.isfinite(values).all() and (np.diff(values) > 0).all())


def _is_number(column: pd.Series, options: TermOptions) -> bool:
    return (
        pd.api.types.is_numeric_dtype(column.dtype) and str(column.name) not in options.categorical_features
    )


def _check_levels(features: pd.DataFrame, options: TermOptions) -> None:
    checks = Checks(DataError)
    for name, column in features.items():
        checks.require(
            _is_number(column, options) or name in options.fixed or column.nunique() <= MAX_LEVELS,
            str(name),
            f"The column has more than {MAX_LEVELS:,} levels",
            "Group the levels, or leave the column out.",
        )
    checks.finish()


def _curve(column: pd.Series, weight: Array, options: TermOptions) -> Factor:
    cells = numbers_of(column)
    mask = ~np.isnan(cells)
    name = str(column.name)
    if name in options.breakpoints:
        points = _spreadsheet_digits(options.breakpoints[name])
    else:
        points = _rounded(quantiles(cells[mask], weight[mask], np.linspace(0, 1, options.n_breakpoints)))
    # The weight of a row is shared by the two breakpoints around its value; the nearer one gets more.
    below, above, part = interpolate_between(cells[mask], points)
    shares = np.bincount(below, weight[mask] * (1 - part), len(points))
    shares += np.bincount(above, weight[mask] * part, len(points))
    median = quantiles(cells[mask], weight[mask], np.array([0.5]))[0] if mask.any() else points[0]
    base_at = options.base_levels.get(name, median)
    base = int(np.abs(np.array(points) - _base_number(name, base_at)).argmin())
    return _factor(name, BREAKPOINT, points, base, shares, weight, ~mask)


def _bands(column: pd.Series, weight: Array, edges: Sequence[float] | int, options: TermOptions) -> Factor:
    cells = numbers_of(column)
    mask = ~np.isnan(cells)
    if isinstance(edges, (int, np.integer)):
        # A band excludes its upper edge, so an edge at the column's minimum would leave the first band empty.
        rounded = _rounded(quantiles(cells[mask], weight[mask], np.linspace(0, 1, int(edges) + 1)[1:-1]))
        inner = tuple(edge for edge in rounded if edge > cells[mask].min()) if mask.any() else ()
    else:
        inner = _spreadsheet_digits(edges)
    name = str(column.name)
    codes = np.searchsorted(inner, cells[mask], side="right")
    shares = np.bincount(codes, weight[mask], len(inner) + 1)
    base = int(shares.argmax())
    if name in options.base_levels:
        base = int(np.searchsorted(inner, _base_number(name, options.base_levels[name]), side="right"))
    return _factor(name, BAND, inner, base, shares, weight, ~mask)


def _levels(column: pd.Series, weight: Array, options: TermOptions) -> Factor:
    levels = levels_of(column)
    codes, missing = positions(column, levels)
    shares = np.bincount(codes[~missing], weight[~missing], len(levels))
    base = int(shares.argmax()) if len(levels) else 0
    name = str(column.name)
    if name in options.base_levels:
        base_level = level_text(options.base_levels[name])
        if base_level not in levels:
            problem = f"The base level of “{name}” does not appear in the training rows"
            raise OptionError.of(problem, "Name a level that does.", column="base_levels")
        base = levels.index(base_level)
    return _factor(name, LEVEL, levels, base, shares, weight, missing)


def _interaction(
    pair: tuple[str, str],
    factors: Mapping[str, Factor],
    features: pd.DataFrame,
    weight: Array,
    options: TermOptions,
) -> Interaction:
    first, second = (
        _bands(features[name], weight, options.n_bands, options)
        if factors[name].kind == BREAKPOINT
        else factors[name]
        for name in pair
    )
    codes = Interaction(first=first, second=second, shares=()).places(features)
    shares = np.bincount(codes[codes >= 0], weight[codes >= 0], first.n_places * second.n_places)
    return Interaction(first=first, second=second, shares=tuple((shares / weight.sum()).tolist()))


def _factor(
    name: str,
    kind: str,
    cells: tuple[Any, ...],
    base: int,
    shares: NDArray[Any],
    weight: Array,
    missing: NDArray[np.bool_],
) -> Factor:
    """Create a factor from the row weights at each value; if cells are missing, add a value for them."""
    all_shares = np.append(shares, weight[missing].sum()) if missing.any() else shares
    return Factor(
        column=name,
        kind=kind,
        cells=cells,
        base=base,
        shares=tuple((all_shares / weight.sum()).tolist()),
        has_missing=bool(missing.any()),
    )


def _base_number(name: str, base_value: Any) -> float:
    try:
        number = float(base_value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise OptionError.of(f"The base of “{name}” is not a number", "Give a number.", column="base_levels")
    return number


def _rounded(points: Array) -> tuple[float, ...]:
    """Round distinct values to few digits, with errors of at most 1/20 of the smallest gap between values."""
    points = np.unique(points)
    if len(points) > 1:
        points = np.round(points, 1 - math.floor(math.log10(np.diff(points).min())))
    return _spreadsheet_digits(points)


def _spreadsheet_digits(points: Iterable[float]) -> tuple[float, ...]:
    """Round numbers to the 15 digits that a spreadsheet stores."""
    return tuple(dict.fromkeys(float(f"{float(point):.15g}") for point in points))
