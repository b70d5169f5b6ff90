"""The cost that `find_lam` predicts for the chosen weight, beside that of a refit on fresh rows.

    OMP_NUM_THREADS=1 python -m benchmarks.find_lam [--seeds 20] [--rows 560 1100 2000] [--methods hgr_spline]

A simulated table: five features, of which x1 and x2 follow s, and a target that follows x1 most. For every
seed a table is drawn, a weight is found by ten folds, and two models are refitted on all its rows: the
standard one and the one at the weight found. Their errors on 4,000 rows of another draw give the cost, the
fair model's error above the standard one's, that was to be foretold. Nine tenths of 560 and of 1,100 rows
hold a batch less an epoch than all of them; those of 2,000 hold as many.

Writes results/find_lam.csv, a line a seed; lines that are there are kept, so that it goes on where it was
stopped. results/find_lam_before.csv is from before: the folds' models had as many epochs as the refit, not as
many steps.
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
#: Excess that stays well above noise and takes more than half of the link away.
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
    """One seed: the cost that was foretold, and that of the refits on fresh rows, in per cent."""
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
