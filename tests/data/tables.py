"""Small tables that several tests of this room use."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.data import Roles

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
