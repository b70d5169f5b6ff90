"""Does the standard network, as a run tunes it, keep up with ridge or a GLM? Test loss over five splits.

    OMP_NUM_THREADS=1 FAIRDASH_DATA=… python -m benchmarks.standard

Each loss is divided by that of the training rows' mean on the same test rows; the difference is network less
benchmark, with Nadeau and Bengio's standard error. It should be at most one standard error. Motor is 30,000
policies drawn at random. Writes results/standard.csv.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.assessment import corrected_standard_error
from fairdash.training.baselines import LINEAR, MEAN, train_baselines
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep, train_sweep

RESULTS = Path(__file__).parent / "results"
N_SPLITS, VALIDATION_SHARE = 5, 0.2


def simulated_claims(n: int = 12_000, *, curved: bool = True) -> fd.Dataset:
    """Rates of rare claims by exposure: about 8 % of the policies have one.

    Their logarithm is linear in the features, so that no model can beat a GLM but by chance, or `curved`: new
    and old cars have more claims, and dense regions more where cars are powerful.
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


def compare(name: str) -> dict[str, object]:
    """Network and benchmark on one table."""
    loss_name, load = CASES[name]
    dataset, settings = load(), TrainingSettings(loss=loss_name)
    loss = settings.loss_function
    plan = Sweep(
        methods=("standard",),
        lams=(),
        n_splits=N_SPLITS,
        validation_share=VALIDATION_SHARE,
        settings=settings,
        tune=True,
        device="cpu",
    )
    trained = train_sweep(dataset, plan)
    members, baselines = train_baselines(dataset, trained.splits, loss=loss)
    y = dataset.target.to_numpy(dtype=float)
    weight = np.ones(len(y)) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)

    def losses(predictions: np.ndarray) -> np.ndarray:
        return np.array(
            [
                loss.mean_deviance(y[split.test], y_pred[split.test], weight[split.test])
                for split, y_pred in zip(trained.splits, predictions, strict=True)
            ]
        )

    mean, linear = (losses(baselines[members["method"] == method]) for method in (MEAN, LINEAR))
    network = losses(trained.predictions) / mean
    difference = network - linear / mean
    split = trained.splits[0]
    error = corrected_standard_error(
        float(difference.var(ddof=1)),
        n_splits=N_SPLITS,
        test_to_train=len(split.test) / len(split.train),
    )
    assert trained.tuning is not None
    decays = trained.tuning.loc[trained.tuning["chosen"], "weight_decay"]
    return {
        "data": name,
        "rows": len(y),
        "loss": loss_name,
        "network": network.mean(),
        "benchmark": (linear / mean).mean(),
        "difference": difference.mean(),
        "difference_se": error,
        "within_one_se": bool(difference.mean() <= error),
        "decays": " ".join(f"{each:g}" for each in decays),
        "seconds": trained.seconds,
    }


def main() -> None:
    rows = []
    for name in CASES:
        rows.append(compare(name))
        print(rows[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(RESULTS / "standard.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
