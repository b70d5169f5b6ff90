r"""Smooth curves of tariffs on the motor policies: predictive accuracy, and number of direction changes.

    FAIRDASH_DATA=… python -m benchmarks.tariff_smooth [--splits 3]

Writes results/tariff_smooth.csv: claims per year of pg15training (exposure as weight), tariffs at λ = 0 with
the defaults, with and without smoothing, fitted to 10,000 and to all training rows. It has the test deviance
divided by that of the flat premium, and the number of direction changes of all curves together, as means over
the splits.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.data.published import motor
from fairdash.training.losses import find_loss
from fairdash.training.splits import random_splits

RESULTS = Path(__file__).parent / "results"


def turns(table: pd.DataFrame) -> int:
    """Number of direction changes of the curves in a table of relativities."""
    curves = table[table["kind"] == "breakpoint"].groupby("factor")["relativity"]
    signs = (np.sign(np.diff(each)) for _, each in curves)
    return sum(int((each[1:] * each[:-1] < 0).sum()) for each in signs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    dataset, loss = motor(target="frequency"), find_loss("poisson")
    y, years = dataset.target.to_numpy(dtype=float), dataset.weight.to_numpy(dtype=float)
    rows = []
    for split in random_splits(dataset.n_rows, n_splits=options.splits, random_state=0):
        for n in (10_000, len(split.train)):
            train = split.train[:n]
            for smooth in (0, "auto"):
                tariff = fd.FairTariff(lam=0, smooth=smooth)
                tariff.fit(dataset.features.iloc[train], y[train], sample_weight=years[train])
                premiums = np.full(len(y), np.nan)
                premiums[split.test] = tariff.predict(dataset.features.iloc[split.test])
                deviance = loss.relative(y, premiums, years, rows=split.test, train=train)
                found = {"deviance": deviance, "turns": turns(tariff.relativities())}
                rows.append({"rows": n, "smooth": smooth} | found)
                print(rows[-1], flush=True)
    means = pd.DataFrame(rows).groupby(["rows", "smooth"], sort=False).mean().reset_index()
    means.to_csv(RESULTS / "tariff_smooth.csv", index=False, float_format="%.8g")


if __name__ == "__main__":
    main()
