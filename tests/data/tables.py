"""Small tables that several tests of this room use."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.data import Dataset, Roles

ROLES = Roles(target="cost", sensitive=("age",), features=("rooms", "town"))


def policies(n: int = 60) -> pd.DataFrame:
    """A table that can be used as it is."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "cost": rng.gamma(2.0, 100.0, n),
            "age": rng.integers(18, 90, n),
            "rooms": rng.integers(1, 6, n),
            "town": rng.choice(["Lyon", "Paris", "Brest"], n),
        }
    )


def dataset_of(features: object, target: dict, sensitive: object, **roles: dict) -> Dataset:
    """A data set of two tables; target, weight and other roles are a column each, as ``{name: cells}``."""
    columns = {
        role: pd.Series(cells, name=name)
        for role, column in {"target": target, **roles}.items()
        for name, cells in column.items()
    }
    return Dataset(name="made", features=pd.DataFrame(features), sensitive=pd.DataFrame(sensitive), **columns)
