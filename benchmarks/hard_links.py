"""Errors of estimators of HGR on links that are not among the paper's patterns.

    python -m benchmarks.hard_links [--repeats 100]

Prints one row per link and number of rows with the root mean squared error of each estimator, and writes
benchmarks/results/hard_links.csv. The exact value is the second singular value of the distribution on a fine
grid.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairdash.dependence import REGISTRY, measure, measure_many
from fairdash.dependence.exact import pattern_hgr
from fairdash.lab.scene import Scene

Array = NDArray[np.float64]
RESULTS = Path(__file__).parent / "results" / "hard_links.csv"
#: The paper's patterns.
PAPER = ("parabola", "cosine", "sawtooth", "fast_cosine")
ROWS = (300, 500, 1000, 2000)
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "spline, corrected": ("hgr_spline", {"evaluation": "corrected"}),
    "spline, cross-fitted": ("hgr_spline", {"evaluation": "cross_fit"}),
    "spline, in sample": ("hgr_spline", {"evaluation": "in_sample"}),
    "KDE": ("hgr_kde", {}),
    "RDC": ("hgr_rdc", {}),
}
_PLACES = (np.arange(2000) + 0.5) / 2000
#: Three levels in 35 intervals of s; neighbouring intervals have different levels.
_LEVELS = np.append(0, np.random.default_rng(5).integers(1, 3, 34)).cumsum() % 3


@dataclass(frozen=True, kw_only=True)
class Law:
    """U given V = v is normal with mean `mean`(v) and standard deviation `spread`(v), cut off below `least`.

    Parameters
    ----------
    quantile
        Of V, from numbers in (0, 1).
    then
        Increasing transformations of u and of v, which leave HGR unchanged.
    """

    mean: Callable[[Array], Array] = np.zeros_like
    spread: Callable[[Array], Array] = np.ones_like
    quantile: Callable[[Array], Array] = ndtri
    least: float = -np.inf
    then: Callable[[Array], Array] = np.array

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        v = self.quantile(rng.uniform(size=n))
        u = np.maximum(self.mean(v) + self.spread(v) * rng.normal(size=n), self.least)
        return self.then(u), self.then(v)

    def exact(self) -> float:
        v = self.quantile(_PLACES)
        mean, spread = self.mean(v), self.spread(v)
        edges = np.linspace((mean - 6 * spread).min(), (mean + 6 * spread).max(), 1200)
        edges = np.append(self.least, edges[edges > self.least])
        below = ndtr((edges[:, None] - mean) / spread)
        below[0] = 0.0
        return second_singular_value(np.diff(below, axis=0))


@dataclass(frozen=True)
class Ring:
    """A noisy circle."""

    noise: float = 0.3

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        angle, noise = rng.uniform(0, 2 * np.pi, n), self.noise * rng.normal(size=(2, n))
        return np.cos(angle) + noise[0], np.sin(angle) + noise[1]

    def exact(self) -> float:
        at, angle = np.linspace(-2.5, 2.5, 500)[:, None], 2 * np.pi * np.arange(720) / 720
        across, up = (np.exp(-(((at - way(angle)) / self.noise) ** 2) / 2) for way in (np.cos, np.sin))
        return second_singular_value(across @ up.T)


def _uniform(p: Array) -> Array:
    return p


LINKS: dict[str, Law | Ring] = {
    "heavy tails": Law(
        mean=lambda v: 0.4 * v, spread=lambda v: 0 * v + 0.84**0.5, then=lambda x: np.exp(2 * x)
    ),
    "s with 3 levels": Law(mean=lambda v: 0.5 * v, quantile=lambda p: np.floor(3 * p)),
    "zero-inflated": Law(mean=lambda v: 0.5 * v - 0.9, least=0.0),
    "several modes": Law(mean=lambda v: np.where(np.abs(v) > 0.7, 1.3, -0.5)),
    "spread only": Law(spread=lambda v: np.exp(0.36 * v)),
    "top 3 % of s": Law(mean=lambda v: 2.9 * (v > 0.97), quantile=_uniform),
    "five waves": Law(
        mean=lambda v: np.sin(10 * np.pi * v), spread=lambda v: 0 * v + 0.48, quantile=_uniform
    ),
    "ring": Ring(),
    "3 levels, 34 jumps": Law(
        mean=lambda v: _LEVELS[(35 * v).astype(int)].astype(float),
        spread=lambda v: 0 * v + 0.1,
        quantile=_uniform,
    ),
    "independent": Law(),
}


def second_singular_value(law: Array) -> float:
    """HGR of a table of probabilities; 0 for independent variables, except for rounding."""
    law = law[law.sum(axis=1) > 1e-14]
    rows, columns = law.sum(axis=1, keepdims=True), law.sum(axis=0, keepdims=True)
    return float(np.linalg.svd(law / np.sqrt(rows * columns), compute_uv=False)[1])


def values(id: str, u: Array, v: Array, options: dict[str, Any]) -> Array:
    """The measure of each pair; a random measure uses new random numbers for each pair."""
    if not REGISTRY[id].seeded:
        return measure_many(id, u, v, **options)
    pairs = enumerate(zip(u, v, strict=True))
    return np.array([measure(id, a, b, random_state=seed, **options) for seed, (a, b) in pairs])


def errors_of(name: str, exact: float, n: int, pairs: list[tuple[Array, Array]]) -> dict[str, object]:
    """One row of the table: root mean squared error of each estimator."""
    u, v = (np.array(side) for side in zip(*pairs, strict=True))
    found = {way: values(id, u, v, options) for way, (id, options) in WAYS.items()}
    errors = {way: np.sqrt(np.mean((values - exact) ** 2)) for way, values in found.items()}
    return {"link": name, "exact": exact, "rows": n, **errors}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    found = []
    for name, link in LINKS.items():
        exact = link.exact()
        for n in ROWS:
            rngs = (np.random.default_rng([n, r]) for r in range(repeats))
            found.append(errors_of(name, exact, n, [link.draw(rng, n) for rng in rngs]))
            print(
                pd.DataFrame(found[-1:]).round(3).to_string(index=False, header=len(found) == 1), flush=True
            )
    for shape in PAPER:
        for noise in (1.0, 3.0, 6.0):
            exact = float(pattern_hgr(shape, noise=noise))
            u, v = Scene(pattern=shape, n=500, noise=noise).draw(repeats=repeats)
            found.append(errors_of(f"{shape}, noise {noise}", exact, 500, list(zip(u, v, strict=True))))
            print(pd.DataFrame(found[-1:]).round(3).to_string(index=False, header=False), flush=True)
    pd.DataFrame(found).round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
