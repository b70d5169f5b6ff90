"""Encoder that converts the columns of a table to inputs of a network, and contains only plain data.

>>> import pandas as pd
>>> policies = pd.DataFrame({"rooms": [1.0, 3.0, None], "roof": ["tile", "slate", "tile"]})
>>> encoder = FeatureEncoder.fit(policies)
>>> encoder.transform(policies).round(2).tolist()
[[-1.22, 0.0, 1.0], [1.22, 1.0, 0.0], [0.0, 0.0, 1.0]]

Embeddings of numbers follow Gorishniy, Rubachev and Babenko (2022), “On embeddings for numerical features in
tabular deep learning”. Each embedding function is linear between knots and constant beyond the outer knots,
so it is stored as its knots and its values at the knots.
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
from fairdash.utils.rounding import restore_ties, varies


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureEncoder:
    """Encoder that converts columns to numbers; the outputs of numeric columns come first.

    Parameters
    ----------
    numbers
        Names of the q numeric columns, including booleans.
    median
        Medians (q,), which replace missing cells.
    mean, scale
        Means and standard deviations (q,) on the training rows. A number x becomes ``(x - mean) / scale``.
    categories
        Names of the categorical and text columns.
    levels
        Levels of each categorical column. Every level has an output column. If a cell is missing or has an
        unknown level, all output columns of the categorical column are 0.
    knots, heights
        Knots (q, m) and values at the knots (q, m, d) of d embedding functions per number
        (:mod:`fairdash.training.feature_encoder`), or None without an embedding.
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
        """Fit the encoder to the features (n, p) of a table.

        Medians, means and scales are computed from the rows with numbers `rows`, or from all rows if it is
        None. The levels of a column are the categories of its dtype or, for other dtypes, all values in the
        column. The encoders of all splits therefore have the same number of outputs, even if the training
        rows of a split lack some levels. This allows the models of all splits to be trained together.

        Parameters
        ----------
        sample_weight
            Weights of the rows to fit; a row of weight 2 counts as two rows.
        embedding
            Id in :data:`EMBEDDINGS`, or None to only standardise numbers.
        """
        numbers = [c for c, dtype in features.dtypes.items() if pd.api.types.is_numeric_dtype(dtype)]
        categories = [c for c in features.columns if c not in numbers]
        learned = features if rows is None else features.iloc[rows]
        table = _numbers(learned, numbers)
        median = np.array([_median(column, sample_weight) for column in table.T])
        mass = np.ones(len(table)) if sample_weight is None else sample_weight
        table = restore_ties(np.where(np.isnan(table), median, table).T, mass).T
        share = (mass / mass.sum())[:, None]
        mean = (share * table).sum(axis=0)
        spread = (share * (table - mean) ** 2).sum(axis=0) ** 0.5
        knots, heights = None, None
        if embedding is not None and numbers:
            encodings = [_embedded(embedding, column, mass) for column in table.T]
            knots, heights = (np.stack(parts) for parts in zip(*encodings, strict=True))
        return cls(
            knots=knots,
            heights=heights,
            numbers=tuple(numbers),
            median=median,
            mean=mean,
            # The scale is 1 for columns that are constant up to rounding.
            scale=np.where(varies(table.T, mass) & (spread > 0), spread, 1.0),
            categories=tuple(categories),
            levels=tuple(tuple(features[c].astype("category").cat.categories.tolist()) for c in categories),
        )

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """Return the names of the columns of a table that the encoder uses."""
        return self.numbers + self.categories

    @property
    def blocks(self) -> dict[Hashable, slice]:
        """Return, for each column, the slice of its outputs among the outputs of :meth:`transform`."""
        of_number = 1 if self.heights is None else 1 + self.heights.shape[2]
        widths = [of_number] * len(self.numbers) + [len(levels) for levels in self.levels]
        edges = np.cumsum([0, *widths]).tolist()
        return {
            column: slice(*edge) for column, edge in zip(self.columns, itertools.pairwise(edges), strict=True)
        }

    def transform(self, features: pd.DataFrame) -> NDArray[np.float64]:
        """Encode a table (n, p), which may have additional columns and a different order of columns."""
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
        """Count the cells with an unknown level in each column; columns without such cells are omitted."""
        counts = {
            column: int(((_codes(features[column], levels) < 0) & features[column].notna()).sum())
            for column, levels in zip(self.categories, self.levels, strict=True)
        }
        return {column: count for column, count in counts.items() if count}


def _numbers(features: pd.DataFrame, columns: Sequence[Hashable]) -> NDArray[np.float64]:
    """Return the named columns as float64, (n, q), with NaN for missing cells."""
    if not len(columns):
        return np.empty((len(features), 0))
    # One call selects all columns, because the selection of a column by name takes longer than reading 1,000
    # cells. The array is stored row by row. Rounding in sums then does not depend on how the frame is stored.
    return np.ascontiguousarray(features[list(columns)].to_numpy(dtype=float, na_value=np.nan))


