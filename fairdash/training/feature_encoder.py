"""Encode a table's columns as a network's inputs; the encoder is plain data.

>>> import pandas as pd
>>> policies = pd.DataFrame({"rooms": [1.0, 3.0, None], "roof": ["tile", "slate", "tile"]})
>>> encoder = FeatureEncoder.fit(policies)
>>> encoder.transform(policies).round(2).tolist()
[[-1.22, 0.0, 1.0], [1.22, 1.0, 0.0], [0.0, 0.0, 1.0]]

Gorishniy, Rubachev and Babenko (2022), “On embeddings for numerical features in tabular deep learning”. Each
function is linear between knots and constant beyond them, so two arrays describe it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.training.losses import Loss
from fairdash.utils.rounding import settled, varies


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureEncoder:
    """Encoder of columns as numbers, fitted on training rows; numeric outputs come first.

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
        at m knots each, as :mod:`fairdash.training.feature_encoder` has them; None for no such functions.
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
        """Fit the encoder to `features`, (n, p).

        Medians, means and scales come from `rows` alone, all of them if None. The levels are those of a
        column's categorical dtype, or of the whole column: every split of a table then has the same width
        (K models of one shape), whatever levels its training rows hold.

        Parameters
        ----------
        sample_weight
            Weights of the rows learned from; a weight of 2 counts a row twice.
        embedding
            Id in :data:`EMBEDDINGS`; None to see a number as it is and no more.
        """
        numbers = [c for c, dtype in features.dtypes.items() if pd.api.types.is_numeric_dtype(dtype)]
        categories = [c for c in features.columns if c not in numbers]
        learned = features if rows is None else features.iloc[rows]
        table = _numbers(learned, numbers)
        median = np.array([_median(column, sample_weight) for column in table.T])
        mass = np.ones(len(table)) if sample_weight is None else sample_weight
        table = settled(np.where(np.isnan(table), median, table).T, mass).T
        share = (mass / mass.sum())[:, None]
        mean = (share * table).sum(axis=0)
        spread = (share * (table - mean) ** 2).sum(axis=0) ** 0.5
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
            # A constant column is not rescaled, nor is one whose variation is rounding.
            scale=np.where(varies(table.T, mass) & (spread > 0), spread, 1.0),
            categories=tuple(categories),
            levels=tuple(tuple(features[c].astype("category").cat.categories.tolist()) for c in categories),
        )

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """Columns that the encoder uses."""
        return self.numbers + self.categories

    @property
    def blocks(self) -> dict[Hashable, slice]:
        """Outputs of each column, as a slice of the outputs of :meth:`transform`."""
        of_number = 1 if self.heights is None else 1 + self.heights.shape[2]
        widths = [of_number] * len(self.numbers) + [len(levels) for levels in self.levels]
        edges = np.cumsum([0, *widths]).tolist()
        return {
            column: slice(*edge) for column, edge in zip(self.columns, itertools.pairwise(edges), strict=True)
        }

    def transform(self, features: pd.DataFrame) -> NDArray[np.float64]:
        """Encode a table, (n, p): numbers first, then levels. Extra columns, and any order, are allowed."""
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
        """Count cells with an unknown level, by column; columns without any are left out."""
        counts = {
            column: int(((_codes(features[column], levels) < 0) & features[column].notna()).sum())
            for column, levels in zip(self.categories, self.levels, strict=True)
        }
        return {column: count for column, count in counts.items() if count}


def _numbers(features: pd.DataFrame, columns: Sequence[Hashable]) -> NDArray[np.float64]:
    """Return the named columns as (n, q) float64, NaN where a cell is missing."""
    if not len(columns):
        return np.empty((len(features), 0))
    # All columns at once: to look one up by its name takes longer than to read a thousand cells. Row by row
    # in memory, so that sums do not depend on how the frame keeps its columns.
    return np.ascontiguousarray(features[list(columns)].to_numpy(dtype=float, na_value=np.nan))


