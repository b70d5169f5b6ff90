"""What insurers look at: actual ÷ expected, Lorenz curve and Gini index, double lift; all by exposure.

>>> import numpy as np
>>> price, cost, years = np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0]), np.ones(3)
>>> round(gini(price, cost, years), 6)
0.444444
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.table import FEWEST_SHOWN, AuditTable

Array = NDArray[np.float64]

_Z = 1.959963984540054
#: Exposure below which a band of a lift or of actual ÷ expected holds too little to be cut.
N_BANDS = 10


def lorenz(price: Array, outcome: Array, weight: Array) -> pd.DataFrame:
    """The concentration curve of the outcome where rows are put in order of the price, cheapest first.

    Parameters
    ----------
    price, outcome, weight : (n,) arrays
        π and Y per unit of exposure, and the exposure. Rows of one price are one step.

    Returns
    -------
    DataFrame
        Columns exposure and outcome: shares of both at or below a price, from (0, 0) to (1, 1).
    """
    _, code = np.unique(price, return_inverse=True)
    held = np.cumsum(np.bincount(code, weights=weight))
    paid = np.cumsum(np.bincount(code, weights=weight * outcome))
    return pd.DataFrame({"exposure": np.append(0, held / held[-1]), "outcome": np.append(0, paid / paid[-1])})


def gini(price: Array, outcome: Array, weight: Array) -> float:
    """Gini index: 1 − 2 × the area under :func:`lorenz`; 0 where the price tells nothing, at most 1.

    Below 0, the dearest cost least (Denuit, Sznajder and Trufin 2019; scikit-learn's Tweedie example).
    """
    curve = lorenz(price, outcome, weight)
    return 1 - 2 * float(np.trapezoid(curve["outcome"], curve["exposure"]))


def actual_to_expected(table: AuditTable, *, by: str = "sensitive", n_bands: int = N_BANDS) -> pd.DataFrame:
    """Actual ÷ expected, Σ w Y / Σ w π, in bands of equal exposure along s or the price, with 95 % intervals.

    Parameters
    ----------
    by
        ``"sensitive"`` or ``"price"``.

    Returns
    -------
    DataFrame
        Columns low, high (of what it is along), rows, exposure, price, outcome (means), ratio, ci_low,
        ci_high.
    """
    assert table.outcome is not None
    along = getattr(table, by)
    code = _band_of(along, table.weight, n_bands)
    rows = []
    for band in np.unique(code):
        held = code == band
        weight, price, outcome = table.weight[held], table.price[held], table.outcome[held]
        ratio = float(weight @ outcome / (weight @ price))
        of_units = np.bincount(table.units[held], weights=weight * (outcome - ratio * price))
        error = float(np.sqrt(of_units @ of_units) / (weight @ price))
        rows.append(
            {
                "low": along[held].min(),
                "high": along[held].max(),
                "rows": int(held.sum()),
                "exposure": weight.sum(),
                "price": weight @ price / weight.sum(),
                "outcome": weight @ outcome / weight.sum(),
                "ratio": ratio,
                "ci_low": ratio - _Z * error,
                "ci_high": ratio + _Z * error,
            }
        )
    return pd.DataFrame(rows)


def double_lift(
    price: Array, candidate: Array, outcome: Array, weight: Array, *, n_bands: int = N_BANDS
) -> pd.DataFrame:
    """Two prices and the outcome in bands of their ratio: the better price follows the outcome.

    Returns
    -------
    DataFrame
        Columns ratio_low, ratio_high (candidate ÷ price), rows, exposure, price, candidate, outcome:
        means, each as a
        share of its own mean.
    """
    ratio = (candidate / (weight @ candidate)) / (price / (weight @ price))
    code = _band_of(ratio, weight, n_bands)
    frame = pd.DataFrame({"code": code, "ratio": candidate / price, "exposure": weight})
    for name, values in (("price", price), ("candidate", candidate), ("outcome", outcome)):
        frame[name] = weight * values / (weight @ values / weight.sum())
    by = frame.groupby("code")
    sums = by[["exposure", "price", "candidate", "outcome"]].sum()
    made = sums[["price", "candidate", "outcome"]].div(sums["exposure"], axis=0)
    made.insert(0, "exposure", sums["exposure"])
    made.insert(0, "rows", by.size())
    made.insert(0, "ratio_high", by["ratio"].max())
    made.insert(0, "ratio_low", by["ratio"].min())
    return made.reset_index(drop=True)


def _band_of(x: Array, weight: Array, count: int) -> NDArray[np.intp]:
    """Bands of equal exposure, 0 … count − 1; equal values share one. Few rows have fewer bands."""
    count = int(np.clip(len(x) // (2 * FEWEST_SHOWN), 1, count))
    order = np.argsort(x, kind="stable")
    below = np.cumsum(weight[order])
    cuts = x[order][np.searchsorted(below, below[-1] * np.arange(1, count) / count - 1e-9 * below[-1])]
    return np.searchsorted(np.unique(cuts), x, side="left")
