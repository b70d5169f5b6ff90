"""The front: which models no other model beats in both accuracy and fairness, and how much it wins."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


def trained_points(paths: pd.DataFrame, *, standard_of: str) -> pd.DataFrame:
    """The rows of trained models among those of all stops (:func:`fairdash.evaluation.assess_curve`).

    Every method's path begins with the standard model; it is taken once, from the path of `standard_of`.
    """
    trained = paths[paths["share"] == 0]
    return trained[(trained["lam"] > 0) | (trained["method"] == standard_of)]


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


def hypervolume(error: ArrayLike, dependence: ArrayLike, *, corner: tuple[float, float]) -> float:
    """Share of the box between (0, 0) and `corner` that the points dominate (Zitzler and Thiele, 1999).

    Parameters
    ----------
    error, dependence : (K,) arrays
        Smaller is better in both; values below 0 count as 0, points with a NaN not at all.
    corner
        Error and dependence, both above 0, beyond which a point counts for nothing.

    Returns
    -------
    float
        0: no point lies within the box; 1: one lies at (0, 0). Larger is better.
    """
    points = np.column_stack([np.asarray(error, dtype=float), np.asarray(dependence, dtype=float)])
    points = np.maximum(points[np.isfinite(points).all(axis=1)], 0.0)
    points = points[(points < corner).all(axis=1)]
    area, lowest = 0.0, corner[1]
    for e, d in points[np.lexsort((points[:, 1], points[:, 0]))]:
        if d < lowest:
            area += (corner[0] - e) * (lowest - d)
            lowest = d
    return float(area / (corner[0] * corner[1]))
