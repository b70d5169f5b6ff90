"""Motor policies with a price that exists already: a GLM's premiums, to be audited.

The GLM is the tariff that most insurers know: a Poisson GLM of claims with a log link on the rating factors,
by exposure, times the mean cost of a claim. It does not see the driver's age. Its policies are those of
:mod:`fairdash.data.motor`, or simulated ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.data.fetch import DownloadProgress
from fairdash.data.motor import N_POLICIES, motor

Array = NDArray[np.float64]

PREMIUM, COST, EXPOSURE, AGE = "Premium", "CostPerYear", "Years", "Age"
DEFAULT_N = 20_000
UNITS = {
    PREMIUM: "€ per year",
    COST: "€ per year",
    EXPOSURE: "years",
    AGE: "years",
    "Bonus": "%",
    "CarAge": "years",
    "Density": "inhabitants per km²",
}
MEANINGS = {
    PREMIUM: "what the tariff charges: claims by a Poisson GLM without the age, times the mean claim",
    COST: "cost of the claims, divided by the years insured",
    EXPOSURE: "how long the policy was insured",
    AGE: "age of the driver",
    "Bonus": "bonus-malus: -50 is a bonus of 50 %, 50 a malus of 50 %",
    "Power": "power class of the car",
    "CarAge": "age of the car",
    "Region": "region that the driver lives in",
    "Density": "density of inhabitants where the driver lives",
}


def simulated_portfolio(*, n: int = DEFAULT_N, random_state: int = 0) -> Dataset:
    """Simulated motor policies with a GLM's premiums; sensitive column is the driver's age in years.

    Shaped like a motor portfolio: most policies run for a part of the year and have no claim, the young and
    the very old have more, and the bonus-malus follows age, so that a tariff without the age knows of it.

    Parameters
    ----------
    n
        Number of policies.
    random_state
        Seed.

    Returns
    -------
    Dataset
        Target ``CostPerYear`` in €, weight ``Years``, prediction ``Premium``.
    """
    rng = np.random.default_rng(random_state)
    age = np.clip(np.round(18 + 67 * rng.beta(1.7, 2.6, n)), 18, 85)
    years = np.where(rng.random(n) < 0.4, 1.0, np.round(rng.uniform(0.05, 1.0, n), 2))
    power = rng.integers(1, 11, n).astype(float)
    car_age = np.floor(rng.gamma(2.0, 3.5, n))
    density = np.round(np.exp(rng.normal(5.0, 1.3, n)), 1)
    region = rng.choice(["North", "East", "South", "West"], n, p=[0.3, 0.2, 0.25, 0.25])
    risk = 0.9 * np.exp(-(age - 18) / 8) + 0.35 * np.clip((age - 72) / 13, 0, 1)
    # Years without a claim bring the bonus down; who had claims, or is new, has none.
    bonus = np.clip(np.round((45 - 1.8 * (age - 18) + 25 * risk + rng.normal(0, 18, n)) / 5) * 5, -50, 100)
    rate = np.exp(-2.35 + risk + 0.006 * bonus + 0.03 * (power - 5) + 0.09 * (np.log(density) - 5))
    claims = rng.poisson(rate * years)
    cost = np.array([rng.gamma(1.2, 900 / 1.2, k).sum() for k in claims])
    features = pd.DataFrame(
        {"Bonus": bonus, "Power": power, "CarAge": car_age, "Density": density, "Region": region}
    )
    return Dataset(
        name="portfolio",
        title="Motor portfolio with a GLM's premiums (simulated)",
        description="Simulated motor policies, and what a tariff that does not see the age charges them.",
        features=features,
        target=pd.Series(cost / years, name=COST),
        sensitive=pd.DataFrame({AGE: age}),
        weight=pd.Series(years, name=EXPOSURE),
        prediction=glm_premiums(features, claims.astype(float), cost, years),
        units=UNITS,
        meanings=MEANINGS,
        notes=("Simulated: no policy here is anybody's.",),
        names={AGE: "driver's age", PREMIUM: "premium", COST: "cost of claims per year"},
    )


def motor_with_premiums(*, n: int = N_POLICIES, progress: DownloadProgress | None = None) -> Dataset:
    """The policies of :func:`fairdash.data.motor.motor` with a GLM's premiums, by year insured.

    Parameters
    ----------
    n
        Number of policies, as there.
    progress
        Called with bytes done and bytes expected while downloading.

    Returns
    -------
    Dataset
        Target ``CostPerYear`` in €, weight ``Years``, prediction ``Premium``.

    Raises
    ------
    DownloadError
        The file can't be had, or is not the published one.
    """
    data = motor(target="cost_per_year", n=n, progress=progress)
    claims = motor(target="frequency", n=n).target
    assert data.weight is not None
    years = data.weight.to_numpy(dtype=float)
    cost = data.target.to_numpy(dtype=float) * years
    return replace(
        data,
        name="motor_tariff",
        title="Motor insurance with a GLM's premiums",
        description="French motor policies, and what a tariff that does not see the age charges them.",
        prediction=glm_premiums(data.features, claims.to_numpy(dtype=float) * years, cost, years),
        units={**data.units, PREMIUM: UNITS[PREMIUM]},
        meanings={**data.meanings, PREMIUM: MEANINGS[PREMIUM]},
        names={**data.names, PREMIUM: "premium"},
    )


def glm_premiums(features: pd.DataFrame, claims: Array, cost: Array, years: Array) -> pd.Series:
    """Claims a year by a Poisson GLM with a log link, times the mean cost of a claim; (n,) in € a year.

    Words are levels; a number is a line with three bends, at its quartiles. Fitted by iteratively reweighted
    least squares (McCullagh and Nelder 1989, section 2.5), with a ridge that only keeps levels without a
    claim finite.
    """
    design = _design(features)
    rate = claims / years
    beta = np.zeros(design.shape[1])
    beta[0] = np.log(claims.sum() / years.sum())
    ridge = np.r_[0.0, np.full(design.shape[1] - 1, 1e-6 * claims.sum())]
    for _ in range(25):
        mean = np.exp(design @ beta)
        weight = years * mean
        score = design.T @ (years * (rate - mean)) - ridge * beta
        step = np.linalg.solve((design * weight[:, None]).T @ design + np.diag(ridge), score)
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    premium = np.exp(design @ beta) * cost.sum() / claims.sum()
    # In whole cents, as a premium is.
    return pd.Series(np.round(premium, 2), name=PREMIUM, index=features.index)


def _design(features: pd.DataFrame) -> Array:
    columns = [np.ones(len(features))]
    for _, column in features.items():
        if pd.api.types.is_numeric_dtype(column):
            x = column.to_numpy(dtype=float)
            x = (x - x.mean()) / (x.std() or 1.0)
            # From a fewest of values on, so that no bend stands at an end or twice.
            bends = np.unique(np.quantile(x, [0.25, 0.5, 0.75]))
            columns += [x, *(np.maximum(x - bend, 0) for bend in bends if x.min() < bend < x.max())]
        else:
            levels = column.value_counts()
            columns += [
                (column == level).to_numpy(dtype=float) for level in levels.index[1:] if levels[level]
            ]
    return np.column_stack(columns)
