"""What a tariff is made of: terms, each of which adds to the linear predictor by the cells of a row.

A table is the matrix that their coefficients are multiplied by. Levels of categories are text, since a table
of relativities holds text, and so does a file of it.

A term has *values* (one a breakpoint, band or level, and one for missing cells where there were any), and
*coefficients*, which are what is fitted: fewer, because the zero of each term is the tariff's base.

>>> import pandas as pd
>>> table = pd.DataFrame({"age": [18.0, 40.0, 99.0]})
>>> curve = Curve(column="age", points=(20.0, 30.0, 50.0), base=1, shares=(0.2, 0.5, 0.3))
>>> curve.matrix(table).tolist()
[[0.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
>>> curve.values(np.array([[0.3, -0.1]])).round(2).tolist()
[[0.0, 0.3, 0.2]]
>>> level_text(3), level_text(3.0), level_text("3"), level_text(True)
('3', '3', '3', 'True')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]


def level_text(cell: Any) -> str:
    """A level as text; 3, 3.0 and "3" are one level."""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def positions(column: pd.Series, levels: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Place of each cell among the `levels`, −1 for none, and whether the cell is missing; (n,) each."""
    codes, found = pd.factorize(column, use_na_sentinel=True)
    known = {level: place for place, level in enumerate(levels)}
    # The last one is for −1, a missing cell.
    places = np.array([*(known.get(level_text(cell), -1) for cell in found), -1], dtype=np.int64)
    return places[codes], codes < 0


def levels_of(column: pd.Series) -> tuple[str, ...]:
    """The levels that a column's cells have, in the order of its categories, or ascending."""
    there = column.dropna()
    if isinstance(column.dtype, pd.CategoricalDtype):
        ordered = there.cat.remove_unused_categories().cat.categories
    else:
        ordered = pd.Index(there.unique()).sort_values()
    return tuple(dict.fromkeys(level_text(cell) for cell in ordered))


def numbers_of(column: pd.Series) -> Array:
    """A column's numbers (n,), NaN where a cell is missing."""
    return column.to_numpy(dtype=float, na_value=np.nan)


