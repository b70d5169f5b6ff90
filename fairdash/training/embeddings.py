"""What a network sees of a number beside the number itself: piecewise-linear functions of it.

Gorishniy, Rubachev and Babenko (2022), “On embeddings for numerical features in tabular deep learning”.
Each function is known by its values at knots, is linear between them and constant beyond, so that a fitted
one is two arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Knots of the normal scores, bins of the piecewise-linear encoding.
_KNOTS, _BINS = 33, 8


@dataclass(frozen=True, kw_only=True)
class Embedding:
    """One way to embed a number.

    Parameters
    ----------
    id
        Name in the API.
    title
        Name for people.
    fit
        From the different values (u,) of a column, rising, and their shares (u,) of the rows to knots (m,)
        and the functions' values there (m, d); m and d are the same for every column.
    """

    id: str
    title: str
    fit: Callable[[Array, Array], tuple[Array, Array]]


def evaluate(numbers: Array, knots: Array, heights: Array) -> Array:
    """The d functions of each of q columns: (n, q), (q, m) and (q, m, d) to (n, q, d)."""
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
    # At knots that coincide the functions jump: a heap of equal numbers is told from those below it.
    reached = np.stack([np.interp(values, knots, column) for column in heights.T], axis=1)
    return knots, heights - share @ reached


EMBEDDINGS: Mapping[str, Embedding] = MappingProxyType(
    {
        embedding.id: embedding
        for embedding in (
            Embedding(id="scores", title="Normal scores of the ranks", fit=_scores),
            Embedding(id="bins", title="Piecewise-linear encoding", fit=_bins),
        )
    }
)
