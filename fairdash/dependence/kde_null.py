"""Kernel measures of permuted pairs with weights, by the distinct values alone.

Where weights move, so do the weighted mean and spread of a margin, and with them its grid; so
:func:`fairdash.dependence.kde.hgr_kde_permuted` does not hold. But a margin that keeps its weights keeps its
kernels, and of the other one kernels are needed at its distinct values only: the joint density is
f(distinct u) · (weight of each pair of values) · g(distinct v)ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.kde import DAMPING, Grid, chi2_kde, chi2_of, hgr_kde, hgr_of, kernels_at

Array = NDArray[np.float64]

#: More pairs of distinct values a row than these, and all rows are quicker.
_MOST_PAIRS = 100


def hgr_kde_permuted(
    u: Array,
    v: Array,
    permutations: NDArray[np.intp],
    *,
    sample_weight: Array,
    weight_moves: bool,
    grid: Grid = "cover",
) -> Array:
    """:func:`fairdash.dependence.kde.hgr_kde` of u with each permutation of v.

    Parameters
    ----------
    u, v : (K, n) array
    permutations : (B, n) array
        Orders of the rows; a row may come several times.
    sample_weight : (K, n) array
        All above 0.
    weight_moves
        Whether the weight goes with v, or stays with u.

    Returns
    -------
    (K, B) array
    """
    damping = DAMPING if grid == "published" else 0.0
    return _permuted(hgr_kde, hgr_of, damping, u, v, permutations, sample_weight, weight_moves, grid)


def chi2_kde_permuted(
    u: Array,
    v: Array,
    permutations: NDArray[np.intp],
    *,
    sample_weight: Array,
    weight_moves: bool,
    grid: Grid = "cover",
) -> Array:
    """:func:`fairdash.dependence.kde.chi2_kde` likewise."""
    return _permuted(chi2_kde, chi2_of, 0.0, u, v, permutations, sample_weight, weight_moves, grid)


def _permuted(
    measure: Callable[..., Any],
    value: Callable[..., Any],
    damping: float,
    u: Array,
    v: Array,
    permutations: NDArray[np.intp],
    sample_weight: Array,
    weight_moves: bool,
    grid: Grid,
) -> Array:
    found = np.empty((len(u), len(permutations)))
    for k in range(len(u)):
        a, place_a = np.unique(u[k], return_inverse=True)
        b, place_b = np.unique(v[k], return_inverse=True)
        weight = sample_weight[k] / sample_weight[k].sum()
        if len(a) * len(b) > _MOST_PAIRS * u.shape[1]:
            for j, order in enumerate(permutations):
                own = weight[order] if weight_moves else weight
                found[k, j] = measure(u[k], v[k][order], sample_weight=own, grid=grid)
            continue
        f = g = last_a = last_b = np.empty(0)
        for j, order in enumerate(permutations):
            own = weight[order] if weight_moves else weight
            pairs = np.bincount(place_a * len(b) + place_b[order], weights=own, minlength=len(a) * len(b))
            pairs = pairs.reshape(len(a), len(b))
            # Where rows come several times others do not, and the grid reaches over those that do.
            there = pairs.any(axis=0)
            pairs = pairs[:, there]
            n_effective = own.sum() ** 2 / (own**2).sum()
            # The margin that keeps its weights differs from the last by rounding alone.
            of_a, of_b = pairs.sum(axis=1), pairs.sum(axis=0)
            if not len(f) or not np.allclose(of_a, last_a, rtol=1e-9, atol=0):
                f, last_a = kernels_at(np, a, of_a, n_effective, grid), of_a
            alike = len(of_b) == len(last_b) and np.allclose(of_b, last_b, rtol=1e-9, atol=0)
            if not (alike and there.all()):
                g, last_b = kernels_at(np, b[there], of_b, n_effective, grid), of_b
            joint = np.linalg.multi_dot((f, pairs, g.T)) / pairs.sum() / len(own) + damping
            found[k, j] = value(np, joint / joint.sum())
    return found
