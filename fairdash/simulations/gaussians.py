"""HGR², χ² and mutual information of bivariate normal laws, true and estimated (the paper's Fig. 1).

And the supplement's proposition "Mutual Information vs χ²", checked for these laws. It says:
HGR² ≤ 1 − 2^(−2I), which is ≤ χ² for χ² ≥ t ≈ 0.345 and ≥ χ² below, by way of I ≤ log(1 + χ²).

For a bivariate normal law 1 + χ² = 1/(1 − ρ²), so I = ½ ln(1 + χ²) nats, and everything is a function of χ²
alone. With I in bits 2^(−2I) = 1 − ρ²: the bound *equals* HGR², and lies below χ² for every ρ: there is no
threshold. With I in nats the bound is 1 − (1 − ρ²)^ln 2, *below* HGR².
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from fairdash.dependence.exact import gaussian
from fairdash.simulations.stack import OURS, Progress, gathered, studied, target_of

Array = NDArray[np.float64]

RHOS: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def gaussian_pairs(rhos: Sequence[float], n: int, *, repeats: int, seed: int = 0) -> tuple[Array, Array]:
    """Standard normal pairs with correlation ρ; (len(rhos) · repeats, n) both, repeats innermost."""
    rng = np.random.default_rng(seed)
    u, rest = rng.normal(size=(2, repeats, n))
    v = np.concatenate([rho * u + np.sqrt(1 - rho**2) * rest for rho in rhos])
    return np.concatenate([u] * len(rhos)), v


def gaussian_study(
    *,
    rhos: Sequence[float] = RHOS,
    n: int = 2000,
    repeats: int = 5,
    ids: Sequence[str] | None = None,
    seed: int = 0,
) -> Iterator[Progress]:
    """Every estimator of HGR, χ² and mutual information along ρ, as one stack.

    Parameters
    ----------
    rhos
        Correlations in [−1, 1].
    n, repeats
        Rows a data set, data sets a correlation.
    ids
        Measures; by default all that estimate one of the three.
    seed
        Which draw.

    Yields
    ------
    Progress
        ``values``: ``rho``, ``repeat``, ``id``, ``evaluation``, ``value`` (HGR is not squared); ``exact`` as
        :func:`exact_curves`.
    """
    ids = [id for id in studied() if target_of(id)] if ids is None else ids
    u, v = gaussian_pairs(rhos, n, repeats=repeats, seed=seed)
    key = pd.DataFrame({"rho": np.repeat(rhos, repeats), "repeat": np.tile(np.arange(repeats), len(rhos))})
    exact = exact_curves(np.asarray(rhos))
    for fraction, doing, values in gathered(ids, u, v, key):
        yield Progress(fraction, doing, {"values": values, "exact": exact})


def exact_curves(rhos: Array) -> pd.DataFrame:
    """``rho``, ``hgr2`` = ρ², ``chi2``, ``mi`` in nats, and ``mi_bits``."""
    rows = [(rho, one.hgr**2, one.chi2, one.mi) for rho in rhos.tolist() for one in [gaussian(rho)]]
    frame = pd.DataFrame(rows, columns=["rho", "hgr2", "chi2", "mi"])
    return frame.assign(mi_bits=frame["mi"] / np.log(2))


def means_along_rho(values: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """The estimators' means and ranges in the units of the lines: HGR squared, information in `base`.

    Parameters
    ----------
    values
        As :func:`gaussian_study` gives them; those of our own way are taken.

    Returns
    -------
    DataFrame
        ``id``, ``rho``, ``mean``, ``min``, ``max``.
    """
    ours = values[values["evaluation"] == OURS]
    value = ours["value"].where(~ours["id"].str.startswith("hgr_"), ours["value"] * ours["value"].abs())
    value = value.where(~ours["id"].str.startswith("mi_"), value / unit_of(base))
    grouped = ours.assign(value=value).groupby(["id", "rho"])["value"]
    return grouped.agg(["mean", "min", "max"]).reset_index()


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
    return float(brentq(lambda x: float(upper(np.array(x), base)) - x, 0.05, 5.0))


def mi_crossing(base: str) -> float:
    """ρ² at which the mutual information itself crosses HGR²."""
    return float(brentq(lambda x: -0.5 * math.log1p(-x) / unit_of(base) - x, 0.05, 0.999))
