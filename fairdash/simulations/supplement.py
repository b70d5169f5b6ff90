"""The supplement's proposition "Mutual Information vs χ²", checked for bivariate normal laws.

It says: HGR² ≤ 1 − 2^(−2I), which is ≤ χ² for χ² ≥ t ≈ 0.345 and ≥ χ² below, by way of I ≤ log(1 + χ²).

For a bivariate normal law 1 + χ² = 1/(1 − ρ²), so I = ½ ln(1 + χ²) nats, and everything is a function of χ²
alone. With I in bits 2^(−2I) = 1 − ρ²: the bound *equals* HGR², and lies below χ² for every ρ: there is no
threshold. With I in nats the bound is 1 − (1 − ρ²)^ln 2, *below* HGR².
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BASES = ("bits", "nats")


def unit_of(base: str) -> float:
    """A unit of information in nats: 1, or that of a bit."""
    return 1.0 if base == "nats" else math.log(2)


def information(chi2: Array, base: str) -> Array:
    """Mutual information of the normal law with this χ²: ½ log(1 + χ²)."""
    return np.asarray(0.5 * np.log1p(chi2) / unit_of(base))


def middle(mutual_information: Array) -> Array:
    """The proposition's middle term, 1 − 2^(−2I)."""
    return np.asarray(-np.expm1(-2 * math.log(2) * mutual_information))


def hgr2(chi2: Array) -> Array:
    """HGR² = ρ² of the normal law with this χ²."""
    return np.asarray(chi2 / (1 + chi2))


def upper(chi2: Array, base: str) -> Array:
    """The middle term with I replaced by its bound log(1 + χ²), from which the threshold comes."""
    return middle(np.log1p(chi2) / unit_of(base))


def printed_threshold() -> float:
    """t as the formula in the supplement evaluates: (a − 1)/(a + 1) with a = exp(−1/(2 ln 2)); negative."""
    a = math.exp(-1 / (2 * math.log(2)))
    return (a - 1) / (a + 1)


def bound_crossing(base: str) -> float:
    """χ² at which the bound, 1 − 2^(−2 log(1 + χ²)), really crosses χ²; in bits the golden ratio less 1."""
    return _root(lambda x: float(upper(np.array(x), base)) - x, 0.05, 5.0)


def mi_crossing(base: str) -> float:
    """ρ² at which the mutual information itself crosses HGR²."""
    return _root(lambda x: -0.5 * math.log1p(-x) / unit_of(base) - x, 0.05, 0.999)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high))
