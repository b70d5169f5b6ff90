"""Several sensitive attributes together: gaps by combination, cost, size of tests, Gaussians, pg15training.

    OMP_NUM_THREADS=1 python -m benchmarks.joint [crossing cost size gaussian pg15]

- ``crossing``: 4,000 people, whose price rises with age for women and falls with it for men. Gap between the
  averages of ten bands of age by sex, and mean squared error, on 4,000 new people.
- ``cost``: CPU seconds of the same fits with the age alone, with age and sex, and with a second number.
- ``size``: share of p ≤ 5 % in samples of 60 rows in which u is independent of a number and two classes.
- ``gaussian``: joint HGR of three Gaussians in a million rows.
- ``pg15``: claim counts of pg15training with region and gender, split as in the code of Lee, Antonio, Avanzi,
  Marchi and Zhou (2025, github.com/agi-lab/beyond-correlation): their 24,000 validation policies.

Each study writes results/joint_NAME.csv.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import poisson

import fairdash as fd
from fairdash.data.catalogue import CATALOGUE
from fairdash.data.published import DAYS_IN_A_YEAR, _policies

RESULTS = Path(__file__).parent / "results"
Array = NDArray[np.float64]
Row = dict[str, Any]
CROSSING: tuple[tuple[str, float], ...] = (
    ("hgr_spline", 1.0),
    ("hgr_spline", 10.0),
    ("jdcov", 3.0),
    ("jdcov", 10.0),
    ("jdcov", 30.0),
)
CROSSING += (("ccdcov", 10.0), ("ccdcov", 100.0), ("pearson", 1.0))
JOINT = ("jdcov", "ccdcov", "joint_distance_correlation", "hgr_spline")
#: λ and penalty: a published λ refers to the units of counts and classes, fairdash's to standardised ones.
PG15 = ((0.0, "jdcov"), *((lam, id) for id in ("ccdcov", "jdcov") for lam in (1.0, 10.0)))


def people(seed: int, n: int = 4_000) -> tuple[pd.DataFrame, Array]:
    """A table and a price whose slope along age has one sign for women and the opposite sign for men."""
    rng = np.random.default_rng(seed)
    age, z, noise = rng.normal(size=(3, n))
    sex = (rng.random(n) < 0.5).astype(float)
    return pd.DataFrame({"age": age, "sex": sex, "z": z}), 100 + 8 * age * (2 * sex - 1) + 5 * z + 5.4 * noise


def gap(table: pd.DataFrame, price: Array) -> float:
    """Largest less smallest average of the cells of ten age bands by sex."""
    averages = pd.Series(price).groupby([pd.qcut(table["age"], 10, labels=False), table["sex"]]).mean()
    return float(averages.max() - averages.min())


def fitted(method: str, lam: float, table: pd.DataFrame, y: Array, s: pd.DataFrame) -> fd.FairRegressor:
    model = fd.FairRegressor(method=method, lam=lam, random_state=0)
    return model.fit(table, y, sensitive_features=s)


def crossing() -> Iterator[Row]:
    (table, y), (new, of_new) = people(0), people(1)
    both = ["age", "sex"]

    def row(name: str, lam: float, price: Array) -> Row:
        return {"method": name, "lam": lam, "gap": gap(new, price), "mse": np.mean((price - of_new) ** 2)}

    plain = fitted("standard", 0.0, table, y, table[both])
    prices = [each.assign(price=plain.predict(each)) for each in (table, new)]
    yield row("standard", 0.0, prices[1]["price"].to_numpy())
    repair = fd.FairPostprocessor("price", random_state=0).fit(prices[0], sensitive_features=table[both])
    yield row("FairPostprocessor", np.nan, repair.predict(prices[1], sensitive_features=new[both]))
    for method, lam in CROSSING:
        yield row(method, lam, fitted(method, lam, table, y, table[both]).predict(new))


def cost() -> Iterator[Row]:
    table, y = people(0)
    table["other"] = np.random.default_rng(2).normal(size=len(table))
    for method in ("hgr_spline", "jdcov", "ccdcov"):
        found: Row = {"method": method}
        for names in (["age"], ["age", "sex"], ["age", "other"]):
            seconds = []
            for _ in range(3):
                start = time.process_time()
                fitted(method, 1.0, table, y, table[names])
                seconds.append(time.process_time() - start)
            found[" and ".join(names)] = min(seconds)
        yield found


def size(samples: int = 1_000, measures: Sequence[str] = JOINT) -> Iterator[Row]:
    for id in measures:
        found = 0
        for seed in range(samples):
            rng = np.random.default_rng(seed)
            s = np.column_stack([rng.normal(size=60), rng.random(60) < 0.4])
            options: Row = {"n_permutations": 19, "n_bootstrap": 0, "random_state": seed}
            found += fd.assess_dependence(id, rng.normal(size=60), s, **options).p_value <= 0.05
        yield {"measure": id, "samples": samples, "size": found / samples}


def gaussian(n: int = 1_000_000) -> Iterator[Row]:
    law = np.array([[1.0, 0.55, 0.5], [0.55, 1.0, 0.5], [0.5, 0.5, 1.0]])
    # The multiple correlation.
    truth = float(np.sqrt(law[0, 1:] @ np.linalg.solve(law[1:, 1:], law[1:, 0])))
    u, *s = np.random.default_rng(0).multivariate_normal(np.zeros(3), law, size=n).T
    for evaluation in ("corrected", "cross_fit"):
        value = fd.measure("hgr_spline", u, np.column_stack(s), evaluation=evaluation)
        yield {
            "evaluation": evaluation,
            "n": n,
            "value": value,
            "exact": truth,
            "se": (1 - truth**2) / n**0.5,
        }


def _strata(data: pd.DataFrame, share: float, jitter: float) -> list[pd.DataFrame]:
    """Both parts of a table, drawn within each stratum, the most frequent first, as in the authors' code."""
    rng = np.random.RandomState(1220)
    parts: list[list[Any]] = [[], []]
    for stratum in data["stratum"].value_counts(normalize=True).index:
        rows = data.index[data["stratum"] == stratum].to_numpy(copy=True)
        count = max(1, int(len(rows) * np.clip(share + rng.uniform(-jitter, jitter), 0, 1)))
        rows = rng.permutation(rows)
        parts[0].extend(rows[count:])
        parts[1].extend(rows[:count])
    return [data.loc[part] for part in parts]


