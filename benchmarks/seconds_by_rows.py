"""Seconds by number of rows: a front of 24 networks compared with a GLM, boosted trees and a fair tariff.

    OMP_NUM_THREADS=1 python -m benchmarks.seconds_by_rows [--rows 1000 10000 100000]

Simulated policies (:func:`benchmarks.large_table.claims`) with twelve columns. Each model is fitted once on
the rows of one split: scikit-learn's Poisson GLM, its histogram gradient boosting with Poisson loss and early
stopping, a tariff of fairdash, and, trained together, Fair spline networks at 8 weights λ in 3 splits of as
many rows. Writes results/seconds_by_rows.csv, line by line.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import PoissonRegressor

import fairdash as fd
from benchmarks.portfolio import simulated
from fairdash.data.dataset import Dataset
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.sweep import default_plan, train_sweep
from fairdash.utils.trees import boosted_trees

RESULTS = Path(__file__).parent / "results" / "seconds_by_rows.csv"
LAMS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
N_SPLITS = 3


def fits(dataset: Dataset) -> Iterator[tuple[str, Callable[[], object]]]:
    """Models by name, each with a function that fits it once."""
    plan = default_plan(
        dataset,
        methods=("hgr_spline",),
        lams=LAMS,
        n_splits=N_SPLITS,
        confirmation=0.0,
        tune=False,
        tariff=False,
        device="cpu",
    )
    rows = plan.splits(dataset)[0].train
    features = dataset.features.iloc[rows].reset_index(drop=True)
    y, years = dataset.target.to_numpy(float)[rows], np.asarray(dataset.weight, dtype=float)[rows]
    s = dataset.sensitive.iloc[rows].reset_index(drop=True)
    x = FeatureEncoder.fit(features).transform(features)
    coded = features.apply(lambda column: column if column.dtype.kind in "iuf" else column.astype("category"))
    trees = boosted_trees(
        loss="poisson", early_stopping=True, random_state=0, categorical_features="from_dtype"
    )
    yield "GLM", lambda: PoissonRegressor(alpha=1e-6, max_iter=300).fit(x, y, sample_weight=years)
    yield "boosted trees", lambda: trees.fit(coded, y, sample_weight=years)
    tariff = fd.FairTariff(loss="poisson", lam=0.3, random_state=0)
    yield "fair tariff", lambda: tariff.fit(features, y, sensitive_features=s, sample_weight=years)
    yield f"{len(LAMS) * N_SPLITS} networks", lambda: train_sweep(dataset, plan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", nargs="+", type=int, default=[1_000, 10_000, 100_000, 678_000, 2_000_000, 5_000_000]
    )
    found = []
    for n in parser.parse_args().rows:
        for model, fit in fits(simulated(n)):
            wall, cpu = time.perf_counter(), time.process_time()
            fit()
            seconds = time.perf_counter() - wall, time.process_time() - cpu
            found.append({"rows": n, "model": model, "wall_s": seconds[0], "cpu_s": seconds[1]})
            print(*found[-1].values(), sep="\t", flush=True)
            pd.DataFrame(found).round(2).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
