"""Test loss of the standard network, tuned as in a run, compared with ridge or a GLM and with boosted trees.

    OMP_NUM_THREADS=1 FAIRDASH_DATA=… python -m benchmarks.standard [--data Crime …] [--models network …]

Each loss is divided by that of the training rows' mean on the same test rows; the difference is the model's
loss less that of the linear model, with the standard error of Nadeau and Bengio: 20 splits of Crime, five of
the other data sets. Motor has 30,000 policies drawn at random. A fifth of each split's training rows is used
to choose each model's settings. Seconds are processor seconds per split, for comparing and choosing settings.
Writes results/standard.csv, each row as soon as it is computed; rows of other data and models are kept.

network         the default: tanh, 32-16-8, on numbers as they are
network, scores numbers and the normal scores of their ranks, ReLU, 64-32
network, bins   a piecewise-linear encoding of eight bins, ReLU, 64-32
linear, bins    ridge or GLM on the piecewise-linear encoding
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.evaluation import corrected_standard_error
from fairdash.training.baselines import TREES, linear_predictions, train_baselines
from fairdash.training.feature_encoder import encode_rows
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, with_held_out
from fairdash.training.sweep import Sweep, train_sweep

RESULTS = Path(__file__).parent / "results"
N_SPLITS, VALIDATION_SHARE = 5, 0.2
#: For Crime, the differences are small compared with their variation over five splits.
SPLITS = {"Crime": 20}
NETWORKS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "network": {},
        "network, scores": {"architecture": "scores", "hidden": (64, 32)},
        "network, bins": {"architecture": "bins", "hidden": (64, 32)},
    }
)
LINEARS: Mapping[str, str | None] = MappingProxyType({"linear": None, "linear, bins": "bins"})
MODELS = (*LINEARS, *NETWORKS, "trees")


def simulated_claims(n: int = 12_000, *, curved: bool = True) -> fd.Dataset:
    """Rates of rare claims by exposure: about 8 % of the policies have a claim.

    The logarithm of the rates is linear in the features, so that models beat a GLM only by chance; or, if
    `curved`, new and old cars have more claims, and dense regions have more where cars are powerful.
    """
    rng = np.random.default_rng(0)
    age, power, density = rng.uniform(18, 85, n), rng.normal(size=n), rng.normal(size=n)
    region = rng.choice(list("abcde"), n)
    exposure, car = rng.uniform(0.1, 1.0, n), rng.uniform(0, 20, n)
    effect = 0.25 * power + 0.2 * density + 0.3 * (age < 25) + 0.1 * (region == "a")
    if curved:
        effect = effect + 0.006 * (car - 10) ** 2 - 0.2 + 0.2 * power * density
    counts = rng.poisson(exposure * 0.13 * np.exp(effect))
    return fd.Dataset(
        name="simulated claims",
        features=pd.DataFrame(
            {"power": power, "density": density, "car": car, "region": pd.Categorical(region)}
        ),
        target=pd.Series(counts / exposure, name="frequency"),
        sensitive=pd.DataFrame({"age": age}),
        weight=pd.Series(exposure, name="exposure"),
    )


CASES: dict[str, tuple[str, Callable[[], fd.Dataset]]] = {
    "Crime": ("squared_error", lambda: fd.load_dataset("crime")),
    "household": ("squared_error", lambda: fd.load_dataset("household")),
    "Motor, cost": ("squared_error", lambda: fd.load_dataset("motor", n=30_000)),
    "Motor, frequency": ("poisson", lambda: fd.load_dataset("motor", target="frequency", n=30_000)),
    "simulated claims": ("poisson", simulated_claims),
    "simulated claims, log-linear": ("poisson", lambda: simulated_claims(curved=False)),
}


def predictions(
    dataset: fd.Dataset, name: str, *, loss_name: str, n_splits: int
) -> tuple[tuple[Split, ...], np.ndarray]:
    """The splits, and the predictions of one model for each split, (splits, n)."""
    settings = TrainingSettings(loss=loss_name, **NETWORKS.get(name, {}))
    plan = Sweep(
        methods=("standard",),
        lams=(),
        n_splits=n_splits,
        validation_share=VALIDATION_SHARE,
        settings=settings,
        tune=True,
        device="cpu",
    )
    if name in NETWORKS:
        trained = train_sweep(dataset, plan)
        return trained.splits, trained.predictions
    splits, loss = plan.splits(dataset), settings.loss_function
    if name == "trees":
        members, found = train_baselines(dataset, splits, loss=loss)
        return splits, found[members["method"] == TREES]
    weight = np.ones(dataset.n_rows) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    linear = []
    for split in splits:
        rows = encode_rows(dataset, split.train, loss, embedding=LINEARS[name])
        fitted = linear_predictions(rows, weight, split, with_held_out(split, random_state=0), loss)
        linear.append(rows.target_scale.undo(fitted))
    return splits, np.array(linear)


def losses(dataset: fd.Dataset, name: str, *, loss_name: str, n_splits: int) -> tuple[np.ndarray, float]:
    """Test loss of each split, divided by a constant prediction's; and the ratio of test to training rows."""
    splits, found = predictions(dataset, name, loss_name=loss_name, n_splits=n_splits)
    loss = TrainingSettings(loss=loss_name).loss_function
    y = dataset.target.to_numpy(dtype=float)
    weight = np.ones(len(y)) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    each = [
        loss.relative(y, y_pred, weight, rows=split.test, train=split.train, base=split.test)
        for split, y_pred in zip(splits, found, strict=True)
    ]
    return np.array(each), len(splits[0].test) / len(splits[0].train)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    for data in options.data:
        loss_name, load = CASES[data]
        n_splits = SPLITS.get(data, N_SPLITS)
        dataset = load()
        linear, _ = losses(dataset, "linear", loss_name=loss_name, n_splits=n_splits)
        for model in options.models:
            started = time.process_time()
            found, ratio = losses(dataset, model, loss_name=loss_name, n_splits=n_splits)
            seconds = time.process_time() - started
            difference = found - linear
            error = corrected_standard_error(
                float(difference.var(ddof=1)), n_splits=n_splits, test_to_train=ratio
            )
            _keep(
                {
                    "data": data,
                    "rows": dataset.n_rows,
                    "loss": loss_name,
                    "splits": n_splits,
                    "model": model,
                    "error": found.mean(),
                    "difference": difference.mean(),
                    "difference_se": error,
                    "seconds": seconds / n_splits,
                }
            )


def _keep(row: dict[str, object]) -> None:
    """Replace the existing row for the same data and model in the table by a new one."""
    print(row, flush=True)
    path = RESULTS / "standard.csv"
    table = pd.DataFrame([row])
    if path.exists():
        before = pd.read_csv(path)
        same = (before["data"] == row["data"]) & (before["model"] == row["model"])
        table = pd.concat([before[~same], table])
    places = table["data"].map(list(CASES).index) * len(MODELS) + table["model"].map(MODELS.index)
    table.iloc[places.argsort()].to_csv(path, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
