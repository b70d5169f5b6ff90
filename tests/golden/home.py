"""A home as this version writes it: ``python -m tests.golden.home NAME`` keeps it as ``home-NAME.zip``.

NAME is the commit that it is made at. The home holds a run, a refitted model and tariff, an audit
with its evidence, and under ``values/`` what they said then, so that later versions can be held to it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.data import Roles, UploadSource, keep_upload
from fairdash.data.source import DatasetSource
from fairdash.runs import worker
from fairdash.runs.audits import AuditJob, create_audit
from fairdash.runs.models import create_model
from fairdash.runs.store import create_run
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
from tests.golden.texts import HERE

#: Where the sums of a home's values stand in it.
VALUES = "values"
_SMALL = {"hidden": (4,), "adversary_hidden": (4,), "batch_size": 64, "n_epochs": 4, "warm_up_epochs": 1}
QUICK = TrainingSettings(**_SMALL, loss="poisson", balance=True)
_OF_PLAN = {"methods": ("standard", "hgr_spline"), "lams": (0.5, 2.0), "n_splits": 2, "random_state": 3}
PLAN = Sweep(**_OF_PLAN, settings=QUICK, tariff=True, device="cpu")


def policies(n: int = 600) -> pd.DataFrame:
    """Policies whose claims follow a bonus that follows age, with a price a little above their cost."""
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
    """The policies as an upload with roles: claims a year."""
    columns = {"target": "claims", "sensitive": ("age",), "features": ("bonus", "zone"), "weight": "years"}
    roles = Roles(**columns, prediction="premium", rate=True)
    kept = keep_upload(policies().to_csv(index=False).encode(), name="policies.csv")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=roles)


def make() -> None:
    """Fill the home that FAIRDASH_HOME names."""
    home = Path(os.environ["FAIRDASH_HOME"])
    policy = source()
    run = create_run(policy, PLAN)
    models = [
        create_model(policy, PLAN, run=run.id, method=method, lam=1.0, figures={"mse": 1.0})
        for method in ("hgr_spline", FAIR_TARIFF)
    ]
    of = {"price": "premium", "sensitive": "age", "exposure": "years", "outcome": "claims"}
    columns = Columns(**of, controls=("zone",), totals=("claims",))
    audit = create_audit(policy, AuditPlan(columns=columns, written="2026-11-24T09:00:00+00:00"))
    for job in (run, *models, audit):
        assert worker.main(job.id) == 0, job.status
    values = home / VALUES
    values.mkdir()
    (values / "evidence.zip").write_bytes(AuditJob(audit.id).read_result().to_zip())
    frame = run.read_result().frames["demographic_parity"]
    frame.to_csv(values / "frame.csv", index=False)


def main(name: str) -> None:
    """Make a home and keep it in this folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FAIRDASH_HOME"] = folder
        make()
        target = HERE / f"home-{name}.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).rglob("*")):
                kept = path.relative_to(folder)
                if path.is_file() and "units" not in kept.parts and path.suffix != ".lock":
                    archive.writestr(zipfile.ZipInfo(kept.as_posix()), path.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1])
