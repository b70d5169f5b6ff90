r"""Fair tariffs on the motor policies: their cost along λ, and the time to fit many of them.

    FAIRDASH_DATA=… python -m benchmarks.tariff [--splits 5]

Writes results/tariff.csv: claims per year of pg15training (exposure as weight), one tariff per λ and split
with the defaults; test deviance divided by that of a constant, and hgr_spline with age on the test rows, as
means over the splits. For comparison, the table has scikit-learn's GLM on the columns of the tariff, with
another solver (L-BFGS), and the linear benchmark of every run. Also writes results/tariff_seconds.csv: 8 λ ×
5 splits of a simulated table of 100,000 rows and 12 columns (7 numbers, 5 categories), in wall seconds and
processor seconds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import TweedieRegressor

import fairdash as fd
from fairdash.data.published import motor
from fairdash.tariff.choosing import TermOptions, choose_terms
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.path import fit_tariffs
from fairdash.tariff.terms import design
from fairdash.training.baselines import LINEAR, train_baselines
from fairdash.training.losses import find_loss
from fairdash.training.splits import Split, random_splits

RESULTS = Path(__file__).parent / "results"
LAMS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 1.0, 3.0)
POISSON = find_loss("poisson")


def fronts(dataset: fd.Dataset, splits: Sequence[Split]) -> Iterator[dict[str, object]]:
    """One row per model and split: test deviance divided by that of a constant, and test dependence."""
    y, weight = dataset.target.to_numpy(dtype=float), dataset.weight.to_numpy(dtype=float)
    age = dataset.sensitive.iloc[:, 0].to_numpy(dtype=float)

    def row(method: str, lam: float, j: int, predictions: np.ndarray) -> dict[str, object]:
        test = splits[j].test
        return {
            "method": method,
            "lam": lam,
            "deviance": POISSON.relative(y, predictions, weight, rows=test, train=splits[j].train),
            "hgr_spline": fd.measure("hgr_spline", predictions[test], age[test]),
            "deviance_train": POISSON.mean_deviance(
                y[splits[j].train], predictions[splits[j].train], weight[splits[j].train]
            ),
        }

    fitted = fit_tariffs(dataset, splits, lams=LAMS, options=FitOptions(loss=POISSON))
    for member, predictions in zip(fitted.members.itertuples(), fitted.predictions, strict=True):
        yield row("fair_tariff", member.lam, member.split, predictions) | {"steps": member.best_epoch}
    for j, split in enumerate(splits):
        train = split.train
        own = dataset.features.iloc[train]
        terms = choose_terms(own, weight[train], TermOptions())
        unit = np.average(y[train], weights=weight[train])
        glm = TweedieRegressor(power=1, link="log", alpha=1e-5, tol=1e-8, max_iter=5000)
        glm.fit(design(terms, own), y[train] / unit, sample_weight=weight[train])
        yield row("glm_same_columns", 0.0, j, unit * glm.predict(design(terms, dataset.features)))
    members, predictions = train_baselines(dataset, splits, loss=POISSON)
    for member, each in zip(members.itertuples(), predictions, strict=True):
        if member.method == LINEAR:
            yield row("linear_benchmark", 0.0, member.split, each)


def simulated(n: int = 100_000, seed: int = 0) -> fd.Dataset:
    """Claims per year by 7 numbers and 5 categories, some of which are related to age."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 80, size=n)
    features = pd.DataFrame({f"number_{k}": rng.gamma(2, 1, n) + k * age / 60 for k in range(7)})
    for k, levels in enumerate((2, 5, 8, 12, 20)):
        features[f"category_{k}"] = np.char.add("L", rng.integers(levels, size=n).astype(str))
    years = rng.uniform(0.2, 1, size=n)
    mean = 0.15 * np.exp(0.1 * features["number_1"] + 0.1 * features["number_6"].clip(upper=12))
    return fd.Dataset(
        name="simulated",
        features=features,
        target=pd.Series(rng.poisson(mean * years) / years, name="claims"),
        sensitive=pd.DataFrame({"age": age}),
        weight=pd.Series(years, name="years"),
    )


def seconds() -> dict[str, object]:
    """Seconds for 8 λ × 5 splits."""
    dataset = simulated()
    splits = random_splits(dataset.n_rows, n_splits=5, random_state=0)
    used = time.process_time()
    fitted = fit_tariffs(dataset, splits, lams=LAMS, options=FitOptions(loss=POISSON))
    return {
        "rows": dataset.n_rows,
        "columns": dataset.features.shape[1],
        "models": len(fitted.members),
        "seconds": fitted.seconds,
        "processor_seconds": time.process_time() - used,
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "most_steps": fitted.members["best_epoch"].max(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    took = pd.DataFrame([seconds()])
    print(took.to_string(index=False), flush=True)
    took.to_csv(RESULTS / "tariff_seconds.csv", index=False, float_format="%.3g")
    dataset = motor(target="frequency")
    splits = random_splits(dataset.n_rows, n_splits=options.splits, random_state=0)
    table = pd.DataFrame(fronts(dataset, splits))
    means = table.groupby(["method", "lam"], sort=False).mean().reset_index()
    print(means.to_string(index=False, float_format="{:.5f}".format))
    means.to_csv(RESULTS / "tariff.csv", index=False, float_format="%.8g")


if __name__ == "__main__":
    main()