def between(cells: Array, points: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """The breakpoints below and above each cell, and how far it is from the one to the other, in [0, 1]."""
    place = np.interp(cells, points, np.arange(len(points)))
    below = np.minimum(place.astype(np.int64), max(len(points) - 2, 0))
    return below, np.minimum(below + 1, len(points) - 1), place - below


@dataclass(frozen=True, kw_only=True)
class Main:
    """A factor of one column.

    Parameters
    ----------
    column
        Its name.
    base
        Place of the value that relativities are relative to.
    shares
        Share of the training rows' weight at each value, missing cells last; they add up to 1. What lies
        between two breakpoints counts to both, the nearer the more.
    has_missing
        Whether missing cells have a value of their own.
    """

    column: str
    base: int
    shares: tuple[float, ...]
    has_missing: bool = False

    @property
    def n_places(self) -> int:
        """Breakpoints, bands or levels: the values without that of missing cells."""
        return len(self.shares) - self.has_missing

    @property
    def parts(self) -> tuple[Main, ...]:
        """The factors that it looks at."""
        return (self,)

    def values(self, coefficients: Array) -> Array:
        """Values (K, n_values) that these coefficients (K, width) stand for; the base's is 0."""
        return np.insert(coefficients, self.base, 0.0, axis=1)


@dataclass(frozen=True, kw_only=True)
class Parted(Main):
    """A factor whose cells fall into parts, a value each."""

    @property
    def width(self) -> int:
        """Number of coefficients: one a value, but for the base."""
        return len(self.shares) - 1

    def places(self, table: pd.DataFrame) -> NDArray[np.int64]:
        """Part of each row, (n,); −1 for none."""
        raise NotImplementedError

    def place_or_missing(self, table: pd.DataFrame) -> NDArray[np.int64]:
        """The same with the place behind all others for missing cells, where they have a value."""
        places = self.places(table)
        if self.has_missing:
            places = np.where(table[self.column].isna(), self.n_places, places)
        return places

    def matrix(self, table: pd.DataFrame) -> Array:
        """What each coefficient is multiplied by, (n, width); a cell that has no value counts as the base."""
        others = np.delete(np.arange(len(self.shares)), self.base)
        return (self.place_or_missing(table)[:, None] == others).astype(float)

    def at(self, table: pd.DataFrame, values: Array) -> Array:
        """What each row adds to η, (K, n), by values (K, n_values); 0 where it has no value."""
        return np.insert(values, len(self.shares), 0.0, axis=1)[:, self.place_or_missing(table)]

    def unknown(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows hold what has no value here, (n,)."""
        return self.place_or_missing(table) < 0


@dataclass(frozen=True, kw_only=True)
class Levels(Parted):
    """A value a level of a category.

    Parameters
    ----------
    levels
        As text (:func:`level_text`).
    """

    levels: tuple[str, ...]

    def places(self, table: pd.DataFrame) -> NDArray[np.int64]:
        return positions(table[self.column], self.levels)[0]


@dataclass(frozen=True, kw_only=True)
class Fixed(Levels):
    """A category whose relativities are given, and no fit changes: a part of η without a coefficient.

    Parameters
    ----------
    relativities
        One above 0 a level, and that of missing cells last where they have one. The premium is multiplied
        by them as they are; none of them need be 1.
    """

    relativities: tuple[float, ...]

    @property
    def width(self) -> int:
        return 0

    def matrix(self, table: pd.DataFrame) -> Array:
        return np.empty((len(table), 0))

    def values(self, coefficients: Array) -> Array:
        return np.tile(np.log(self.relativities), (len(coefficients), 1))

    def offset(self, table: pd.DataFrame) -> Array:
        """What each row's relativity adds to η, (n,); 0 where none is given."""
        return self.at(table, np.log(self.relativities)[None])[0]


@dataclass(frozen=True, kw_only=True)
class Bands(Parted):
    """A value a band of a number: from an edge on, and up to the next, which is not in it.

    Parameters
    ----------
    edges
        Ascending; the first band lies below the first, the last from the last on.
    """

    edges: tuple[float, ...]

    def places(self, table: pd.DataFrame) -> NDArray[np.int64]:
        cells = numbers_of(table[self.column])
        places = np.searchsorted(np.array(self.edges), cells, side="right").astype(np.int64)
        return np.where(np.isnan(cells), -1, places)


@dataclass(frozen=True, kw_only=True)
class Curve(Main):
    """A line from breakpoint to breakpoint over a number, level beyond the first and the last.

    Its coefficients are the steps between breakpoints, and what missing cells add to the first: a
    piecewise-linear embedding (Gorishniy et al. 2022).

    Parameters
    ----------
    points
        Breakpoints, ascending.
    """

    points: tuple[float, ...]

    @property
    def width(self) -> int:
        """Number of coefficients."""
        return len(self.points) - 1 + self.has_missing

    def matrix(self, table: pd.DataFrame) -> Array:
        """What each coefficient is multiplied by, (n, width); a cell that has no value counts as the base."""
        cells = numbers_of(table[self.column])
        missing = np.isnan(cells)
        points = np.array(self.points)
        # Missing cells begin at the first point if they have a value of their own, and else lie at the base.
        cells = np.where(missing, points[0 if self.has_missing else self.base], cells)
        steps = np.clip((cells[:, None] - points[:-1]) / np.diff(points), 0.0, 1.0)
        return np.column_stack([steps, missing]) if self.has_missing else steps

    def values(self, coefficients: Array) -> Array:
        """Values (K, n_values) that these coefficients (K, width) stand for; the first breakpoint's is 0."""
        steps = len(self.points) - 1
        line = np.insert(np.cumsum(coefficients[:, :steps], axis=1), 0, 0.0, axis=1)
        return np.concatenate([line, coefficients[:, steps:]], axis=1)

    def at(self, table: pd.DataFrame, values: Array) -> Array:
        """What each row adds to η, (K, n), by values (K, n_values); 0 where it has no value."""
        cells = numbers_of(table[self.column])
        missing = np.isnan(cells)
        below, above, part = between(np.where(missing, self.points[0], cells), self.points)
        line = values[:, below] * (1 - part) + values[:, above] * part
        return np.where(missing, values[:, -1:] if self.has_missing else 0.0, line)

    def unknown(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows hold what has no value here, (n,): missing cells, if there were none in training."""
        missing: NDArray[np.bool_] = np.isnan(numbers_of(table[self.column]))
        return np.zeros_like(missing) if self.has_missing else missing


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """A value a pair of parts of two columns, on top of what both add alone.

    Pairs with the base of either column have the value 0, and so have pairs that no training row has, cells
    that are missing, and what is not known.

    Parameters
    ----------
    first, second
        The parts; values of missing cells are not used.
    shares
        Share of the training rows' weight in each pair, those of the first part of `first` first.
    """

    first: Levels | Bands
    second: Levels | Bands
    shares: tuple[float, ...]

    @property
    def parts(self) -> tuple[Main, ...]:
        """The factors that it looks at."""
        return self.first, self.second

    @property
    def used(self) -> NDArray[np.int64]:
        """The pairs that have a coefficient."""
        first, second = np.divmod(np.arange(len(self.shares)), self.second.n_places)
        free = (first != self.first.base) & (second != self.second.base) & (np.array(self.shares) > 0)
        return np.flatnonzero(free)

    @property
    def width(self) -> int:
        """Number of coefficients."""
        return len(self.used)

    def places(self, table: pd.DataFrame) -> NDArray[np.int64]:
        """Pair of each row, (n,); −1 for none."""
        first, second = self.first.places(table), self.second.places(table)
        return np.where((first < 0) | (second < 0), -1, first * self.second.n_places + second)

    def matrix(self, table: pd.DataFrame) -> Array:
        """What each coefficient is multiplied by, (n, width)."""
        return (self.places(table)[:, None] == self.used).astype(float)

    def values(self, coefficients: Array) -> Array:
        """Values (K, n_values) that these coefficients (K, width) stand for."""
        values = np.zeros((len(coefficients), len(self.shares)))
        values[:, self.used] = coefficients
        return values

    def at(self, table: pd.DataFrame, values: Array) -> Array:
        """What each row adds to η, (K, n), by values (K, n_values); 0 where it has no value."""
        return np.insert(values, len(self.shares), 0.0, axis=1)[:, self.places(table)]


Factor: TypeAlias = Levels | Bands | Curve
Term: TypeAlias = Factor | Interaction


def design(terms: Sequence[Term], table: pd.DataFrame) -> Array:
    """The matrix (n, P) of a table: a block a term, without an intercept."""
    blocks = _blocks(terms)
    matrix = np.empty((len(table), blocks[-1].stop if blocks else 0))
    for term, block in zip(terms, blocks, strict=True):
        matrix[:, block] = term.matrix(table)
    return matrix


def offset(terms: Sequence[Term], table: pd.DataFrame) -> Array | None:
    """What fixed relativities add to η, (n,), whatever is fitted; None where no factor is fixed."""
    parts = [term.offset(table) for term in terms if isinstance(term, Fixed)]
    return np.sum(parts, axis=0) if parts else None


def premiums(
    terms: Sequence[Term], table: pd.DataFrame, *, base: Array, values: Sequence[Array], multiplies: bool
) -> Array:
    """What K tariffs ask of every row, (K, n), from bases (K,) and each term's values (K, n_values) on the
    scale of η."""
    eta = np.repeat(base[:, None], len(table), axis=1)
    for term, own in zip(terms, values, strict=True):
        eta += term.at(table, own)
    return np.exp(eta) if multiplies else eta


def base_and_values(
    terms: Sequence[Term], *, intercept: Array, coefficients: Array, to_average: bool = False
) -> tuple[Array, list[Array]]:
    """What tariffs add up from: the base (K,), and the values (K, n_values) of each term relative to it.

    Parameters
    ----------
    intercept, coefficients
        (K,) and (K, P).
    to_average
        Whether values are relative to their average over the training rows, rather than to one of them;
        those of interactions are not. Fixed values are relative to nothing: they stay as they were given.
    """
    base, values = intercept.copy(), []
    for term, block in zip(terms, _blocks(terms), strict=True):
        of_term = term.values(coefficients[:, block])
        if not isinstance(term, (Interaction, Fixed)):
            zero = of_term @ np.array(term.shares) if to_average else of_term[:, term.base]
            base, of_term = base + zero, of_term - zero[:, None]
        values.append(of_term)
    return base, values


def _blocks(terms: Sequence[Term]) -> list[slice]:
    return [slice(*edge) for edge in pairwise(accumulate((term.width for term in terms), initial=0))]
