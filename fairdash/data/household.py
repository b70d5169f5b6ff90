"""The paper's synthetic scenario: the price of household insurance against the policyholder's age.

Source: supplement of "Fairness-Aware Neural Rényi Minimization for Continuous Features", section
"Synthetic scenario". Surface is a parabola in age, so the two are dependent without any linear correlation.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from fairdash.data.dataset import Dataset

UNITS = {"Age": "years", "Rooms": "rooms", "Surface": "m²", "BldgAge": "years", "Cost": "€"}
MEANINGS = {
    "Age": "age of the policyholder",
    "Rooms": "number of rooms",
    "Surface": "total surface, a parabola in age plus noise",
    "BldgAge": "age of the building",
    "Cost": "average cost of the policy",
}

#: With 50 quantile groups on a fifth of the rows, 5,000 rows leave 20 in each group.
DEFAULT_N = 5_000


def household(
    *,
    n: int = DEFAULT_N,
    random_state: int = 0,
    spread: Literal["sd", "variance"] = "sd",
    rooms: Literal[4, 5] = 4,
    features_seen: Literal["all", "surface"] = "all",
) -> Dataset:
    r"""Draw the household scenario.

    .. math::
        Age &\sim N(40, 5), \quad Rooms \sim \lfloor U(1, 5) \rfloor, \quad
        BldgAge \sim N(30, 10), \quad \epsilon \sim N(0, 1) \\
        Surface &= 120 - (40 - Age)^2 / 4 + \epsilon \\
        Cost &= 150 + 0.0005 \exp(0.07\,Surface + 0.08\,BldgAge + 0.4\,Rooms)

    The cost is a deterministic function of the three features, and age is not one of them.

    Parameters
    ----------
    n
        Number of policies.
    random_state
        Seed. The other options change how the same draws are used, not the draws.
    spread
        How the second parameter of N(40, 5) and N(30, 10) is read. The paper does not say. As a standard
        deviation the mean cost is 224 €, which fits the paper's figures; as a variance it is 220 €.
    rooms
        The largest number of rooms: 4 as the formula says, or 5 (the mean cost is then 246 €).
    features_seen
        "all" shows rooms, surface and building age to the predictor, "surface" the surface alone, so that
        part of the cost can't be predicted.

    Returns
    -------
    Dataset
        Target ``Cost`` in €, sensitive column ``Age`` in years.
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
    notes = [f"N(40, 5) and N(30, 10) are read as mean and {'sd' if spread == 'sd' else 'variance'}."]
    if features_seen == "surface":
        features = features[["Surface"]]
        notes.append("The predictor sees the surface alone, not the rooms or the building's age.")
    return Dataset(
        name="household",
        title="Household insurance (synthetic)",
        description="Made-up household policies: the cost depends on the surface, the surface on age.",
        features=features,
        target=pd.Series(cost, name="Cost"),
        sensitive=pd.DataFrame({"Age": age}),
        units=UNITS,
        meanings=MEANINGS,
        notes=tuple(notes),
    )
