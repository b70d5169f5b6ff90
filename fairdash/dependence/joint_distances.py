"""Joint dependence of u on several columns: distances whose products see what no column shows alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import standardised
from fairdash.dependence.distances import distance_correlation

Array = NDArray[np.float64]

#: Distances held at once.
_PIECE = 1_000_000


def joint_distance_correlation(u: Array, v: Array) -> Array:
    """Distance correlation of u with the product of what each column of v tells apart.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array

    Returns
    -------
    (K,) array
        In [0, 1]; 0 in the limit of many rows only if u is independent of the columns together. Of one
        column it is the distance correlation. Noise keeps it above 0.

    Notes
    -----
    With A and Bⱼ the doubly centred distances, with their sign turned, of u and of the j-th column, each
    divided by its root mean square, K = Πⱼ(Bⱼ + 1) and H its double centring, it is
    √(mean(A·H) ÷ √(mean(A²) mean(H²))). Since A is centred, mean(A·H) = mean(A·K): those terms of the
    (scale-invariant, c = 1) joint distance covariance of u and all columns that hold u (Chakraborty and Zhang
    2019, JASA 114); dependence among the columns alone does not count. Both A and K being positive
    semi-definite, mean(A·H) is not below 0.
    """
    if v.ndim == 2:
        return distance_correlation(u, v)
    return np.array([_one(a, b.T) for a, b in zip(u, v, strict=True)])


def _one(u: Array, columns: Array) -> float:
    """One pair, (n,) and (d, n), some rows at a time."""
    n = len(u)
    every = standardised(np.stack([u, *(x for x in columns if x.min() < x.max())]))
    step = max(1, _PIECE // n)
    pieces = [slice(start, start + step) for start in range(0, n, step)]
    means = np.empty_like(every)
    for rows in pieces:
        means[:, rows] = np.abs(every[:, rows, None] - every[:, None, :]).mean(axis=-1)
    size = np.zeros(len(every))
    for rows in pieces:
        size += (_centred(every, means, rows) ** 2).sum(axis=(1, 2))
    size = np.sqrt(size / n**2)
    # Sums of A·K, of K² and of the rows of K, from which those of its double centring follow.
    together, squares, sums = 0.0, 0.0, np.empty(n)
    for rows in pieces:
        parts = _centred(every, means, rows) / size[:, None, None]
        product = np.prod(parts[1:] + 1, axis=0)
        together += float((parts[0] * product).sum())
        squares += float((product**2).sum())
        sums[rows] = product.mean(axis=-1)
    spread = squares / n**2 - 2 * float((sums**2).mean()) + float(sums.mean()) ** 2
    if spread <= 0:
        return 0.0
    return float(np.sqrt(np.clip(together / n**2 / np.sqrt(spread), 0.0, 1.0)))


def _centred(every: Array, means: Array, rows: slice) -> Array:
    """U(x, x') = E|x − X| + E|x' − X| − |x − x'| − E|X − X'| of some rows with all, (columns, rows, n)."""
    distance = np.abs(every[:, rows, None] - every[:, None, :])
    centred: Array = means[:, rows, None] + means[:, None, :] - distance - means.mean(axis=-1)[:, None, None]
    return centred
