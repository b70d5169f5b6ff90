"""Correlations of values and of ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.ranks import mid_ranks

Array = NDArray[np.float64]


def standardised(x: Array, sample_weight: Array | None = None) -> Array:
    """Each row of a stack with mean 0 and variance 1; a constant row becomes zeros.

    Parameters
    ----------
    x : (..., n) array
        Finite values of any size: they are first brought to [0, 1], so that squares can't overflow.
    sample_weight : (..., n) array, optional
        Weights of the mean and the variance.

    Returns
    -------
    (..., n) array
    """
    low = x.min(axis=-1, keepdims=True)
    # Halved, because the range of values near the largest float would overflow.
    half_range = x.max(axis=-1, keepdims=True) / 2 - low / 2
    x = (x / 2 - low / 2) / np.where(half_range > 0, half_range, 1.0)
    share = 1 / x.shape[-1] if sample_weight is None else sample_weight / sample_weight.sum(-1, keepdims=True)
    x = x - (x * share).sum(axis=-1, keepdims=True)
    sd = np.sqrt((x * x * share).sum(axis=-1, keepdims=True))
    varies = (half_range > 0) & (sd > 0)
    return np.where(varies, x / np.where(varies, sd, 1.0), 0.0)


def pearson(u: Array, v: Array, *, sample_weight: Array | None = None) -> Array:
    """Pearson's correlation of each pair of a stack.

    Parameters
    ----------
    u, v : (K, n) arrays
    sample_weight : (K, n) array, optional

    Returns
    -------
    (K,) array
        In [−1, 1].
    """
    share = 1 / u.shape[-1] if sample_weight is None else sample_weight / sample_weight.sum(-1, keepdims=True)
    product = standardised(u, sample_weight) * standardised(v, sample_weight) * share
    return np.clip(product.sum(axis=-1), -1.0, 1.0)


def pearson_permuted(u: Array, v: Array, permutations: NDArray[np.intp]) -> Array:
    """Pearson's correlation of u with each permutation of v: ``(K, n), (K, n), (B, n) -> (K, B)``."""
    return _product_permuted(standardised(u), standardised(v), permutations)


def spearman(u: Array, v: Array, *, sample_weight: Array | None = None) -> Array:
    """Spearman's correlation: Pearson's of the mid-ranks; ``(K, n), (K, n) -> (K,)`` in [−1, 1]."""
    return pearson(mid_ranks(u, sample_weight), mid_ranks(v, sample_weight), sample_weight=sample_weight)


def spearman_permuted(u: Array, v: Array, permutations: NDArray[np.intp]) -> Array:
    """Spearman's correlation of u with each permutation of v: ``(K, n), (K, n), (B, n) -> (K, B)``."""
    return pearson_permuted(mid_ranks(u), mid_ranks(v), permutations)


def _product_permuted(u: Array, v: Array, permutations: NDArray[np.intp]) -> Array:
    result = np.empty((len(u), len(permutations)))
    for column, permutation in enumerate(permutations):
        result[:, column] = np.einsum("kn,kn->k", u, v[:, permutation]) / u.shape[-1]
    return np.clip(result, -1.0, 1.0)


def kendall(u: Array, v: Array) -> Array:
    """Kendall's τ_b of each pair, by scipy; ``(K, n), (K, n) -> (K,)`` in [−1, 1]."""
    from scipy.stats import kendalltau

    return np.array([kendalltau(a, b).statistic for a, b in zip(u, v, strict=True)])
