"""Large and weak tables: a budget of steps beside a fixed schedule, and where the weights of a pilot lie.

    OMP_NUM_THREADS=1 python -m benchmarks.portfolio [--data crime motor claims] [--rows 20000 60000]

Standard network and Fair spline network, the same splits and weights λ under both schedules; error is the
loss divided by the constant's on test rows, dependence HGR_KDE on test rows beside its floor. CPU seconds are
those of tuning and training. Needs FAIRDASH_DATA. Writes results/portfolio.csv.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

import fairdash as fd
from benchmarks.large_table import claims
from fairdash.data.building import build_dataset
from fairdash.data.dataset import Dataset
from fairdash.data.roles import Roles
from fairdash.evaluation.assess import assess_predictions
from fairdash.evaluation.execute_sweep import with_lams_found
from fairdash.training.sweep import Sweep, default_plan, train_sweep

RESULTS = Path(__file__).parent / "results" / "portfolio.csv"
#: What every table was trained by before the budget.
FIXED = {"batch_size": 256, "n_epochs": 60, "warm_up_epochs": 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=["crime", "household", "motor", "claims"])
    parser.add_argument("--rows", nargs="+", type=int, default=[20_000, 60_000], help="of simulated claims")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    found = []
    for dataset in _data_sets(options.data, options.rows):
        plan = default_plan(
            dataset,
            methods=("standard", "hgr_spline"),
            n_splits=options.splits,
            confirmation=0.0,
            tariff=False,
        )
        plan = with_lams_found(dataset, plan)
        fixed = replace(plan, settings=replace(plan.settings, **FIXED))
        for schedule, each in (("fixed", fixed), ("budget", plan)):
            found.append(_measured(dataset, each).assign(schedule=schedule))
            print(found[-1].to_string(index=False), flush=True)
    pd.concat(found, ignore_index=True).to_csv(RESULTS, index=False)


def _data_sets(names: list[str], rows: list[int]) -> Iterator[Dataset]:
    for name in names:
        if name != "claims":
            yield fd.load_dataset(name)
            continue
        for n in rows:
            table = claims(n)
            features = [c for c in table if c not in ("IDpol", "ClaimNb", "Exposure", "DrivAge")]
            roles = Roles(
                target="ClaimNb",
                sensitive=("DrivAge",),
                features=tuple(features),
                weight="Exposure",
                rate=True,
            )
            yield build_dataset(table, roles, name=f"claims of {n:,} rows")


def _measured(dataset: Dataset, plan: Sweep) -> pd.DataFrame:
    """A row a method and λ, means over the splits."""
    begun = time.process_time()
    trained = train_sweep(dataset, plan)
    seconds = time.process_time() - begun
    frame = assess_predictions(
        dataset,
        trained.predictions,
        trained.members,
        trained.splits,
        objective=plan.objective,
        loss=plan.settings.loss_function,
        measures=("hgr_kde",),
        random_state=0,
        n_permutations=39,
        parts=("test",),
    )
    error = "deviance" if plan.settings.loss_function.power else "mse"
    means = (
        frame.rename(columns={error: "error"})
        .groupby(["method", "lam"], as_index=False)[["error", "hgr_kde", "hgr_kde_floor"]]
        .mean()
    )
    means = means.sort_values(["method", "lam"], ascending=[False, True]).round(4)
    settings = plan.settings
    return means.assign(
        data=dataset.name,
        rows=dataset.n_rows,
        batch=settings.batch_size,
        epochs=settings.n_epochs,
        cpu_s=round(seconds, 1),
    )


if __name__ == "__main__":
    main()
