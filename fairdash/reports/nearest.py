"""The points of a trained front that lie nearest to a price that exists: less discriminatory alternatives."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.reports.fronts import Front
from fairdash.training.baselines import PRICE

#: Points that are shown.
MOST = 3


def nearest_points(front: Front) -> pd.DataFrame:
    """The existing price and the points of the front nearest to it, on the same test rows.

    Returns
    -------
    DataFrame
        A row for the price, then a row a point, the nearest first: method, lam, error, error_se, dependence,
        dependence_se, floor, as means over the splits. Near is a small distance where the front's range of
        error and of dependence, the price's with them, are each 1 long. Where the run's data had no existing
        price, points from one end of the front to the other, in the order of λ.
    """
    price = front.baselines[front.baselines["method"] == PRICE] if len(front.baselines) else front.baselines
    table = pd.concat([price, front.test], ignore_index=True)
    measure = front.default_measure
    columns = {
        **{"method": "method", "lam": "lam", front.error: "error", f"{front.error}_se": "error_se"},
        **{measure: "dependence", f"{measure}_se": "dependence_se", f"{measure}_floor": "floor"},
    }
    table = table[list(columns)].rename(columns=columns)
    if price.empty:
        ordered = table.sort_values("lam", kind="stable", ignore_index=True)
        return ordered.iloc[np.unique(np.linspace(0, len(ordered) - 1, MOST + 1).round().astype(int))]
    seen = table[["error", "dependence"]].to_numpy(dtype=float)
    distance = np.hypot(*((seen - seen[0]) / np.maximum(np.ptp(seen, axis=0), 1e-300)).T)
    return table.iloc[np.argsort(distance, kind="stable")[: MOST + 1]].reset_index(drop=True)
