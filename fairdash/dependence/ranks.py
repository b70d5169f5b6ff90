"""Mid-ranks of stacks and their normal scores, with or without weights: equal values share a rank, so the
order of the rows cannot matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Ranks keep this distance from 0 and 1: a weight may be too small to separate its row's rank from them.
_FROM_THE_END = 1e-12


def mid_ranks(
    x: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the share of rows below plus half the share of equal rows: the mid-distribution function.

    Parameters
    ----------
    x : (..., n) array
        Values; ties get the same rank whatever the order of the rows.
    sample_weight : (..., n) array, optional
        Non-negative weights. A weight of 2 counts as two copies of the row.

    Returns
    -------
    (..., n) array
        Numbers in (0, 1) with (weighted) mean one half.
    """
    shape = x.shape
    n = shape[-1]
    # A stack of one variable, with several weights, is sorted once.
    flat = x[:1] if x.ndim == 2 and x.strides[0] == 0 else x.reshape(-1, n)
    order = np.argsort(flat, axis=-1)
    ordered = np.take_along_axis(flat, order, axis=-1)
    if sample_weight is None:
        ends = np.broadcast_to(np.arange(1.0, n + 1.0) / n, flat.shape)
    else:
        weight = np.broadcast_to(sample_weight, shape).reshape(-1, n)
        ends = np.cumsum(np.take_along_axis(weight, order, axis=-1), axis=-1)
        ends = ends / ends[:, -1:]
    # A run of equal values extends from the end of the previous run to its own end.
    last = np.ones(flat.shape, dtype=bool)
    last[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
    first = np.ones(flat.shape, dtype=bool)
    first[:, 1:] = last[:, :-1]
    index = np.broadcast_to(np.arange(n), flat.shape)
    run_start = np.maximum.accumulate(np.where(first, index, 0), axis=-1)
    run_end = np.minimum.accumulate(np.where(last, index, n - 1)[:, ::-1], axis=-1)[:, ::-1]
    upper = np.take_along_axis(ends, run_end, axis=-1)
    lower = np.where(run_start > 0, np.take_along_axis(ends, np.maximum(run_start - 1, 0), axis=-1), 0.0)
    ranks = np.empty(ends.shape)
    np.put_along_axis(ranks, order, (lower + upper) / 2, axis=-1)
    return np.broadcast_to(ranks, shape) if ranks.size < x.size else ranks.reshape(shape)


def normal_scores(
    x: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return Φ⁻¹ of the (weighted) mid-ranks, which lie in (0, 1); ``(..., n) -> (..., n)``."""
    from scipy.special import ndtri

    ranks = np.clip(mid_ranks(x, sample_weight), _FROM_THE_END, 1 - _FROM_THE_END)
    scores: NDArray[np.float64] = ndtri(ranks)
    return scores


def quantiles(
    x: NDArray[np.float64], weight: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return, for each share in [0, 1], the smallest of the values (n,) with at least that share of the
    weight (n,) at or below it; zeros if there are no values.

    >>> quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 1.0]))
    array([1., 2., 3.])
    """
    if not len(x):
        return np.zeros(len(shares))
    found: NDArray[np.float64] = np.quantile(x, shares, weights=weight, method="inverted_cdf")
    return found