def _embedded(
    embedding: str, column: NDArray[np.float64], mass: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the knots (m,) and values at the knots (m, d) of an embedding of a column (n,)."""
    values, which = np.unique(column, return_inverse=True)
    share = np.bincount(which, weights=mass) / mass.sum()
    return EMBEDDINGS[embedding](values, share)


def _codes(column: pd.Series, levels: tuple[Any, ...]) -> NDArray[np.int64]:
    """Return the position of each cell among `levels`, or -1 for unknown levels and missing cells."""
    return pd.Index(levels, dtype=object).get_indexer(pd.Index(column.astype(object)))


def _median(column: NDArray[np.float64], sample_weight: NDArray[np.float64] | None) -> float:
    """Return the weighted median of the cells that are not missing, or 0 if all cells are missing."""
    not_missing = ~np.isnan(column)
    if not not_missing.any():
        return 0.0
    if sample_weight is None:
        return float(np.median(column[not_missing]))
    order = np.argsort(column[not_missing], kind="stable")
    values, mass = column[not_missing][order], np.cumsum(sample_weight[not_missing][order])
    half_mass = mass[-1] / 2
    below, above = (
        np.searchsorted(mass, half_mass, side="left"),
        np.searchsorted(mass, half_mass, side="right"),
    )
    return float((values[below] + values[min(above, len(values) - 1)]) / 2)


@dataclass(frozen=True)
class TargetScale:
    """Conversion of the target to the units of a loss, ``(y - shift) / unit``, and back.

    For squared error, the scaled target has mean 0 and standard deviation 1 on the training rows. For losses
    with a log link, the scaled target has mean 1 and the shift is 0, because a shift would change the meaning
    of a deviance.
    """

    shift: float
    unit: float

    @classmethod
    def of(cls, y: NDArray[np.float64], loss: Loss, sample_weight: NDArray[np.float64] | None) -> TargetScale:
        """Fit the conversion to training targets (n,); with squared error, a constant target has unit 1."""
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
    """Encoded rows of a data set, with an encoder that was fitted to the training rows of one split.

    Parameters
    ----------
    x
        Inputs (n, p), float32.
    y
        Target (n,) in the units of the loss.
    target_scale
        Conversion between the units of the target and those of the loss.
    encoder
        Encoder that computed the inputs x.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float64]
    target_scale: TargetScale
    encoder: FeatureEncoder


def encode_rows(
    dataset: Dataset, train: NDArray[np.int64], loss: Loss, *, embedding: str | None = None
) -> EncodedRows:
    """Encode all rows with an encoder that is fitted to the rows `train` with an `embedding`."""
    weight = None if dataset.weight is None else dataset.weight.to_numpy()[train]
    encoder = FeatureEncoder.fit(dataset.features, rows=train, sample_weight=weight, embedding=embedding)
    y = dataset.target.to_numpy(dtype=float)
    scale = TargetScale.of(y[train], loss, weight)
    # Each row is contiguous in memory, because mini-batches select whole rows.
    x = np.ascontiguousarray(encoder.transform(dataset.features), dtype=np.float32)
    return EncodedRows(x, scale.apply(y), scale, encoder)


Array = NDArray[np.float64]

#: `_KNOTS` is the number of knots of the normal scores.
#: `_BINS` is the number of bins of the piecewise-linear encoding.
_KNOTS, _BINS = 33, 8


def evaluate(numbers: Array, knots: Array, heights: Array) -> Array:
    """Return the values (n, q, d) of d embedding functions for each of q columns (n, q) of numbers."""
    result = np.empty((*numbers.shape, heights.shape[2]))
    for j, (column, knot) in enumerate(zip(numbers.T, knots, strict=True)):
        for k, values in enumerate(heights[j].T):
            result[:, j, k] = np.interp(column, knot, values)
    return result


def _mid_ranks(share: Array) -> Array:
    """Return the mid-ranks in [0, 1]: the share of smaller values plus half the share of equal values."""
    return np.cumsum(share) - share / 2


def _scores(values: Array, share: Array) -> tuple[Array, Array]:
    """Return an embedding with one function: normal scores of mid-ranks, scaled to mean 0 and variance 1."""
    from scipy.special import ndtri

    mid_ranks = _mid_ranks(share)
    chosen = np.minimum(np.searchsorted(mid_ranks, np.linspace(0, 1, _KNOTS) - 1e-9), len(values) - 1)
    knots = values[chosen]
    heights = ndtri(mid_ranks[chosen])
    normal = np.interp(values, knots, heights)
    mean = share @ normal
    spread = (share @ (normal - mean) ** 2) ** 0.5
    return knots, ((heights - mean) / (spread if spread > 1e-9 else 1.0))[:, None]


def _bins(values: Array, share: Array) -> tuple[Array, Array]:
    """Return one function per quantile bin: 0 below the bin, 1 above it, linear within it, then centred."""
    edges = np.searchsorted(_mid_ranks(share), np.arange(1, _BINS) / _BINS - 1e-9)
    knots = values[np.concatenate([[0], np.minimum(edges, len(values) - 1), [len(values) - 1]])]
    heights = (np.arange(_BINS + 1)[:, None] > np.arange(_BINS)).astype(float)
    # At a repeated knot, a function jumps, so a frequent number is encoded differently from smaller numbers.
    at_values = np.stack([np.interp(values, knots, column) for column in heights.T], axis=1)
    return knots, heights - share @ at_values


#: Embeddings by name. Each embedding is computed from the distinct values (u,) of a column in ascending order
#: and the shares of rows (u,) with these values. It returns knots (m,) and the values of d functions at the
#: knots, (m, d), with the same m and d for all columns.
EMBEDDINGS: Mapping[str, Callable[[Array, Array], tuple[Array, Array]]] = MappingProxyType(
    {"scores": _scores, "bins": _bins}
)
