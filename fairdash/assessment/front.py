"""The front: which models no other model beats in both accuracy and fairness."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pareto_efficient(error: ArrayLike, dependence: ArrayLike) -> NDArray[np.bool_]:
    """Mark the points that no other point beats: as small in both, smaller in one.

    Parameters
    ----------
    error, dependence : (K,) arrays
        Smaller is better in both. A point with a NaN is never efficient and beats none.

    Returns
    -------
    (K,) array of bool
    """
    points = np.column_stack([np.asarray(error, dtype=float), np.asarray(dependence, dtype=float)])
    no_worse = (points[:, None, :] <= points[None, :, :]).all(axis=2)
    better = (points[:, None, :] < points[None, :, :]).any(axis=2)
    beaten = (no_worse & better).any(axis=0)
    efficient: NDArray[np.bool_] = ~beaten & np.isfinite(points).all(axis=1)
    return efficient