def policies() -> list[pd.DataFrame]:
    """Training and validation policies: 70 % and 30 % of those that are not the authors' test rows."""
    (content,) = CATALOGUE["motor"].contents().values()
    # The authors remove 21 duplicate policies, and columns that identify a policy, its year and its other
    # claims.
    data = _policies(content).iloc[21:].reset_index(drop=True)
    data["years"] = data["Exppdays"] / DAYS_IN_A_YEAR
    data["stratum"] = data[["Numtppd", "Gender", "Group2"]].astype(str).agg("_".join, axis=1)
    train = _strata(data, 0.2, 0.0)[0].reset_index(drop=True)
    return _strata(train, 0.3, 0.05)


def pg15() -> Iterator[Row]:
    train, new = policies()
    used = ["Age", "Bonus", "Poldur", "Value", "Density", "Type", "Occupation", "Group1", "Category"]
    s, s_new = (part[["Group2", "Gender"]].astype(str) for part in (train, new))
    columns = np.column_stack([pd.get_dummies(s_new["Group2"]), s_new["Gender"] == "Female"]).astype(float)
    # Both measures are unbiased in any sample, and all pairs of 24,000 rows take minutes.
    sample = np.random.default_rng(0).choice(len(new), 6_000, replace=False)
    at_most = new["Numtppd"].to_numpy()[:, None] <= np.arange(11)
    for lam, method in PG15:
        options: Row = {"loss": "poisson", "n_epochs": 15, "batch_size": 1_024, "random_state": 0}
        model = fd.FairRegressor(method=method, lam=lam, **options)
        rate = train["Numtppd"] / train["years"]
        model.fit(train[used], rate, sensitive_features=s, sample_weight=train["years"])
        count = model.predict(new[used]) * new["years"].to_numpy()
        below = poisson.cdf(np.arange(11), count[:, None])
        cells = pd.Series(count).groupby((s_new["Group2"] + s_new["Gender"]).to_numpy()).mean()
        yield {
            "method": method if lam else "standard",
            "lam": lam,
            "rps": np.mean(((below - at_most) ** 2).sum(axis=1)),
            "ccdcov": fd.measure("ccdcov", count[sample], columns[sample], form="published"),
            "jdcov": fd.measure("jdcov", count[sample], columns[sample], form="published"),
            "uf": float(cells.var(ddof=1) / np.var(count, ddof=1)),
        }


STUDIES: dict[str, Callable[[], Iterator[Row]]] = {
    "crossing": crossing,
    "cost": cost,
    "size": size,
    "gaussian": gaussian,
    "pg15": pg15,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=[*STUDIES])
    for name in parser.parse_args().studies:
        rows = []
        for row in STUDIES[name]():
            rows.append(row)
            print(name, row, flush=True)
            pd.DataFrame(rows).to_csv(RESULTS / f"joint_{name}.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
