"""Simulated portfolios: a uniform attribute, other factors, and prices and costs around known means.

The attribute is an age from 20 to 80 in quarter years, 20 + 60 u. A price is 1 + G (u − ½), or another
function of u, in units of 100. The highest and lowest points of a linear price are the means of the outer
twentieths, so that its largest gap is 0.95 G; from the 10th to the 90th percentile it is 0.8 G; and
Var(E[π|s]) = G² / 12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rng = np.random.Generator
Shape = Callable[[Array], Array]
G = 0.3
#: Coefficients of variation of price and cost about their means, and cost divided by price.
CV, CV_COST, LOSS_RATIO = 0.01, 0.05, 0.7
#: Variance of the factor's effect, ± 4.5 % in ten steps, and of everything that does not depend on the
#: attribute.
OF_POWER = 0.01**2 * 8.25
OTHER = OF_POWER + CV**2


def noise(rng: Rng, n: int, cv: float | Array) -> Array:
    """Factors of mean 1 (gamma), (n,)."""
    shape = 1 / np.square(cv)
    return rng.gamma(shape, 1 / shape, n)


def line(slope: float = G) -> Shape:
    """Straight line along u with mean 1."""
    return lambda u: 1 + slope * (u - 0.5)


flat = line(0.0)


def of_age(shape: Shape) -> Shape:
    """A function of u, as a function of age."""
    return lambda age: shape((age - 20) / 60)


def uniform(n: int, rng: Rng) -> Array:
    """Ranks u in (0, 1), (n,), in 240 steps."""
    return (rng.integers(240, size=n) + 0.5) / 240


def mixed(u: Array, rng: Rng, share: float = 0.7) -> Array:
    """Return u in a share of the rows and a new rank in the others: E[mixed | u] = ½ + share (u − ½)."""
    return np.where(rng.random(len(u)) < share, u, uniform(len(u), rng))


def portfolio(
    u: Array, rng: Rng, price: Any, cost: Any = None, *, cv: Any = CV, cv_cost: Any = CV_COST
) -> pd.DataFrame:
    """A table of age, a factor that affects price and cost, an irrelevant zone, price and claims."""
    n = len(u)
    power = rng.integers(1, 11, size=n)
    by_power = 1 + 0.01 * (power - 5.5)
    frame = pd.DataFrame({"age": 20 + 60 * u, "power": power, "zone": rng.choice(list("abc"), n)})
    frame["price"] = 100 * price * by_power * noise(rng, n, cv)
    if cost is not None:
        frame["claims"] = LOSS_RATIO * 100 * cost * by_power * noise(rng, n, cv_cost)
    return frame


def book(price: Shape, cost: Shape | None = None, **spread: float) -> Callable[[int, Rng], pd.DataFrame]:
    """A portfolio whose price and cost have the given means along u."""

    def make(n: int, rng: Rng) -> pd.DataFrame:
        u = uniform(n, rng)
        return portfolio(u, rng, price(u), None if cost is None else cost(u), **spread)

    return make