def _embedded(
    embedding: str, column: NDArray[np.float64], mass: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Knots (m,) and heights (m, d) for a column (n,) whose rows weigh `mass`."""
    values, which = np.unique(column, return_inverse=True)
    share = np.bincount(which, weights=mass) / mass.sum()
    return EMBEDDINGS[embedding](values, share)


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


@dataclass(frozen=True)
class TargetScale:
    """Scale of the target in the units of a loss, ``(y - shift) / unit``, and its inverse.

    Squared error has the training rows' mean 0 and standard deviation 1; the losses with a log link have
    mean 1, since only a factor leaves a deviance's meaning alone.
    """

    shift: float
    unit: float

    @classmethod
    def of(cls, y: NDArray[np.float64], loss: Loss, sample_weight: NDArray[np.float64] | None) -> TargetScale:
        """Fit the scale to training rows, (n,); a constant target keeps its own unit."""
        mean = float(np.average(y, weights=sample_weight))
        if loss.has_log_link:
            return cls(0.0, mean if mean > 0 else 1.0)
        sd = float(np.average((y - mean) ** 2, weights=sample_weight) ** 0.5)
        return cls(mean, sd if varies(y, sample_weight) and sd > 0 else 1.0)

    def apply(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return (y - self.shift) / self.unit

    def undo(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return y * self.unit + self.shift


@dataclass(frozen=True)
class EncodedRows:
    """Rows of a data set, scaled by one split's training rows.

    Parameters
    ----------
    x
        (n, p) float32.
    y
        (n,) target in the loss's units.
    target_scale
        The way back.
    encoder
        Where the columns of x come from.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float64]
    target_scale: TargetScale
    encoder: FeatureEncoder


def encode_rows(
    dataset: Dataset, train: NDArray[np.int64], loss: Loss, *, embedding: str | None = None
) -> EncodedRows:
    """Encode every row, fitted on the rows `train` only; see the encoder for `embedding`."""
    weight = None if dataset.weight is None else dataset.weight.to_numpy()[train]
    encoder = FeatureEncoder.fit(dataset.features, rows=train, sample_weight=weight, embedding=embedding)
    y = dataset.target.to_numpy(dtype=float)
    scale = TargetScale.of(y[train], loss, weight)
    # Row by row in memory, as batches are drawn.
    x = np.ascontiguousarray(encoder.transform(dataset.features), dtype=np.float32)
    return EncodedRows(x, scale.apply(y), scale, encoder)


Array = NDArray[np.float64]

#: Knots of the normal scores, bins of the piecewise-linear encoding.
_KNOTS, _BINS = 33, 8


def evaluate(numbers: Array, knots: Array, heights: Array) -> Array:
    """Evaluate d functions for each of q columns: (n, q), (q, m) and (q, m, d) to (n, q, d)."""
    found = np.empty((*numbers.shape, heights.shape[2]))
    for j, (column, at) in enumerate(zip(numbers.T, knots, strict=True)):
        for k, values in enumerate(heights[j].T):
            found[:, j, k] = np.interp(column, at, values)
    return found


def _middles(share: Array) -> Array:
    """Mid-ranks of the values from 0 to 1: the share of the rows below, and half of those at it."""
    return np.cumsum(share) - share / 2


def _scores(values: Array, share: Array) -> tuple[Array, Array]:
    """Normal scores of the mid-ranks, with mean 0 and variance 1 over the rows: no outlier, no skew."""
    from scipy.special import ndtri

    middle = _middles(share)
    chosen = np.minimum(np.searchsorted(middle, np.linspace(0, 1, _KNOTS) - 1e-9), len(values) - 1)
    knots = values[chosen]
    heights = ndtri(middle[chosen])
    reached = np.interp(values, knots, heights)
    mean = share @ reached
    spread = (share @ (reached - mean) ** 2) ** 0.5
    return knots, ((heights - mean) / (spread if spread > 1e-9 else 1.0))[:, None]


def _bins(values: Array, share: Array) -> tuple[Array, Array]:
    """A function a bin between quantiles: 0 below it, 1 above, linear within; less its mean over the rows."""
    edges = np.searchsorted(_middles(share), np.arange(1, _BINS) / _BINS - 1e-9)
    knots = values[np.concatenate([[0], np.minimum(edges, len(values) - 1), [len(values) - 1]])]
    heights = (np.arange(_BINS + 1)[:, None] > np.arange(_BINS)).astype(float)
    # At repeated knots the functions jump, which separates a heap of equal numbers from those below it.
    reached = np.stack([np.interp(values, knots, column) for column in heights.T], axis=1)
    return knots, heights - share @ reached


#: Embeddings by name. Each gets the different values (u,) of a column, rising, and their shares (u,) of the
#: rows, and gives knots (m,) and the functions' values there, (m, d); m and d are the same for every column.
EMBEDDINGS: Mapping[str, Callable[[Array, Array], tuple[Array, Array]]] = MappingProxyType(
    {"scores": _scores, "bins": _bins}
)
