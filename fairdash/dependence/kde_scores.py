"""HGR_KDE of normal scores: kernels as wide as the spread of the ranks, whatever the tails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.kde import hgr_kde, hgr_kde_permuted
from fairdash.dependence.ranks import mid_ranks

Array = NDArray[np.float64]

#: Ranks are kept so far from 0 and 1: a weight may be too small to part its row's rank from them.
_FROM_THE_END = 1e-12


def hgr_kde_scores(u: Array, v: Array, *, sample_weight: Array | None = None) -> Array:
    """HGR_KDE of Φ⁻¹(rank of u) and Φ⁻¹(rank of v), for each pair of a stack.

    HGR does not change under increasing maps of u or of v; its kernel estimate on raw values does, since one
    bandwidth of n^(−1/6) standard deviations is too wide for the bulk of a heavy-tailed variable and too
    narrow for its tail. Normal scores (van der Waerden) have the same law whatever the data.

    Parameters
    ----------
    u, v : (K, n) arrays
        Only their mid-ranks count; ties share one.
    sample_weight : (K, n) array, optional
        Non-negative; ranks are weighted too.

    Returns
    -------
    (K,) array
        In [0, 1]; 0 for independence, 1 for a deterministic link that the bandwidth resolves.
    """
    values: Array = hgr_kde(
        normal_scores(u, sample_weight), normal_scores(v, sample_weight), sample_weight=sample_weight
    )
    return values


def hgr_kde_scores_permuted(u: Array, v: Array, permutations: NDArray[np.intp]) -> Array:
    """:func:`hgr_kde_scores` of u with each permutation of v; ``(K, n), (K, n), (B, n) -> (K, B)``."""
    values: Array = hgr_kde_permuted(normal_scores(u), normal_scores(v), permutations)
    return values


def normal_scores(x: Array, sample_weight: Array | None = None) -> Array:
    """Φ⁻¹ of the (weighted) mid-ranks, which lie in (0, 1); ``(..., n) -> (..., n)``."""
    from scipy.special import ndtri

    scores: Array = ndtri(np.clip(mid_ranks(x, sample_weight), _FROM_THE_END, 1 - _FROM_THE_END))
    return scores
