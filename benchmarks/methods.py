"""Every method by one public protocol, fd.bench: the error of each at equal dependence.

    FAIRDASH_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.methods --only crime --splits 3
    python -m benchmarks.methods --only crime --methods hsic,gdp --out parts/crime_1.csv
    python -m benchmarks.methods --combine parts/*.csv

The tables are those of benchmarks.portfolio. Writes results/methods.csv, a row a table, method, reading and
level, as fd.bench gives them. It runs in parts: see benchmarks.parts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from benchmarks import parts
from benchmarks.portfolio import DATA
from fairdash.evaluation.bench import compare_methods, equal_dependence

RESULTS = Path(__file__).parent / "results" / "methods.csv"


def measured(name: str, methods: Sequence[str] | None, n_splits: int) -> pd.DataFrame:
    found = compare_methods(DATA[name](), methods, n_splits=n_splits, progress=partial(print, flush=True))
    return found.assign(data=name)


def results_of(rows: pd.DataFrame) -> pd.DataFrame:
    # Each part has the standard network.
    rows = rows.drop_duplicates(["data", "method", "lam", "split"])
    found = [equal_dependence(own).assign(data=name) for name, own in rows.groupby("data", sort=False)]
    return pd.concat(found, ignore_index=True).round(4)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--methods", type=lambda text: text.split(","), help="by default all that suit")
    parser.add_argument("--splits", type=int, default=10)
    warnings.simplefilter("ignore", UserWarning)  # levels that training rows of a split don't have

    def work(options: argparse.Namespace) -> parts.Work:
        return ((name, partial(measured, name, options.methods, options.splits)) for name in DATA)

    parts.run(parser, argv, work, results_of, RESULTS, by="data")


if __name__ == "__main__":
    main()
