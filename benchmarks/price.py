r"""The price of exact independence compared with its known value for four simulated distributions.

    OMP_NUM_THREADS=1 python -m benchmarks.price [--tables 3] [--rows 4000] [--splits 3]

Given s, the best prediction f = E[y | x, s] is normal in each distribution, N(m(s), σ(s)²). Its barycentre is
N(E m, (E σ)²), so that the price is Var m + Var σ (Chzhen et al., 2020), and the least error of independent
predictions is this price plus the noise; both are divided by Var y.

interaction   y = ½x₁ + s·x₂ + .2ε       without s nothing of x₂ can be used
proxy         y = x + s + .5ε            x = .6 s + .8 z
spread        y = (½ + s)·x + .3ε        s uniform on (0, 1): its mean says nothing of s
independent   y = x₁ − x₂ + ε            independence is free

Default settings, a few random splits per table. Writes results/price.csv, one row per table; ± is the
standard error of Nadeau and Bengio over the splits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.evaluation import summarise_splits, wide
from fairdash.views.reports.fronts import Estimate, mean_over_splits

RESULTS = Path(__file__).parent / "results"
Array = np.ndarray


@dataclass(frozen=True)
class Law:
    """A way to draw a table, and its known values.

    Parameters
    ----------
    draw
        Generator and rows to features (n, p), s (n,) and y (n,).
    price
        Var m + Var σ.
    noise
        Var ε in y.
    total
        Var y.
    """

    draw: Callable[[np.random.Generator, int], tuple[Array, Array, Array]]
    price: float
    noise: float
    total: float


def _interaction(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    x, s = rng.normal(size=(n, 2)), rng.normal(size=n)
    return x, s, 0.5 * x[:, 0] + s * x[:, 1] + 0.2 * rng.normal(size=n)


def _proxy(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    s = rng.normal(size=n)
    x = 0.6 * s + 0.8 * rng.normal(size=n)
    return x[:, None], s, x + s + 0.5 * rng.normal(size=n)


def _spread(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    x, s = rng.normal(size=n), rng.uniform(size=n)
    return x[:, None], s, (0.5 + s) * x + 0.3 * rng.normal(size=n)


def _independent(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    x, s = rng.normal(size=(n, 2)), rng.normal(size=n)
    return x, s, x[:, 0] - x[:, 1] + rng.normal(size=n)


def _mean_spread() -> float:
    """E √(¼ + s²) for a normal s, by Gauss–Hermite quadrature."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(200)
    return float(mass @ np.sqrt(0.25 + nodes**2) / mass.sum())


LAWS: Mapping[str, Law] = {
    "interaction": Law(_interaction, price=1.25 - _mean_spread() ** 2, noise=0.04, total=1.29),
    "proxy": Law(_proxy, price=1.6**2, noise=0.25, total=1.6**2 + 0.64 + 0.25),
    "spread": Law(_spread, price=1 / 12, noise=0.09, total=1 + 1 / 12 + 0.09),
    "independent": Law(_independent, price=0.0, noise=1.0, total=3.0),
}


def table(law: Law, *, n: int, seed: int) -> fd.Dataset:
    """One data set of a distribution."""
    x, s, y = law.draw(np.random.default_rng(seed), n)
    return fd.Dataset(
        name="price",
        features=pd.DataFrame(x, columns=[f"x{k}" for k in range(x.shape[1])]),
        target=pd.Series(y, name="y"),
        sensitive=pd.DataFrame({"s": s}),
    )


def estimates(dataset: fd.Dataset, *, n_splits: int, seed: int) -> tuple[Estimate, Estimate]:
    """Price of independence and least error of independent predictions, as estimated in a run."""
    result = fd.references(
        dataset, n_splits=n_splits, random_state=seed, strengths=(1.0,), measures=(), device="cpu"
    )
    split = result.splits[0]
    ratio = len(split.test) / len(split.train)
    means = wide(summarise_splits(result.frames[result.objective]))
    (least,) = means[(means["method"] == "barycentre") & (means["part"] == "test")].itertuples()
    return mean_over_splits(result.price, test_to_train=ratio), (least.mse, least.mse_se)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for name, law in LAWS.items():
        for seed in range(options.tables):
            dataset = table(law, n=options.rows, seed=seed)
            (price, price_se), (least, least_se) = estimates(dataset, n_splits=options.splits, seed=seed)
            rows.append(
                {
                    "law": name,
                    "table": seed,
                    "rows": options.rows,
                    "price_exact": law.price / law.total,
                    "price": price,
                    "price_se": price_se,
                    "least_exact": (law.price + law.noise) / law.total,
                    "least": least,
                    "least_se": least_se,
                }
            )
            print(pd.DataFrame(rows[-1:]).to_string(index=False, float_format="{:.3f}".format), flush=True)
    RESULTS.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(RESULTS / "price.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
