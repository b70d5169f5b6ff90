"""Schedules of the adversary's steps: cost, and error at equal dependence, of networks with an adversary.

    FAIRDASH_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.adversary_schedule [--data crime] [--splits 5]
    python -m benchmarks.adversary_schedule --data crime --schedule falling --out parts/crime_falling.csv
    python -m benchmarks.adversary_schedule --combine parts/*.csv

Trains the method with both schedules of `TrainingSettings.adversary_schedule` on the same splits, with the
same weight decays and at the same weights λ, which a pilot with the constant schedule selects. Processes can
share the work by data set and by schedule. Each writes one row per split, schedule and λ: the loss on test
rows divided by that of a constant prediction, and HGR (splines, corrected) with its floor.

Writes results/adversary_schedule.csv, one row per data set. `excess` is the error with the falling schedule
divided by that with the constant one, less 1, at the points where each path first falls to 75, 50 and 25 % of
the standard model's dependence (linear interpolation between two weights, over the `reached` splits in which
both paths fall that far and the level is above the floor); means with 95 % intervals of Nadeau and Bengio.
`cpu_s` are the CPU seconds of the fair networks of all splits. In the committed file, household and
claims_20k have 3 splits, and chi2_nn has the options `--splits 3 --lams 0.1 0.3 0.7 1.5 3 6 12`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.portfolio import DATA, errors_of
from benchmarks.postprocessor import crossing
from fairdash.evaluation.bench import LEVELS, with_interval
from fairdash.evaluation.execute_sweep import with_lams_found
from fairdash.training.crossvalidation import settings_of_splits, tune
from fairdash.training.defaults import default_settings
from fairdash.training.models import train_models, with_standard
from fairdash.training.sweep import STANDARD, default_plan

RESULTS = Path(__file__).parent / "results" / "adversary_schedule.csv"
SCHEDULES = ("constant", "falling")


def measured(
    name: str, method: str, schedules: list[str], n_splits: int, lams: list[float] | None
) -> Iterator[pd.DataFrame]:
    """A frame per schedule, with one row per model; without weights `lams`, a pilot selects them."""
    dataset = DATA[name]()
    methods, options = (STANDARD, method), {"confirmation": 0.0, "tariff": False, "device": "cpu"}
    settings = replace(default_settings(dataset), adversary_schedule="constant")
    plan = default_plan(dataset, methods=methods, n_splits=n_splits, settings=settings, tune=True, **options)
    found = with_lams_found(dataset, plan).lams if lams is None else tuple(lams)
    plan = replace(plan, lams=found, find_lams=False)
    print(name, method, *plan.lams, flush=True)
    splits, device = plan.splits(dataset), plan.device_for(dataset.n_rows)
    tuning, standard = tune(dataset, splits, plan.settings, random_state=plan.random_state, device=device)
    for schedule in schedules:
        settings = replace(plan.settings, adversary_schedule=schedule)
        models = plan.models(settings_of_splits(tuning, settings))
        begun = time.process_time()
        fair = train_models(
            dataset,
            splits,
            [model for model in models if model.method == method],
            objective=plan.objective,
            random_state=plan.random_state,
            device=device,
        )
        seconds = time.process_time() - begun
        trained = with_standard(fair, standard, [model.method == STANDARD for model in models])
        yield (
            errors_of(dataset, trained, splits, plan)
            .drop(columns="method")
            .assign(
                data=name,
                method=method,
                schedule=schedule,
                cpu_s=seconds,
                test_to_train=len(splits[0].test) / len(splits[0].train),
            )
        )


def compared(rows: pd.DataFrame) -> dict[str, object]:
    """The row of a data set and method."""
    row: dict[str, object] = {"data": rows["data"].iloc[0], "method": rows["method"].iloc[0]}
    row["splits"] = rows["split"].nunique()
    for schedule, own in rows.groupby("schedule"):
        row[f"cpu_s_{schedule}"] = own["cpu_s"].iloc[0]
    for level in LEVELS:
        excess = []
        for _, split in rows.groupby("split"):
            paths = [split[split["schedule"] == each].sort_values("lam") for each in SCHEDULES]
            wanted = level * paths[0]["dependence"].iloc[0]
            if wanted > paths[0]["floor"].mean():
                constant, falling = (crossing(path, wanted) for path in paths)
                excess.append(falling / constant - 1)
        row[f"reached_{100 * level:.0f}"] = int(np.isfinite(excess).sum())
        row |= with_interval(np.array(excess), f"excess_{100 * level:.0f}", rows["test_to_train"].iloc[0])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = ["crime", "household", "counties", "claims_20k"]
    parser.add_argument("--data", nargs="+", default=names, choices=list(DATA))
    parser.add_argument("--method", default="hgr_nn")
    parser.add_argument("--schedule", nargs="+", default=list(SCHEDULES), choices=SCHEDULES)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--lams", type=float, nargs="+", help="weights of an earlier pilot, as printed")
    parser.add_argument("--out", type=Path, help="write the models' rows here, and no summary")
    parser.add_argument("--combine", nargs="+", type=Path, help="summarise such files and train nothing")
    options = parser.parse_args()
    # Warnings about levels that the training rows of a split lack say nothing about the schedules.
    warnings.simplefilter("ignore", UserWarning)
    if options.combine:
        rows = pd.concat([pd.read_csv(part) for part in options.combine], ignore_index=True)
    else:
        of_data = [
            frame
            for name in options.data
            for frame in measured(name, options.method, options.schedule, options.splits, options.lams)
        ]
        rows = pd.concat(of_data, ignore_index=True)
    if options.out:
        rows.to_csv(options.out, index=False)
        return
    table = pd.DataFrame([compared(own) for _, own in rows.groupby(["method", "data"], sort=False)])
    print(table.T.to_string())
    table.round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
