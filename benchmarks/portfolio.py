"""Large and weak tables: a budget of steps compared with a fixed schedule; range of default weights.

    FAIRDASH_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.portfolio [--data crime] [--splits 10]
    python -m benchmarks.portfolio --data claims_150k --first-split 2 --splits 2 --out parts/claims_150k_2.csv
    python -m benchmarks.portfolio --combine parts/*.csv
    python -m benchmarks.portfolio --openings [--data crime]

Standard network and Fair spline network are trained with both schedules on the same splits and at the same
default weights λ; each finds its weight decay on validation rows as its version does. The fixed schedule is
that of commit 9ba3690: batches of 256, 60 epochs including 10 of warm-up; up to about 5,000 rows the budget
is the same. Processes can share the work by data set or by range of splits. Each writes one row per split,
schedule, method and λ: the loss on test rows divided by that of a constant prediction, and HGR (splines,
corrected) with its floor.

Writes results/portfolio.csv, one row per data set. `excess` is the error of the budget divided by that of the
fixed schedule, less 1, for the standard model and at the points where each path first falls to 75, 50 and 25
% of the standard models' dependence (linear interpolation between two weights, over the `reached` splits in
which both paths fall that far); means with 95 % intervals of Nadeau and Bengio. `between` is the number of
default weights with a mean dependence below the standard model's and above the floor. The last rows are means
over all data sets, and over those with claims, with intervals of Student's t over the data sets.

Writes results/portfolio_openings.csv, one row per data set: the point that the trade-off page shows first for
its run, with only the first method. `opening_at` is the position of this point on the way from the standard
model's dependence (0) to the floor (1), on test rows; one third to two thirds is the middle.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import fairdash as fd
from benchmarks.large_table import claims, roles_of_claims
from benchmarks.postprocessor import crossing, dataset_of
from benchmarks.tariff_rivals import tables
from fairdash.data.building import build_dataset
from fairdash.data.dataset import Dataset
from fairdash.evaluation import DEFAULT_MEASURE, wide
from fairdash.evaluation.assess import assess_predictions
from fairdash.evaluation.bench import LEVELS as SHARES
from fairdash.evaluation.bench import with_interval
from fairdash.evaluation.execute_sweep import execute_sweep, with_lams_found
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD, Sweep, default_plan, train_sweep
from fairdash.views.reports.fronts import Front

RESULTS = Path(__file__).parent / "results" / "portfolio.csv"
#: The schedule for every table before the budget was introduced.
FIXED = {"batch_size": 256, "n_epochs": 60, "warm_up_epochs": 10}
SCHEDULES = ("fixed", "budget")
#: Number of rows drawn from the larger real tables.
ROWS = 30_000
PERMUTATIONS = 39


def simulated(n: int) -> Dataset:
    table = claims(n)
    return build_dataset(table, roles_of_claims(table), name=f"claims of {n:,} rows")


def real(wanted: str) -> Dataset:
    return next(dataset_of(name, table) for name, table in tables(ROWS) if name == wanted)


DATA: dict[str, Callable[[], Dataset]] = {
    "crime": lambda: fd.load_dataset("crime"),
    "household": lambda: fd.load_dataset("household"),
    "counties": lambda: fd.load_dataset("census_county"),
    "motor_frequency": lambda: fd.load_dataset("motor", target="frequency", n=ROWS),
    "motor_cost": lambda: fd.load_dataset("motor", target="cost", n=ROWS),
    # Other claims of the same table: claims for bodily injury, in 1 of 20 policies.
    "pg15training": lambda: real("bodily"),
    "freMPL1": lambda: real("freMPL1"),
    "claims_5k": lambda: simulated(5_000),
    "claims_20k": lambda: simulated(20_000),
    "claims_60k": lambda: simulated(60_000),
    "claims_150k": lambda: simulated(150_000),
}


def measured(name: str, *, first_split: int, n_splits: int) -> Iterator[pd.DataFrame]:
    """A frame per split and schedule, with one row per model."""
    dataset = DATA[name]()
    plan = default_plan(dataset, methods=(STANDARD, "hgr_spline"), n_splits=1, confirmation=0.0, tariff=False)
    # The weights of every split are those that the page would use for the table.
    plan = with_lams_found(dataset, plan)
    fixed = replace(plan, tune=True, settings=replace(plan.settings, **FIXED))
    for split in range(first_split, first_split + n_splits):
        for schedule, each in zip(SCHEDULES, (fixed, plan), strict=True):
            frame = models_of(dataset, replace(each, random_state=split))
            yield frame.assign(data=name, rows=dataset.n_rows, split=split, schedule=schedule)


def models_of(dataset: Dataset, plan: Sweep) -> pd.DataFrame:
    """Error, dependence and floor of the models of one split."""
    begun = time.process_time()
    trained = train_sweep(dataset, plan)
    seconds = time.process_time() - begun
    (split,) = trained.splits
    return (
        errors_of(dataset, trained, trained.splits, plan)
        .drop(columns="split")
        .assign(
            claims=bool(plan.settings.loss_function.power),
            batch=plan.settings.batch_size,
            epochs=plan.settings.n_epochs,
            test_to_train=len(split.test) / len(split.train),
            cpu_s=seconds,
        )
    )


def errors_of(dataset: Dataset, trained: Any, splits: Sequence[Split], plan: Sweep) -> pd.DataFrame:
    """Method, λ, split, error, dependence and floor of trained models on the test rows of each split."""
    loss = plan.settings.loss_function
    frame = wide(
        assess_predictions(
            dataset,
            trained.predictions,
            trained.members,
            splits,
            objective=plan.objective,
            loss=loss,
            measures=(DEFAULT_MEASURE,),
            random_state=plan.random_state,
            n_permutations=PERMUTATIONS,
            parts=("test",),
        )
    )
    names = {
        "deviance" if loss.power else "mse": "error",
        DEFAULT_MEASURE: "dependence",
        f"{DEFAULT_MEASURE}_floor": "floor",
    }
    return frame[["method", "lam", "split", *names]].rename(columns=names)


def compared(rows: pd.DataFrame) -> dict[str, object]:
    """The row of a data set."""
    ratio = float(rows["test_to_train"].iloc[0])
    budget = rows[rows["schedule"] == "budget"]
    row: dict[str, object] = {
        "data": rows["data"].iloc[0],
        "claims": bool(rows["claims"].iloc[0]),
        "rows": rows["rows"].iloc[0],
        "splits": rows["split"].nunique(),
        "batch": budget["batch"].iloc[0],
        "epochs": budget["epochs"].iloc[0],
    }
    for schedule, own in rows.groupby("schedule"):
        row[f"cpu_s_{schedule}"] = own.groupby("split")["cpu_s"].first().mean()
    standard = rows[rows["lam"] == 0].pivot(index="split", columns="schedule", values=["error", "dependence"])
    excess = {"standard": (standard["error"]["budget"] / standard["error"]["fixed"] - 1).to_numpy()}
    wanted = standard["dependence"].mean(axis=1)
    for share in SHARES:
        found = {
            key: crossing(path.sort_values("lam"), share * wanted[key[0]])
            for key, path in rows.groupby(["split", "schedule"])
        }
        pairs = pd.Series(found).unstack()
        excess[f"at_{100 * share:.0f}"] = (pairs["budget"] / pairs["fixed"] - 1).to_numpy()
    for at, values in excess.items():
        there = values[np.isfinite(values)]
        row[f"reached_{at}"] = len(there)
        row |= with_interval(there, f"excess_{at}", ratio)
    means = budget.groupby("lam")[["dependence", "floor"]].mean()
    floor, path = means["floor"].mean(), means["dependence"]
    top = path.loc[0.0]
    row["weights"] = len(path) - 1
    row["between"] = int(((path < top) & (path > floor)).sum())
    row["dependence"], row["floor"] = top, floor
    return row


def opening_of(name: str) -> dict[str, object]:
    """The point that the page shows first for a data set."""
    dataset = DATA[name]()
    plan = default_plan(dataset, methods=(STANDARD, "hgr_spline"), tariff=False)
    result = execute_sweep(dataset, plan, measures=(DEFAULT_MEASURE,), importance=False, references=False)
    plan = result.sweep
    front = Front.of(result, objective=plan.objective, sensitive=dataset.roles.sensitive[0])
    lam = front.opening
    path = front.rows(DEFAULT_MEASURE).set_index("lam")
    top, floor = path.loc[0.0, "value"], path["floor"].mean()
    return {
        "data": name,
        "splits": plan.n_splits,
        "opening": lam,
        "trained": lam in plan.lams,
        "opening_at": round((top - path.loc[lam, "value"]) / (top - floor), 4),
    }


def summary(parts: Sequence[Path]) -> pd.DataFrame:
    """One row per data set, and the means over data sets."""
    rows = pd.concat([pd.read_csv(part) for part in parts], ignore_index=True)
    table = pd.DataFrame([compared(own) for _, own in rows.groupby("data", sort=False)])
    table = table.sort_values("data", key=lambda data: data.map(list(DATA).index)).reset_index(drop=True)
    ends = [name.removeprefix("reached_") for name in table if name.startswith("reached_")]
    for title, own in (("all", table), ("all with claims", table[table["claims"]])):
        last: dict[str, object] = {"data": title}
        for at in ends:
            values = own[f"excess_{at}"].dropna()
            off = stats.t.ppf(0.975, len(values) - 1) * values.sem() if len(values) > 1 else np.nan
            mean = values.mean()
            last |= {f"excess_{at}": mean, f"excess_{at}_low": mean - off, f"excess_{at}_high": mean + off}
        table = pd.concat([table, pd.DataFrame([last])], ignore_index=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write the models' rows here, and no summary")
    parser.add_argument("--openings", action="store_true", help="where the page opens, and nothing else")
    parser.add_argument("--combine", nargs="+", type=Path, help="summarise such files and train nothing")
    options = parser.parse_args()
    warnings.simplefilter(
        "ignore", UserWarning
    )  # warnings about levels that the training rows of a split lack
    if not options.combine and not options.out:
        openings = []
        for name in options.data:
            openings.append(opening_of(name))
            print(openings[-1], flush=True)
            pd.DataFrame(openings).to_csv(RESULTS.with_name("portfolio_openings.csv"), index=False)
    parts = options.combine
    if not parts and not options.openings:
        parts = [options.out or RESULTS.with_name("portfolio_models.csv")]
        found: list[pd.DataFrame] = []
        for name in options.data:
            for frame in measured(name, first_split=options.first_split, n_splits=options.splits):
                found.append(frame)
                print(frame.round(4).to_string(index=False), flush=True)
                # Write after each part, so that finished rows survive an interruption.
                pd.concat(found, ignore_index=True).to_csv(parts[0], index=False)
    if options.combine or not (options.out or options.openings):
        table = summary(parts)
        print(table.T.to_string())
        table.round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
