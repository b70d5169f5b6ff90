"""Mutual information by k nearest neighbours (Kraskov, Stögbauer and Grassberger 2004)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import standardised
from fairdash.errors import OptionError

Array = NDArray[np.float64]


def mi_ksg(u: Array, v: Array, *, n_neighbours: int = 3) -> Array:
    """Mutual information of each pair of a stack, in nats.

    For values without ties this is scikit-learn's ``mutual_info_regression``. That one adds noise to ties, so
    that its value follows the order of the rows; here ties are counted (Gao et al. 2017, for discrete and
    mixed variables).

    Parameters
    ----------
    u, v : (K, n) arrays
        Standardised inside.
    n_neighbours
        k; more neighbours give less variance and more bias.

    Returns
    -------
    (K,) array
        At least 0 (negative estimates become 0); without an upper end.

    Raises
    ------
    OptionError
        If ``n_neighbours`` is below 1.
    """
    if n_neighbours != int(n_neighbours) or n_neighbours < 1:
        raise OptionError.of(
            "The number of neighbours is not usable",
            "Give a whole number of at least 1.",
            column="n_neighbours",
        )
    return np.array(
        [_one(a, b, int(n_neighbours)) for a, b in zip(standardised(u), standardised(v), strict=True)]
    )


def _one(u: Array, v: Array, k: int) -> float:
    from scipy.spatial import cKDTree
    from scipy.special import digamma

    n = len(u)
    k = min(k, n - 1)
    tree = cKDTree(np.stack([u, v], axis=1))
    # The row itself is its nearest neighbour.
    radius = tree.query(tree.data, k=k + 1, p=np.inf)[0][:, -1]
    tied = radius == 0
    neighbours = np.full(n, float(k))
    if tied.any():
        neighbours[tied] = tree.query_ball_point(tree.data[tied], 0.0, p=np.inf, return_length=True)
    # Rows strictly nearer than the k-th neighbour in one variable, the row itself among them; ties: rows that
    # are equal.
    reach = np.where(tied, 0.0, np.nextafter(radius, 0))
    counts = [_within(x, reach) for x in (u, v)]
    value = digamma(n) + np.mean(digamma(neighbours) - digamma(counts[0]) - digamma(counts[1]))
    return max(float(value), 0.0)


def _within(x: Array, reach: Array) -> Array:
    ordered = np.sort(x)
    # Bounds that rounding has put beside a value are told by the distance itself.
    low = np.searchsorted(ordered, x - reach * (1 - 1e-12), side="left")
    high = np.searchsorted(ordered, x + reach * (1 - 1e-12), side="right")
    return (high - low).astype(np.float64)
