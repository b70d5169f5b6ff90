"""Simulated tables: the household insurance of the paper, and a motor portfolio with the premiums of a GLM.

**Household**: the price of household insurance depends on the policyholder's age (supplement of
"Fairness-Aware Neural Rényi Minimization for Continuous Features", section "Synthetic scenario"). The surface
is a parabola in age, so surface and age are dependent but not linearly correlated.

**Motor portfolio**: its premiums are an existing price that can be audited. They come from a typical tariff.
A Poisson GLM (log link, weighted by exposure) predicts claims from the rating factors, and the prediction is
multiplied by the mean cost of a claim. The tariff does not use the driver's age. The policies are from
:func:`fairdash.data.published.motor`, or simulated.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.catalogue import CATALOGUE
from fairdash.data.dataset import Dataset

Array = NDArray[np.float64]

PREMIUM, COST, EXPOSURE, AGE = "Premium", "CostPerYear", "Years", "Age"
#: With 5,000 rows, the test set has 1,000 rows (a fifth), and each of 50 quantile groups has 20 of these
#: rows.
N_HOUSEHOLDS = 5_000
N_DRIVERS = 20_000


def household(
    *,
    n: int = N_HOUSEHOLDS,
    random_state: int = 0,
    spread: Literal["sd", "variance"] = "sd",
    rooms: Literal[4, 5] = 4,
    features_seen: Literal["all", "surface"] = "all",
) -> Dataset:
    r"""Draw a random table of household policies as in the paper.

    .. math::
        Age &\sim N(40, 5), \quad Rooms \sim \lfloor U(1, 5) \rfloor, \quad
        BldgAge \sim N(30, 10), \quad \epsilon \sim N(0, 1) \\
        Surface &= 120 - (40 - Age)^2 / 4 + \epsilon \\
        Cost &= 150 + 0.0005 \exp(0.07\,Surface + 0.08\,BldgAge + 0.4\,Rooms)

    The cost is a deterministic function of the three features rooms, surface and building age.

    Parameters
    ----------
    n
        Number of policies.
    random_state
        Seed of the random draws. The draws do not depend on the other options.
    spread
        Meaning of the second parameter of N(40, 5) and N(30, 10), which the paper does not state. If the
        parameter is a standard deviation, the mean cost is 224 €, which fits the paper's figures. If it is a
        variance, the mean cost is 220 €.
    rooms
        Maximum number of rooms: 4 as in the paper's formula, or 5, with which the mean cost is 246 €.
    features_seen
        "all": the features are rooms, surface and building age. "surface": the only feature is the surface,
        so part of the cost can't be predicted.

    Returns
    -------
    Dataset
        Data set with the target ``Cost`` in € and the sensitive column ``Age`` in years.
    """
    rng = np.random.default_rng(random_state)
    age_draw, rooms_draw = rng.standard_normal(n), rng.random(n)
    noise, building_draw = rng.standard_normal(n), rng.standard_normal(n)

    age_sd, building_sd = (5.0, 10.0) if spread == "sd" else (np.sqrt(5.0), np.sqrt(10.0))
    age = 40 + age_sd * age_draw
    n_rooms = 1 + np.floor(rooms * rooms_draw)
    surface = 120 - 0.25 * (40 - age) ** 2 + noise
    building_age = 30 + building_sd * building_draw
    cost = 150 + 0.0005 * np.exp(0.07 * surface + 0.08 * building_age + 0.4 * n_rooms)

    features = pd.DataFrame({"Rooms": n_rooms.astype(np.int64), "Surface": surface, "BldgAge": building_age})
    notes = [f"In N(40, 5) and N(30, 10), the second number is the {'sd' if spread == 'sd' else 'variance'}."]
    if features_seen == "surface":
        features = features[["Surface"]]
        notes.append(
            "The predictor uses only the surface, and neither the rooms nor the age of the building."
        )
    return CATALOGUE["household"].dataset(
        features=features,
        target=pd.Series(cost, name="Cost"),
        sensitive=pd.DataFrame({"Age": age}),
        notes=tuple(notes),
    )


def portfolio(*, n: int = N_DRIVERS, random_state: int = 0) -> Dataset:
    """Simulate motor policies with the premiums of a GLM. The sensitive column is the driver's age.

    As in a real portfolio, most policies cover part of a year and have no claim. Young and very old drivers
    have more claims. The bonus-malus class depends on age, so the premiums depend on age even if the tariff
    does not use age.

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
    # The bonus-malus class rises with the risk and falls with age, because older drivers have more years
    # without a claim.
    bonus = np.clip(np.round((45 - 1.8 * (age - 18) + 25 * risk + rng.normal(0, 18, n)) / 5) * 5, -50, 100)
    rate = np.exp(-2.35 + risk + 0.006 * bonus + 0.03 * (power - 5) + 0.09 * (np.log(density) - 5))
    claims = rng.poisson(rate * years)
    cost = np.array([rng.gamma(1.2, 900 / 1.2, k).sum() for k in claims])
    features = pd.DataFrame(
        {"Bonus": bonus, "Power": power, "CarAge": car_age, "Density": density, "Region": region}
    )
    return CATALOGUE["portfolio"].dataset(
        features=features,
        target=pd.Series(cost / years, name=COST),
        sensitive=pd.DataFrame({AGE: age}),
        weight=pd.Series(years, name=EXPOSURE),
        prediction=glm_premiums(features, claims.astype(float), cost, years),
        notes=("The policies are simulated.",),
    )


def glm_premiums(features: pd.DataFrame, claims: Array, cost: Array, years: Array) -> pd.Series:
    """Return premiums in € per year: claims predicted by a Poisson GLM, times the mean cost of a claim.

    The link is the logarithm. A text column has one coefficient per level. A numeric column has a piecewise
    linear effect with knots at its quartiles. The fit uses iteratively reweighted least squares (McCullagh
    and Nelder 1989, section 2.5). A small ridge penalty keeps the coefficients of levels without claims
    finite.
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
    # Premiums are rounded to two decimals (cents).
    return pd.Series(np.round(premium, 2), name=PREMIUM, index=features.index)


def _design(features: pd.DataFrame) -> Array:
    columns = [np.ones(len(features))]
    for _, column in features.items():
        if pd.api.types.is_numeric_dtype(column):
            x = column.to_numpy(dtype=float)
            x = (x - x.mean()) / (x.std() or 1.0)
            # If a column has few distinct values, quartiles may be equal or at an end of the range. Such
            # knots are left out.
            bends = np.unique(np.quantile(x, [0.25, 0.5, 0.75]))
            columns += [x, *(np.maximum(x - bend, 0) for bend in bends if x.min() < bend < x.max())]
        else:
            levels = column.value_counts()
            columns += [
                (column == level).to_numpy(dtype=float) for level in levels.index[1:] if levels[level]
            ]
    return np.column_stack(columns)
