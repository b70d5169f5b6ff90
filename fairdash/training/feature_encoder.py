"""From a table's columns to the numbers that a network sees: a fitted encoder as plain data.

>>> import pandas as pd
>>> policies = pd.DataFrame({"rooms": [1.0, 3.0, None], "roof": ["tile", "slate", "tile"]})
>>> encoder = FeatureEncoder.fit(policies)
>>> encoder.transform(policies).round(2).tolist()
[[-1.22, 0.0, 1.0], [1.22, 1.0, 0.0], [0.0, 0.0, 1.0]]
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.training.embeddings import EMBEDDINGS, evaluate


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureEncoder:
    """How each column becomes numbers, learned from training rows; the output has the numbers first.

    Parameters
    ----------
    numbers
        Names of the q columns of numbers, booleans among them.
    median
        (q,) what stands in for a missing cell.
    mean, scale
        (q,) a cell x becomes ``(x - mean) / scale``: mean 0 and standard deviation 1 on the training rows.
    categories
        Names of the columns of categories and text.
    levels
        The levels of each, one output column a level. A missing cell is zero in all of them, and so is a
        level that is not known.
    knots, heights
        (q, m) and (q, m, d): d functions of each number, seen beside its standardised value, by their values
        at m knots each, as :mod:`fairdash.training.embeddings` has them; None for no such functions.
    """

    numbers: tuple[Hashable, ...]
    median: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    categories: tuple[Hashable, ...]
    levels: tuple[tuple[Any, ...], ...]
    knots: NDArray[np.float64] | None = None
    heights: NDArray[np.float64] | None = None

    @classmethod
    def fit(
        cls,
        features: pd.DataFrame,
        *,
        rows: NDArray[np.int64] | None = None,
        sample_weight: NDArray[np.float64] | None = None,
        embedding: str | None = None,
    ) -> FeatureEncoder:
        """Learn from `features`, (n, p).

        Medians, means and scales come from `rows` alone, all of them if None. The levels are those of a
        column's categorical dtype, or of the whole column: every split of a table then has the same width
        (K models of one shape), whatever levels its training rows hold.

        Parameters
        ----------
        sample_weight
            Weights of the rows learned from; a weight of 2 counts a row twice.
        embedding
            Id in :data:`fairdash.training.embeddings.EMBEDDINGS`; None to see a number as it is and no more.
        """
        numbers = [c for c in features.columns if pd.api.types.is_numeric_dtype(features[c].dtype)]
        categories = [c for c in features.columns if c not in numbers]
        learned = features if rows is None else features.iloc[rows]
        table = _numbers(learned, numbers)
        median = np.array([_median(column, sample_weight) for column in table.T])
        table = np.where(np.isnan(table), median, table)
        mass = np.ones(len(table)) if sample_weight is None else sample_weight
        share = (mass / mass.sum())[:, None]
        mean = (share * table).sum(axis=0)
        spread = (share * (table - mean) ** 2).sum(axis=0) ** 0.5
        # A constant column keeps its unit, and so does one that only rounding varies.
        varies = spread > len(table) * np.finfo(float).eps * np.abs(mean)
        knots, heights = None, None
        if embedding is not None and numbers:
            fitted = [_embedded(embedding, column, mass) for column in table.T]
            knots, heights = (np.stack(parts) for parts in zip(*fitted, strict=True))
        return cls(
            knots=knots,
            heights=heights,
            numbers=tuple(numbers),
            median=median,
            mean=mean,
            scale=np.where(varies, spread, 1.0),
            categories=tuple(categories),
            levels=tuple(tuple(features[c].astype("category").cat.categories.tolist()) for c in categories),
        )

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The columns that are looked at."""
        return self.numbers + self.categories

    @property
    def blocks(self) -> dict[Hashable, slice]:
        """Each column's outputs, as a slice of those of :meth:`transform`."""
        of_number = 1 if self.heights is None else 1 + self.heights.shape[2]
        widths = [of_number] * len(self.numbers) + [len(levels) for levels in self.levels]
        edges = np.cumsum([0, *widths]).tolist()
        return {
            column: slice(*edge) for column, edge in zip(self.columns, itertools.pairwise(edges), strict=True)
        }

    def transform(self, features: pd.DataFrame) -> NDArray[np.float64]:
        """Encode a table, (n, p): each number, then each level. It may have more columns, in any order."""
        table = _numbers(features, self.numbers)
        table = np.where(np.isnan(table), self.median, table)
        parts = [(table - self.mean) / self.scale]
        if self.knots is not None and self.heights is not None:
            functions = evaluate(table, self.knots, self.heights)
            parts = [np.concatenate([parts[0][:, :, None], functions], axis=2).reshape(len(table), -1)]
        for column, levels in zip(self.categories, self.levels, strict=True):
            codes = _codes(features[column], levels)
            parts.append((codes[:, None] == np.arange(len(levels))).astype(float))
        return np.concatenate(parts, axis=1)

    def unknown_levels(self, features: pd.DataFrame) -> dict[Hashable, int]:
        """How many cells of each column hold a level that is not known; columns without any left out."""
        counts = {
            column: int(((_codes(features[column], levels) < 0) & features[column].notna()).sum())
            for column, levels in zip(self.categories, self.levels, strict=True)
        }
        return {column: count for column, count in counts.items() if count}


def _numbers(features: pd.DataFrame, columns: Sequence[Hashable]) -> NDArray[np.float64]:
    """The named columns as (n, q) float64, NaN where a cell is missing."""
    cells = [features[c].to_numpy(dtype=float, na_value=np.nan) for c in columns]
    return np.stack(cells, axis=1) if cells else np.empty((len(features), 0))


def _embedded(
    embedding: str, column: NDArray[np.float64], mass: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Knots (m,) and heights (m, d) for a column (n,) whose rows weigh `mass`."""
    values, which = np.unique(column, return_inverse=True)
    share = np.bincount(which, weights=mass) / mass.sum()
    return EMBEDDINGS[embedding].fit(values, share)


def _codes(column: pd.Series, levels: tuple[Any, ...]) -> NDArray[np.int64]:
    """Position of each cell among the levels, -1 for none of them."""
    return pd.Index(levels, dtype=object).get_indexer(pd.Index(column.astype(object)))


def _median(column: NDArray[np.float64], sample_weight: NDArray[np.float64] | None) -> float:
    """Weighted median of the cells that are there, the middle of two where the mass parts; else 0."""
    there = ~np.isnan(column)
    if not there.any():
        return 0.0
    if sample_weight is None:
        return float(np.median(column[there]))
    order = np.argsort(column[there], kind="stable")
    values, mass = column[there][order], np.cumsum(sample_weight[there][order])
    middle = mass[-1] / 2
    below, above = np.searchsorted(mass, middle, side="left"), np.searchsorted(mass, middle, side="right")
    return float((values[below] + values[min(above, len(values) - 1)]) / 2)
