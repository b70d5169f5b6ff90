"""Errors of all methods at equal dependence on eleven data sets, by one public protocol (fd.bench).

    FAIRDASH_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.methods [--splits 10] [--hours 1.1]
    python -m benchmarks.methods --data crime --methods hsic,gdp --splits 3
    python -m benchmarks.methods --combine

The first command can be interrupted and continued: split by split, it appends the rows of each data set and
method to results/methods_models.csv and measures what is missing. A data set has at most ROWS rows, drawn at
random, and `regions` twice as many. Adversarial methods take most of the time and follow after the other
methods of all splits, except `hgr_nn` on the first split. The command writes
fairdash/views/reports/methods.csv with one row per data set, method, measure and level, as fd.bench returns
them, for the finished splits.

- `crime`, `household` (simulated, a cost without noise) and `counties`, from the catalogue.
- `pg15training` (material claims) and `freMPL1`: claims a year along the driver's age.
- `claims_line`, `claims_u`, `claims_young` and `claims_spread`: simulated claims along age, whose mean is
  known. The error on test rows is that of the mean, without the claims' own noise.
- `regions`: material claims of pg15training along region and gender, as in Lee et al. (2025), without
  the density, which tells the region.
- `crossing`: a price that is 16 higher for older women and younger men than for the others.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import fairdash as fd
from benchmarks.joint import policies
from benchmarks.postprocessor import dataset_of
from benchmarks.tariff_rivals import Table, tables
from fairdash.data.building import build_dataset
from fairdash.data.dataset import Dataset
from fairdash.evaluation.bench import compare_methods, default_methods, equal_dependence
from fairdash.tables.roles import Roles
from fairdash.training.defaults import default_settings
from fairdash.training.methods import METHODS, STANDARD
from fairdash.views.reports.methods import RESULTS

MODELS = Path(__file__).parent / "results" / "methods_models.csv"
ROWS = 2_000
#: Weights of adversarial methods, for which a pilot training would take longer than ten splits.
LAMS = (0.02, 0.1, 0.3, 1.0, 3.0, 10.0)
ADVERSARIAL = [name for name, each in METHODS.items() if each.adversarial]
#: The adversarial method trained on the first split, together with all methods without an adversary.
FIRST = "hgr_nn"
Array = NDArray[np.float64]
Made = tuple[Dataset, Array | None]


@cache
def real_tables() -> dict[str, Table]:
    return dict(itertools.islice(tables(ROWS), 3))


def real(wanted: str) -> Made:
    return dataset_of(wanted, real_tables()[wanted]), None


def counties() -> Made:
    dataset = fd.load_dataset("census_county")
    rows = np.random.default_rng(0).choice(dataset.n_rows, ROWS, replace=False)
    return dataset.take(np.sort(rows)), None


def regions() -> Made:
    train = policies()[0].sample(2 * ROWS, random_state=0).reset_index(drop=True)
    features = ("Age", "Bonus", "Poldur", "Value", "Type", "Occupation", "Group1", "Category")
    roles = Roles(
        target="Numtppd", sensitive=("Group2", "Gender"), features=features, weight="years", rate=True
    )
    return build_dataset(train, roles, name="pg15training, regions"), None


def crossing() -> Made:
    """The price is independent of age and of sex, each alone."""
    age, z, noise = np.random.default_rng(0).normal(size=(3, ROWS))
    sex = np.random.default_rng(1).integers(0, 2, ROWS).astype(float)
    table = pd.DataFrame({"age": age, "sex": sex})
    price = pd.Series(100 + 8 * np.sign(age) * (2 * sex - 1) + 5 * z + 5 * noise, name="price")
    seen = table.assign(z=z).add_suffix("_seen")
    return Dataset(name="crossing", features=seen, target=price, sensitive=table), None


def claims(link: str) -> Made:
    """One claim in five years on average; its log mean depends on power, zone and, through `link`, age."""
    rng = np.random.default_rng(1)
    age, years, noise = rng.uniform(18, 85, ROWS), rng.uniform(0.2, 1, ROWS), rng.normal(size=(2, ROWS))
    away = (age - 51.5) / 19.3
    proxy = {
        "line": away + 0.7 * noise[0],
        "u": away**2 - 1 + 0.7 * noise[0],
        # One in ten drivers is young.
        "young": 3 * (age < 25) + 0.7 * noise[0],
        # Averages hardly depend on age, but the spread does.
        "spread": noise[0] * np.where(away > 0, 1.5, 0.3),
    }[link]
    power, zone = rng.integers(4, 13, ROWS).astype(float), rng.integers(1, 7, ROWS)
    risk = 0.6 * proxy + 0.15 * (power - 8) + 0.2 * (zone - 3.5)
    mean = 0.2 * np.exp(risk) / np.exp(risk).mean()
    features = pd.DataFrame(
        {"bonus": proxy, "value": away + 2 * noise[1], "power": power, "zone": [f"Z{k}" for k in zone]}
    )
    return dataset_of(f"claims, {link}", Table(features, rng.poisson(mean * years) / years, years, age)), mean


DATA: dict[str, Callable[[], Made]] = {
    "crime": lambda: (fd.load_dataset("crime"), None),
    "household": lambda: (fd.load_dataset("household", n=ROWS), None),
    "counties": counties,
    "pg15training": partial(real, "material"),
    "freMPL1": partial(real, "freMPL1"),
    "claims_line": partial(claims, "line"),
    "claims_u": partial(claims, "u"),
    "claims_young": partial(claims, "young"),
    "claims_spread": partial(claims, "spread"),
    "regions": regions,
    "crossing": crossing,
}


def methods_of(dataset: Dataset) -> list[str]:
    """Every method that suits a data set; with one attribute `ccdcov` equals `jdcov`."""
    every = default_methods(dataset, default_settings(dataset).loss_function)
    return [each for each in every if each != "ccdcov" or dataset.sensitive.shape[1] > 1]


def measured(
    data: Sequence[str], methods: Sequence[str] | None, n_splits: int, done: pd.DataFrame
) -> Iterator[pd.DataFrame]:
    """Rows of the models of each split, data set and method that are not in `done`, ordered by split."""
    made = {name: DATA[name]() for name in data}
    lams = {(name, method): LAMS for name in made for method in ADVERSARIAL}
    for key, own in done[done["lam"] > 0].groupby(["data", "method"]):
        lams[key] = sorted(own["lam"].unique())
    for is_last, split, name in itertools.product((False, True), range(n_splits), made):
        late = [each for each in ADVERSARIAL if split or each != FIRST]
        dataset, truth = made[name]
        there = set(done.loc[(done["data"] == name) & (done["split"] == split), "method"])
        every = methods or methods_of(dataset)
        left = [each for each in every if each not in there and (each in late) == is_last]
        if not left:
            continue
        known = {method: lams[name, method] for method in left if (name, method) in lams}
        # Another random state draws another split.
        options = {"n_splits": 1, "random_state": split, "lams": known, "truth": truth}
        rows = compare_methods(dataset, left, **options).assign(data=name, split=split)
        for method, own in rows[rows["lam"] > 0].groupby("method"):
            lams.setdefault((name, str(method)), sorted(own["lam"]))
        yield rows if STANDARD not in there else rows[rows["method"] != STANDARD]


def results_of(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.drop_duplicates(["data", "method", "lam", "split"])
    found = [equal_dependence(own).assign(data=name) for name, own in rows.groupby("data", sort=False)]
    return pd.concat(found, ignore_index=True).round(4)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*DATA], choices=[*DATA])
    parser.add_argument("--methods", type=lambda text: text.split(","), help="by default all that suit")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--hours", type=float, default=24.0, help="no split of a set begins later than that")
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--combine", action="store_true", help="make the results, and measure nothing")
    options = parser.parse_args(argv)
    warnings.simplefilter(
        "ignore", UserWarning
    )  # warnings about levels that the training rows of a split lack
    there = options.models.exists()
    done = pd.read_csv(options.models) if there else pd.DataFrame(columns=["data", "method", "lam", "split"])
    begun = time.monotonic()
    if not options.combine:
        for rows in measured(options.data, options.methods, options.splits, done):
            done = pd.concat([done, rows], ignore_index=True)
            done.to_csv(options.models, index=False, float_format="%.6g")
            print(
                rows["data"].iloc[0], rows["split"].iloc[0], f"{time.monotonic() - begun:.0f} s", flush=True
            )
            if time.monotonic() - begun > options.hours * 3600:
                break
    results_of(done).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
