"""Distributions with known maximal correlation: weak links of four shapes, patterns, contingency tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from benchmarks.hard_links import LINKS, Ring, second_singular_value
from fairdash.dependence import exact
from fairdash.dependence.patterns import HALF_WIDTH, PATTERNS

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]

#: Maximal correlations of the weak links.
WEAK = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
#: Noise of the patterns.
NOISE = (1.0, 3.0, 6.0)


@dataclass(frozen=True, kw_only=True)
class Law:
    """A way to draw samples of a distribution, and its exact maximal correlation."""

    family: str
    name: str
    truth: float
    draw: Draw


def laws() -> Iterator[Law]:
    """Every distribution of the study."""
    yield Law(family="independent", name="independent", truth=0.0, draw=gaussian(0.0))
    for truth in WEAK:
        yield Law(family="weak", name="gaussian", truth=truth, draw=gaussian(truth))
        yield Law(family="weak", name="u-shape", truth=truth, draw=product(truth, _bend, _bend))
        yield Law(family="weak", name="step", truth=truth, draw=product(truth, _jump, _slope))
        yield Law(family="weak", name="ring", truth=truth, draw=ring(truth))
    for truth in (0.4, 0.5, 0.6, 0.9):
        yield Law(family="strong", name="gaussian", truth=truth, draw=gaussian(truth))
    for id in PATTERNS:
        for noise in NOISE:
            truth = float(exact.pattern_hgr(id, noise=noise))
            yield Law(family="pattern", name=f"{id}, noise {noise:g}", truth=truth, draw=pattern(id, noise))
    for name, link in LINKS.items():
        if name != "independent":
            yield Law(family="hard", name=name, truth=link.exact(), draw=link.draw)
    for levels in ((2, 2), (4, 3), (8, 5)):
        for truth in (0.0, 0.1, 0.3, 0.45):
            name = f"{levels[0]} by {levels[1]} levels"
            yield Law(family="discrete", name=name, truth=truth, draw=table(truth, *levels))


def gaussian(truth: float) -> Draw:
    """Two normal variables with this correlation."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        u, other = rng.normal(size=(2, n))
        return u, truth * u + np.sqrt(1 - truth**2) * other

    return draw


def product(truth: float, a: Callable[[Array], Array], b: Callable[[Array], Array]) -> Draw:
    """Uniform margins with the density 1 + truth · a(x) · b(y), where a and b have mean 0 and variance 1.

    `truth` is its only singular value besides 1. Drawn by rejection.
    """
    places = (np.arange(20000) + 0.5) / 20000
    most = 1 + truth * np.abs(a(places)).max() * np.abs(b(places)).max()

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, y = rng.uniform(size=n), np.empty(n)
        left = np.arange(n)
        while len(left):
            y[left] = rng.uniform(size=len(left))
            refused = rng.uniform(size=len(left)) * most > 1 + truth * a(x[left]) * b(y[left])
            left = left[refused]
        return x, y

    return draw


def _bend(x: Array) -> Array:
    """The second Legendre polynomial on [0, 1]."""
    return np.sqrt(5) * (1.5 * (2 * x - 1) ** 2 - 0.5)


def _slope(x: Array) -> Array:
    return np.sqrt(3) * (2 * x - 1)


def _jump(x: Array) -> Array:
    """The top quarter compared with the rest."""
    return np.where(x > 0.75, np.sqrt(3), -np.sqrt(1 / 3))


def ring(truth: float) -> Draw:
    """A circle with so much noise that the maximal correlation is `truth`."""
    return Ring(float(brentq(lambda noise: ring_hgr(noise) - truth, 0.2, 3.0, xtol=1e-6))).draw


def ring_hgr(noise: float) -> float:
    """Maximal correlation of a noisy circle."""
    reach = 1 + 6 * noise
    at, angle = np.linspace(-reach, reach, 300)[:, None], 2 * np.pi * np.arange(360) / 360
    across, up = (np.exp(-(((at - way(angle)) / noise) ** 2) / 2) for way in (np.cos, np.sin))
    return second_singular_value(across @ up.T)


def pattern(id: str, noise: float) -> Draw:
    """A pattern with noise."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        u = rng.uniform(-HALF_WIDTH, HALF_WIDTH, n)
        return u, PATTERNS[id](u) + noise * rng.normal(size=n)

    return draw


def table(truth: float, rows: int, columns: int) -> Draw:
    """Equally likely levels with probabilities 1 + truth · a · b, where a and b are equally spaced scores."""
    a, b = (scores / scores.std() for scores in (np.arange(k) - (k - 1) / 2 for k in (rows, columns)))
    law = 1 + truth * np.outer(a, b)
    share = (law / law.sum()).ravel()

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        cell = rng.choice(len(share), size=n, p=share)
        return (cell // columns).astype(float), (cell % columns).astype(float)

    return draw
