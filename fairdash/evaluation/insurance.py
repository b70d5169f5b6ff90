"""Actuarial metrics weighted by exposure: actual ÷ expected, Lorenz curve, Gini index and double lift.

>>> import numpy as np
>>> price, cost, years = np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0]), np.ones(3)
>>> round(gini(price, cost, years), 6)
0.444444
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Results are displayed only for groups with at least this number of rows.
MIN_SHOWN = 20
#: Number of bands of about equal exposure in lift charts; small tables have fewer bands.
N_BANDS = 10


def lorenz(price: Array, outcome: Array, weight: Array) -> pd.DataFrame:
    """Return the concentration curve of the outcome, with rows in ascending order of price.

    Parameters
    ----------
    price, outcome, weight : (n,) arrays
        Price π and outcome Y per unit of exposure, and the exposure. Rows with the same price form one step
        of the curve.

    Returns
    -------
    DataFrame
        Columns ``exposure`` and ``outcome``: the shares of the total exposure and of the total outcome that
        belong to rows up to a price, from (0, 0) to (1, 1).
    """
    _, code = np.unique(price, return_inverse=True)
    w = np.cumsum(np.bincount(code, weights=weight))
    cost = np.cumsum(np.bincount(code, weights=weight * outcome))
    return pd.DataFrame({"exposure": np.append(0, w / w[-1]), "outcome": np.append(0, cost / cost[-1])})


def gini(price: Array, outcome: Array, weight: Array) -> float:
    """Return the Gini index, 1 − 2 × the area under :func:`lorenz`: at most 1; uninformative prices give 0.

    A negative Gini index means that rows with high prices have low outcomes (Denuit, Sznajder and Trufin
    2019; scikit-learn's Tweedie example).
    """
    curve = lorenz(price, outcome, weight)
    return 1 - 2 * float(np.trapezoid(curve["outcome"], curve["exposure"]))


def double_lift(
    price: Array, candidate: Array, outcome: Array, weight: Array, *, n_bands: int = N_BANDS
) -> pd.DataFrame:
    """Compare two prices with the outcome in bands of their ratio; the better price is closer to the outcome.

    Returns
    -------
    DataFrame
        Columns ``ratio_low`` and ``ratio_high`` (candidate ÷ price), ``rows``, ``exposure``, and the means
        ``price``, ``candidate`` and ``outcome``, each divided by its overall mean.
    """
    ratio = (candidate / (weight @ candidate)) / (price / (weight @ price))
    code = bands_of(ratio, weight, n_bands)
    frame = pd.DataFrame({"code": code, "ratio": candidate / price, "exposure": weight})
    for name, values in (("price", price), ("candidate", candidate), ("outcome", outcome)):
        frame[name] = weight * values / (weight @ values / weight.sum())
    bands = frame.groupby("code")
    sums = bands[["exposure", "price", "candidate", "outcome"]].sum()
    averages = sums[["price", "candidate", "outcome"]].div(sums["exposure"], axis=0)
    averages.insert(0, "exposure", sums["exposure"])
    averages.insert(0, "rows", bands.size())
    averages.insert(0, "ratio_high", bands["ratio"].max())
    averages.insert(0, "ratio_low", bands["ratio"].min())
    return averages.reset_index(drop=True)


def bands_of(x: Array, weight: Array, count: int = N_BANDS) -> NDArray[np.intp]:
    """Return each row's band of about equal exposure, with at least 20 rows; equal values share a band."""
    order = np.argsort(x, kind="stable")
    below = np.cumsum(weight[order])
    cut_points = x[order][np.searchsorted(below, below[-1] * np.arange(1, count) / count - 1e-9 * below[-1])]
    code = np.searchsorted(np.unique(cut_points), x, side="left")
    # A band with too few rows is merged with the next band; the last band is merged with the band before it.
    band_of_code, n_rows = np.zeros(int(code.max()) + 1, dtype=np.intp), 0
    for band, rows in enumerate(np.bincount(code)):
        band_of_code[band:] = band_of_code[band] + (n_rows >= MIN_SHOWN)
        n_rows = rows + (0 if n_rows >= MIN_SHOWN else n_rows)
    if n_rows < MIN_SHOWN:
        band_of_code[band_of_code == band_of_code[-1]] = max(int(band_of_code[-1]) - 1, 0)
    return np.unique(band_of_code[code], return_inverse=True)[1]


#: Powers of the Tweedie family, by the name of their deviance.
DEVIANCES: Mapping[str, float] = MappingProxyType({"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0})


def mean_deviance(outcome: Array, price: Array, weight: Array, *, power: float) -> float:
    """Return scikit-learn's mean deviance, weighted by exposure, or NaN if the deviance is undefined."""
    from sklearn.metrics import mean_tweedie_deviance

    if power and (price.min() <= 0 or outcome.min() < 0 or (power >= 2 and outcome.min() <= 0)):
        return np.nan
    return float(mean_tweedie_deviance(outcome, price, sample_weight=weight, power=power))


def deviances(prices: Mapping[str, Array], outcome: Array, weight: Array) -> pd.DataFrame:
    """Return scikit-learn's mean deviances of the outcome from each price, weighted by exposure.

    Parameters
    ----------
    prices
        Prices (n,) by name.

    Returns
    -------
    DataFrame
        One row per deviance and price, with the columns ``deviance``, ``power``, ``price`` (the name of the
        price), ``value``, ``balanced`` (deviance of the price after scaling its mean to the mean outcome),
        ``constant`` (deviance of the mean outcome) and ``explained``, which is 1 − balanced ÷ constant (0 if
        the price is no better than the mean, and 1 if the price is perfect). A deviance is missing if it is
        undefined: for a negative price or outcome, and the gamma deviance also for 0.
    """
    mean = float(weight @ outcome / weight.sum())
    rows = []
    for deviance, power in DEVIANCES.items():
        for name, price in prices.items():
            row: dict[str, Any] = {"deviance": deviance, "power": power, "price": name}
            level = float(weight @ outcome / (weight @ price))
            for key, of in (
                ("value", price),
                ("balanced", price * level),
                ("constant", np.full_like(price, mean)),
            ):
                row[key] = mean_deviance(outcome, of, weight, power=power)
            row["explained"] = 1 - row["balanced"] / row["constant"] if row["constant"] else np.nan
            rows.append(row)
    return pd.DataFrame(rows)


def murphy(price: Array, outcome: Array, weight: Array) -> pd.DataFrame:
    """Decompose the score of a price into miscalibration and discrimination (Murphy 1973).

    The recalibrated price is the isotonic regression of the outcome on the price (Dimitriadis, Gneiting and
    Jordan 2021). The recalibrated price is fitted and scored on the same rows. Noise therefore slightly
    increases miscalibration and discrimination. The test of autocalibration does not have this bias.

    Parameters
    ----------
    price, outcome, weight : (n,) arrays
        Price π and outcome Y with the same mean, per unit of exposure, and the exposure.

    Returns
    -------
    DataFrame
        One row per score (``squared_error`` and the defined :data:`DEVIANCES`), with the columns ``score``;
        ``value``; ``miscalibration``, the value minus the score of the recalibrated price (0 if rows with the
        same price have this price as their mean cost); ``discrimination``, the score of the mean outcome
        minus the score of the recalibrated price (0 if prices are uninformative); and ``uncertainty``, the
        score of the mean outcome. For each score, value = miscalibration − discrimination + uncertainty.
    """
    from sklearn.isotonic import IsotonicRegression

    recalibrated = IsotonicRegression(out_of_bounds="clip").fit_transform(
        price, outcome, sample_weight=weight
    )
    mean = np.full_like(price, weight @ outcome / weight.sum())
    rows = []
    for score, power in {"squared_error": 0.0, **DEVIANCES}.items():
        if np.isnan(mean_deviance(outcome, price, weight, power=power)):
            continue
        # A block of prices without costs has a recalibrated price of 0. There, the deviance is only defined
        # as a limit, so it is computed just above 0.
        lowest = 1e-12 * float(mean[0]) if power else -np.inf
        of_price, of_recalibrated, of_mean = (
            mean_deviance(outcome, np.maximum(forecast, lowest), weight, power=power)
            for forecast in (price, recalibrated, mean)
        )
        rows.append(
            {
                "score": score,
                "value": of_price,
                "miscalibration": of_price - of_recalibrated,
                "discrimination": of_mean - of_recalibrated,
                "uncertainty": of_mean,
            }
        )
    return pd.DataFrame(rows)


def drawn_lorenz(price: Array, outcome: Array, weight: Array) -> pd.DataFrame:
    """Return the :func:`lorenz` curve at up to 201 points that are at least 20 rows apart."""
    curve = lorenz(price, outcome, weight)
    below = np.append(0, np.cumsum(np.unique(price, return_counts=True)[1]))
    steps = max(1, min(200, int(below[-1]) // MIN_SHOWN))
    at = np.searchsorted(below, np.linspace(0, below[-1], steps + 1) - 1e-9)
    points = [0]
    for point in at[1:]:
        if below[point] - below[points[-1]] >= MIN_SHOWN:
            points.append(int(point))
    # The remaining rows are part of the last step.
    points[-1] = len(curve) - 1
    return curve.iloc[points].reset_index(drop=True)
