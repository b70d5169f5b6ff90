"""Terms of a tariff (levels, bands, curves and interactions), and credibility of values with few claims.

Few claims contain little information. For example, a level with 124 policies and no claim would get a
relativity near 0. A level with few claims therefore gets K additional artificial claims at the claim
frequency of the base. If the model expects E claims at the level, the observed claims then have the weight E
/ (E + K). On the scale of η, the additional claims correspond to a normal prior with variance 1 / K. This
prior is a penalty of weight K / N on the squared coefficient, where N is the number of all claims.

>>> from fairdash.tariff.terms import LEVEL
>>> level = Factor(column="zone", kind=LEVEL, cells=("A", "B"), base=0, shares=(0.9, 0.1))
>>> table = pd.DataFrame({"zone": ["A"] * 90 + ["B"] * 10})
>>> claims = claims_of([level], table, np.r_[np.ones(90), np.zeros(10)])
>>> claims[0].tolist(), extra_ridge([level], claims, 9.0, total=90).tolist()
([90.0, 0.0], [0.1])

Terms convert a table to a design matrix. The levels of categories are strings, as in tables of relativities
and exported files. A term has *values*: one per breakpoint, band or level, and one for missing cells if the
column has missing cells. A term has fewer *coefficients* than values, because the value of the base is 0 and
has no coefficient.

>>> import pandas as pd
>>> table = pd.DataFrame({"age": [18.0, 40.0, 99.0]})
>>> points, shares = (20.0, 30.0, 50.0), (0.2, 0.5, 0.3)
>>> curve = Factor(column="age", kind=BREAKPOINT, cells=points, base=1, shares=shares)
>>> curve.matrix(table).tolist()
[[0.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
>>> curve.values(np.array([[0.3, -0.1]])).round(2).tolist()
[[0.0, 0.3, 0.2]]
>>> level_text(3), level_text(3.0), level_text("3"), level_text(True)
('3', '3', '3', 'True')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Number of claims for full credibility of a level: in 90 % of samples, its mean is then within 30 % of the
#: true mean (limited-fluctuation credibility).
MIN_CLAIMS = 30
#: Default of K. It corresponds to a prior standard deviation of 1 / √10, about a third, of the relativity of
#: a level.
CLAIMS_OF_BASE = 10.0


def claims_of(terms: Sequence[Term], table: pd.DataFrame, y: Array) -> tuple[Array, ...]:
    """Return the number of rows with a claim (y ≠ 0) for each value of each term; NaN for breakpoints.

    A row between two breakpoints counts for both of them.
    """
    counts = []
    for term in terms:
        codes = term.places(table)
        with_claims = (codes >= 0) & (y != 0)
        counts.append(np.bincount(codes[with_claims], minlength=len(term.shares)).astype(float))
        if isinstance(term, Factor) and term.kind == BREAKPOINT:
            counts[-1][: term.n_places] = np.nan
    return tuple(counts)


def extra_ridge(terms: Sequence[Term], claims: Sequence[Array], added_claims: float, *, total: int) -> Array:
    """Return penalty weights of squared coefficients, (P,): K / N for values with few claims, otherwise 0.

    A value has few claims if the number of observed claims, or the number expected at the mean frequency, is
    below :data:`MIN_CLAIMS`.

    Parameters
    ----------
    claims
        Numbers of claims from :func:`claims_of`.
    added_claims
        Number K of additional claims.
    total
        Number N of all claims.
    """
    parts = [np.zeros(0)]
    for term, observed in zip(terms, claims, strict=True):
        has_few = np.minimum(observed, total * np.array(term.shares)) < MIN_CLAIMS
        # Breakpoints never have few claims, so each value with few claims is exactly one coefficient.
        parts.append(term.values(np.eye(term.width)) @ has_few * added_claims / max(total, 1))
    return np.concatenate(parts)


#: Kinds of rows in a table of relativities. The second to fifth are also kinds of a :class:`Factor`.
KINDS = ("base", "level", "fixed", "band", "breakpoint", "missing", "interaction")
BASE, LEVEL, FIXED, BAND, BREAKPOINT, MISSING, INTERACTION = KINDS


def level_text(cell: Any) -> str:
    """Return a level as a string; 3, 3.0 and "3" give the same string."""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def positions(column: pd.Series, levels: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each cell's position among `levels`, or −1, (n,), and True for each missing cell, (n,)."""
    codes, values = pd.factorize(column, use_na_sentinel=True)
    code_by_level = {level: index for index, level in enumerate(levels)}
    # A missing cell has the code −1, which is the index of the last entry of this array.
    indices = np.array([*(code_by_level.get(level_text(cell), -1) for cell in values), -1], dtype=np.int64)
    return indices[codes], codes < 0


def levels_of(column: pd.Series) -> tuple[str, ...]:
    """Return the levels of a column in the order of its categories or, without categories, ascending."""
    present = column.dropna()
    if isinstance(column.dtype, pd.CategoricalDtype):
        ordered = present.cat.remove_unused_categories().cat.categories
    else:
        ordered = pd.Index(present.unique()).sort_values()
    return tuple(dict.fromkeys(level_text(cell) for cell in ordered))


