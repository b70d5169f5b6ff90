"""Policies and a small plan, for which the tests store results."""

import numpy as np
import pandas as pd

from fairdash.data import Roles, UploadSource, keep_upload
from fairdash.data.source import DatasetSource
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep

_SMALL = {"hidden": (4,), "adversary_hidden": (4,), "batch_size": 64, "n_epochs": 4, "warm_up_epochs": 1}
QUICK = TrainingSettings(**_SMALL, loss="poisson", balance=True)
_OF_PLAN = {"methods": ("standard", "hgr_spline"), "lams": (0.5, 2.0), "n_splits": 2, "random_state": 3}
PLAN = Sweep(**_OF_PLAN, settings=QUICK, tariff=True, device="cpu")


def policies(n: int = 600) -> pd.DataFrame:
    """Policies whose claims depend on a bonus that is related to age, with a price slightly above their cost."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, n)
    bonus = np.round(50 + (age - 50) ** 2 / 20 + rng.normal(0, 10, n))
    zone = rng.choice(["north", "south", "west"], n)
    years = rng.uniform(0.2, 1.0, n).round(2)
    rate = np.exp(-2 + bonus / 40 + 0.3 * (zone == "south"))
    claims = rng.poisson(years * rate)
    premium = (1.1 * rate * np.exp(rng.normal(0, 0.1, n))).round(4)
    return pd.DataFrame(
        {"age": age, "bonus": bonus, "zone": zone, "years": years, "claims": claims, "premium": premium}
    )


def source() -> DatasetSource:
    """The policies as an upload with roles: the target is claims per year."""
    columns = {"target": "claims", "sensitive": ("age",), "features": ("bonus", "zone"), "weight": "years"}
    roles = Roles(**columns, prediction="premium", rate=True)
    kept = keep_upload(policies().to_csv(index=False).encode(), name="policies.csv")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=roles)
