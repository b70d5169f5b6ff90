"""The cost that `find_lam` predicts for the chosen weight, compared with that of a refit on new rows.

    OMP_NUM_THREADS=1 python -m benchmarks.find_lam [--seeds 20] [--rows 560 1100 2000] [--methods hgr_spline]

A simulated table has five features, of which x1 and x2 depend on s, and a target that depends mostly on x1.
For every seed a table is drawn, a weight is found by ten folds, and two models are refitted on all rows: the
standard model and the model at this weight. On 4,000 newly drawn rows, the error of the fair model above that
of the standard model is the true cost, which is compared with the prediction. An epoch on nine tenths of 560
or 1,100 rows has one batch fewer than an epoch on all rows; with 2,000 rows the number is the same.

Writes results/find_lam.csv, one line per seed; existing lines are kept, so an interrupted study continues.
results/find_lam_before.csv is from an earlier version, in which the models of the folds had as many epochs as
the refit instead of as many steps.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.data.dataset import Dataset

RESULTS = Path(__file__).parent / "results"
FRESH = 4000
KEY = ["method", "rows", "seed"]
#: An excess that is well above noise and requires removing more than half of the link.
TARGET, LAMS = "hgr_spline<=floor+0.15", (0.5, 1.0, 2.0, 4.0)


def table(n: int, seed: int) -> Dataset:
    """n rows of the simulated table."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    x = rng.normal(size=(n, 5))
    x[:, 0] = 0.8 * s + 0.6 * x[:, 0]
    x[:, 1] = np.abs(s) + 0.5 * x[:, 1]
    y = x[:, 0] + 0.5 * x[:, 1] + 0.6 * x[:, 2] + 0.3 * x[:, 2] * x[:, 3] + 1.2 * rng.normal(size=n)
    return Dataset(
        name=f"simulated {n}",
        features=pd.DataFrame(x, columns=[f"x{j + 1}" for j in range(5)]),
        target=pd.Series(y, name="y"),
        sensitive=pd.DataFrame({"s": s}),
    )


def foretold_and_found(n: int, seed: int, method: str) -> dict[str, float]:
    """For one seed: the predicted cost, and the cost of the refits on new rows, in per cent."""
    data, fresh = table(n, seed), table(FRESH, 10_000 + seed)
    choice = fd.find_lam(data, target=TARGET, method=method, lams=LAMS, random_state=seed, device="cpu")
    row = choice.frame.set_index("lam").loc[choice.lam]
    errors = {}
    for lam in (0.0, choice.lam):
        model = fd.FairRegressor(method=method, lam=lam, random_state=seed, device="cpu")
        model.fit(data.features, data.target, sensitive_features=data.sensitive)
        errors[lam] = float(((model.predict(fresh.features) - fresh.target) ** 2).mean())
    return {
        "lam": choice.lam,
        "foretold": 100 * float(row["increase"]),
        "found": 100 * (errors[choice.lam] / errors[0.0] - 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[560, 1100, 2000])
    parser.add_argument("--methods", nargs="+", default=["hgr_spline"])
    parser.add_argument("--out", type=Path, default=RESULTS / "find_lam.csv")
    options = parser.parse_args()
    kept = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame(columns=KEY)
    for method, n, seed in itertools.product(options.methods, options.rows, range(options.seeds)):
        if (kept[KEY] == [method, n, seed]).all(axis=1).any():
            continue
        begun = time.monotonic()
        row = {"method": method, "rows": n, "seed": seed, **foretold_and_found(n, seed, method)}
        kept = pd.concat([kept, pd.DataFrame([row])], ignore_index=True).sort_values(KEY)
        kept.to_csv(options.out, index=False, float_format="%.4g")
        print(row, f"{time.monotonic() - begun:.0f} s", flush=True)
    for (method, n), rows in kept.groupby(["method", "rows"]):
        gap = rows["foretold"].astype(float) - rows["found"].astype(float)
        print(
            f"{method}, {n} rows, {len(rows)} seeds: foretold {rows['foretold'].mean():.1f} %, found "
            f"{rows['found'].mean():.1f} %, difference {gap.mean():+.1f} ± {gap.sem():.1f} points"
        )


if __name__ == "__main__":
    main()