def numbers_of(column: pd.Series) -> Array:
    """Return the numbers (n,) of a column, with NaN for missing cells."""
    return column.to_numpy(dtype=float, na_value=np.nan)


def interpolate_between(
    cells: Array, points: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return the breakpoints below and above each cell, and its relative position between them, in [0, 1]."""
    position = np.interp(cells, points, np.arange(len(points)))
    below = np.minimum(position.astype(np.int64), max(len(points) - 2, 0))
    return below, np.minimum(below + 1, len(points) - 1), position - below


@dataclass(frozen=True, kw_only=True)
class Factor:
    """Term that uses one column.

    Parameters
    ----------
    column
        Name of the column.
    kind
        Kind of the term. :data:`LEVEL`: one value per level of a category. :data:`FIXED`: levels with fixed
        relativities and without coefficients. :data:`BAND`: one value per band of a number; a band includes
        its lower edge and excludes its upper edge. :data:`BREAKPOINT`: a piecewise linear function of a
        number, constant below the first and above the last breakpoint. Its coefficients are the steps between
        breakpoints, as in a piecewise-linear embedding (Gorishniy et al., 2022), and the difference between
        missing cells and the first breakpoint.
    cells
        Levels as text (:func:`level_text`), or the inner edges of bands or the breakpoints in ascending
        order.
    base
        Position, from 0, of the value with relativity 1.
    shares
        Share of the training rows' weight at each value; the value of missing cells is last, and the sum is
        1. The weight of a row between two breakpoints is split between both; the nearer breakpoint gets more.
    has_missing
        True if missing cells have a separate value.
    relativities
        Relativities above 0 of a fixed factor: one per level, followed by the relativity of missing cells if
        it is given. None of them needs to be 1: they are not divided by the relativity of a base.
    """

    column: str
    kind: str
    cells: tuple[Any, ...]
    base: int
    shares: tuple[float, ...]
    has_missing: bool = False
    relativities: tuple[float, ...] = ()

    @property
    def n_places(self) -> int:
        """Number of breakpoints, bands or levels; the value of missing cells is not counted."""
        return len(self.shares) - self.has_missing

    @property
    def parts(self) -> tuple[Factor, ...]:
        """Factors that the term uses."""
        return (self,)

    @property
    def of_levels(self) -> bool:
        """Return True if the factor has levels, that is, if its column is a category instead of a number."""
        return self.kind in (LEVEL, FIXED)

    @property
    def width(self) -> int:
        """Number of coefficients: one per value except the base, and none for fixed relativities."""
        return 0 if self.kind == FIXED else len(self.shares) - 1

    def places(self, table: pd.DataFrame) -> NDArray[np.int64]:
        """Return the position of each row's value or lower breakpoint, (n,), or −1 if a row has no value."""
        column = table[self.column]
        if self.of_levels:
            codes, missing = positions(column, self.cells)
        else:
            cells = numbers_of(column)
            missing = np.isnan(cells)
            if self.kind == BAND:
                codes = np.searchsorted(np.array(self.cells), cells, side="right").astype(np.int64)
            else:
                codes = interpolate_between(np.where(missing, self.cells[0], cells), self.cells)[0]
        return np.where(missing, self.n_places if self.has_missing else -1, codes)

    def matrix(self, table: pd.DataFrame) -> Array:
        """Return the design matrix, (n, width), in which a cell without a value is treated as the base."""
        if self.kind == FIXED:
            return np.empty((len(table), 0))
        if self.kind != BREAKPOINT:
            others = np.delete(np.arange(len(self.shares)), self.base)
            return (self.places(table)[:, None] == others).astype(float)
        cells = numbers_of(table[self.column])
        missing, points = np.isnan(cells), np.array(self.cells)
        # A missing cell is placed at the first breakpoint if missing cells have a value of their own,
        # otherwise at the base.
        cells = np.where(missing, points[0 if self.has_missing else self.base], cells)
        steps = np.clip((cells[:, None] - points[:-1]) / np.diff(points), 0.0, 1.0)
        return np.column_stack([steps, missing]) if self.has_missing else steps

    def values(self, coefficients: Array) -> Array:
        """Return values (K, n_values) from coefficients (K, width); the base or first breakpoint gets 0."""
        if self.kind == FIXED:
            return np.tile(np.log(self.relativities), (len(coefficients), 1))
        if self.kind != BREAKPOINT:
            return np.insert(coefficients, self.base, 0.0, axis=1)
        steps = len(self.cells) - 1
        line = np.insert(np.cumsum(coefficients[:, :steps], axis=1), 0, 0.0, axis=1)
        return np.concatenate([line, coefficients[:, steps:]], axis=1)

    def at(self, table: pd.DataFrame, values: Array) -> Array:
        """Return the contribution of each row to η, (K, n), from values (K, n_values); 0 without a value."""
        codes = self.places(table)
        values_there = np.insert(values, len(self.shares), 0.0, axis=1)[:, codes]
        if self.kind != BREAKPOINT:
            return values_there
        cells = numbers_of(table[self.column])
        missing = np.isnan(cells)
        _, above, part = interpolate_between(np.where(missing, self.cells[0], cells), self.cells)
        return np.where(missing, values_there, values_there * (1 - part) + values[:, above] * part)

    def unknown(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Return True for each row of `table` without a value, (n,)."""
        return self.places(table) < 0


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """Interaction of two columns, with one value per pair of levels or bands, added to the columns' effects.

    The value is 0 for pairs with a base level, pairs without training rows, missing cells and unknown levels.

    Parameters
    ----------
    first, second
        Factors with levels or bands; their values of missing cells are not used.
    shares
        Share of the training rows' weight in each pair, sorted by `first`, then by `second`.
    """

    first: Factor
    second: Factor
    shares: tuple[float, ...]

    @property
    def parts(self) -> tuple[Factor, ...]:
        """Factors that the term uses."""
        return self.first, self.second

    @property
    def used(self) -> NDArray[np.int64]:
        """Indices of the pairs that have a coefficient."""
        first, second = np.divmod(np.arange(len(self.shares)), self.second.n_places)
        is_free = (first != self.first.base) & (second != self.second.base) & (np.array(self.shares) > 0)
        return np.flatnonzero(is_free)

    @property
    def width(self) -> int:
        """Number of coefficients."""
        return len(self.used)

    def places(self, table: pd.DataFrame) -> NDArray[np.int64]:
        """Return the position of each row's pair, (n,), or −1 for rows without a pair."""
        first, second = self.first.places(table), self.second.places(table)
        valid = (first >= 0) & (first < self.first.n_places) & (second >= 0) & (second < self.second.n_places)
        return np.where(valid, first * self.second.n_places + second, -1)

    def matrix(self, table: pd.DataFrame) -> Array:
        """Return the design matrix, (n, width)."""
        return (self.places(table)[:, None] == self.used).astype(float)

    def values(self, coefficients: Array) -> Array:
        """Return values (K, n_values) from coefficients (K, width); value 0 if a pair has no coefficient."""
        values = np.zeros((len(coefficients), len(self.shares)))
        values[:, self.used] = coefficients
        return values

    def at(self, table: pd.DataFrame, values: Array) -> Array:
        """Return the contribution of each row to η, (K, n), from values (K, n_values); 0 without a value."""
        return np.insert(values, len(self.shares), 0.0, axis=1)[:, self.places(table)]


Term: TypeAlias = Factor | Interaction


def design(terms: Sequence[Term], table: pd.DataFrame) -> Array:
    """Return the design matrix (n, P) of a table, one block of columns per term, without an intercept."""
    blocks = blocks_of(terms)
    matrix = np.empty((len(table), blocks[-1].stop if blocks else 0))
    for term, block in zip(terms, blocks, strict=True):
        matrix[:, block] = term.matrix(table)
    return matrix


def offset(terms: Sequence[Term], table: pd.DataFrame) -> Array | None:
    """Return the logarithm of each row's product of fixed relativities, (n,), or None if there are none."""
    parts = [
        term.at(table, np.log(term.relativities)[None])[0]
        for term in terms
        if isinstance(term, Factor) and term.kind == FIXED
    ]
    return np.sum(parts, axis=0) if parts else None


def premiums(
    terms: Sequence[Term], table: pd.DataFrame, *, base: Array, values: Sequence[Array], multiplies: bool
) -> Array:
    """Return premiums of K tariffs, (K, n), from bases (K,) and values (K, n_values) of each term."""
    eta = np.repeat(base[:, None], len(table), axis=1)
    for term, of_term in zip(terms, values, strict=True):
        eta += term.at(table, of_term)
    return np.exp(eta) if multiplies else eta


def base_and_values(
    terms: Sequence[Term], *, intercept: Array, coefficients: Array, to_average: bool = False
) -> tuple[Array, list[Array]]:
    """Convert coefficients of K tariffs to bases (K,) and to values (K, n_values) of each term.

    Parameters
    ----------
    intercept, coefficients
        Intercepts (K,) and coefficients (K, P).
    to_average
        True sets each term's average over the training rows to 0; False sets the value of its base to 0.
        Values of interactions and of fixed factors remain unchanged.
    """
    base, values = intercept.copy(), []
    for term, block in zip(terms, blocks_of(terms), strict=True):
        of_term = term.values(coefficients[:, block])
        if isinstance(term, Factor) and term.kind != FIXED:
            zero = of_term @ np.array(term.shares) if to_average else of_term[:, term.base]
            base, of_term = base + zero, of_term - zero[:, None]
        values.append(of_term)
    return base, values


def blocks_of(terms: Sequence[Term]) -> list[slice]:
    """Return, for each term, the slice of its coefficients among all coefficients."""
    return [slice(*edge) for edge in pairwise(accumulate((term.width for term in terms), initial=0))]


def is_at_least(limit: float, value: Any, kind: Any = Real) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value) and value >= limit
