"""Exact dependence of a pattern with noise, by quadrature, and of bivariate normal distributions.

This module also checks the proposition "Mutual Information vs χ²" of the supplement for bivariate normal
distributions. The proposition states that HGR² ≤ 1 − 2^(−2I). The proposition also states that, because I ≤
log(1 + χ²), this bound is at most χ² if χ² ≥ t ≈ 0.345, and at least χ² otherwise.

For a bivariate normal distribution, 1 + χ² = 1/(1 − ρ²), so that I = ½ ln(1 + χ²) nats, and all quantities
are functions of χ² alone. With I in bits, 2^(−2I) = 1 − ρ². The bound then *equals* HGR² and is below χ² for
every ρ, so no threshold exists. With I in nats, the bound is 1 − (1 − ρ²)^ln 2, which is *below* HGR².
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from fairdash.dependence.exact import gaussian, pattern_hgr
from fairdash.dependence.patterns import HALF_WIDTH, Pattern

Array = NDArray[np.float64]

_CELLS = 500
_POINTS_PER_CELL = 30
_REACH = 6.0
#: `_SPACING`: distance between grid points of V, in standard deviations of the noise. `_MAX_POINTS`: their
#: maximum number.
_SPACING = 0.25
_MAX_POINTS = 1200
#: Number of points at which f is given. A pattern with forty waves needs this many.
_GRID_POINTS = 2001
#: A pattern with at most this number of different values counts as discrete.
_FEW_VALUES = 20
#: Noise below this share of the range counts as zero, because 500 cells can't resolve it.
_NO_NOISE = 1 / 150


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Exact dependence of U ~ Uniform(−10, 10) and V = F(U) + N(0, noise²).

    Attributes
    ----------
    hgr
        Maximal correlation, in [0, 1].
    chi2
        χ² divergence of the joint distribution from the product of its margins; infinite without noise.
    mi
        Mutual information in nats; infinite without noise.
    u, f : (m,) arrays
        Points of the best transformation f of U, with mean 0 and variance 1.
    v, g : (k,) arrays
        Points of the best transformation g of V.
    """

    hgr: float
    chi2: float
    mi: float
    u: Array
    f: Array
    v: Array
    g: Array


def truth_of(shape: Pattern, *, noise: float) -> Truth:
    """Return the exact dependence for a pattern with noise of standard deviation `noise`.

    V depends on U only through W = F(U). The distribution of W is divided into cells of equal probability,
    and V is on a regular grid. Then Q(w, v) = p(w, v) / √(p(w) p(v)). HGR is the second singular value of Q
    (Witsenhausen 1975), and the second singular vectors are f and g. χ² is the sum of the squares of Q's
    entries, minus 1.

    Without noise, V equals W, so every function of W has correlation 1 with itself. In this case, f is the
    standardised W. For a pattern with few values, χ² and mutual information are those of W with itself.

    Raises
    ------
    OptionError
        Raised if ``noise`` is negative or not finite.
    """
    hgr = pattern_hgr(shape, noise=noise).value
    u = np.linspace(-HALF_WIDTH, HALF_WIDTH, _GRID_POINTS)
    count = _CELLS * _POINTS_PER_CELL
    w = np.sort(shape(HALF_WIDTH * (2 * (np.arange(count) + 0.5) / count - 1)))
    width = float(w[-1] - w[0])
    if width == 0:
        v = np.array([w[0] - 3 * noise, w[0] + 3 * noise])
        return Truth(hgr=0.0, chi2=0.0, mi=0.0, u=u, f=np.zeros(len(u)), v=v, g=np.zeros(2))
    cells = w.reshape(_CELLS, _POINTS_PER_CELL).mean(axis=1)
    if noise < _NO_NOISE * width:
        chi2, mi = _of_values(w)
        f = (cells - w.mean()) / w.std()
        return Truth(hgr=hgr, chi2=chi2, mi=mi, u=u, f=np.interp(shape(u), cells, f), v=cells, g=f)
    points = min(_MAX_POINTS, math.ceil((width + 2 * _REACH * noise) / (_SPACING * noise)))
    v = np.linspace(cells[0] - _REACH * noise, cells[-1] + _REACH * noise, points)
    density = np.exp(-0.5 * ((v - cells[:, None]) / noise) ** 2)
    density /= density.sum(axis=1, keepdims=True)
    p_v = density.mean(axis=0)
    ratio = density / np.maximum(p_v, 1e-300)
    chi2 = float((density * ratio).sum() / _CELLS - 1)
    mi = float((density * np.log(np.maximum(ratio, 1e-300))).sum() / _CELLS)
    f, g = _best(density, p_v)
    return Truth(
        hgr=hgr, chi2=max(chi2, 0.0), mi=max(mi, 0.0), u=u, f=np.interp(shape(u), cells, f), v=v, g=g
    )


def _best(density: Array, p_v: Array) -> tuple[Array, Array]:
    """Return f at the cells of W and g at the grid points of V, from the second singular pair of Q."""
    root = np.sqrt(p_v)
    q = density / np.maximum(root, 1e-150) / math.sqrt(len(density))
    # QᵀQ has the size of the grid of V. Its first eigenvector, the constant function, is removed by
    # subtraction.
    gram = q.T @ q - np.outer(root, root)
    # f and g need the eigenvector, so eigh is used instead of eigvalsh.
    vector = np.linalg.eigh(gram)[1][:, -1]
    g = vector / np.maximum(root, 1e-150)
    f = density @ g
    size = float(np.sqrt(np.mean((f - f.mean()) ** 2)))
    f = (f - f.mean()) / size if size > 0 else np.zeros(len(f))
    # The sign of f and g is arbitrary. It is chosen so that f tends to rise with W.
    return (f, g) if f @ np.arange(len(f)) >= f.sum() * (len(f) - 1) / 2 else (-f, -g)


def _of_values(w: Array) -> tuple[float, float]:
    """Return χ² and mutual information of W with itself; they are finite if W has few values."""
    counts = np.unique(np.round(w, 9), return_counts=True)[1]
    if len(counts) > _FEW_VALUES:
        return math.inf, math.inf
    shares = counts / counts.sum()
    return float(len(counts) - 1), float(-(shares * np.log(shares)).sum())


def exact_curves(rhos: Array) -> pd.DataFrame:
    """Return the columns ``rho``, ``hgr2`` = ρ², ``chi2``, ``mi`` in nats and ``mi_bits``."""
    rows = [(rho, law.hgr**2, law.chi2, law.mi) for rho in rhos.tolist() for law in [gaussian(rho)]]
    frame = pd.DataFrame(rows, columns=["rho", "hgr2", "chi2", "mi"])
    return frame.assign(mi_bits=frame["mi"] / np.log(2))


BASES = ("bits", "nats")


def unit_of(base: str) -> float:
    """Return the size of a unit of information in nats: 1 for "nats", ln 2 for "bits"."""
    return 1.0 if base == "nats" else math.log(2)


def information(chi2: Array, base: str) -> Array:
    """Return the mutual information ½ log(1 + χ²) of the normal distribution with this χ²."""
    return np.asarray(0.5 * np.log1p(chi2) / unit_of(base))


def middle(mutual_information: Array) -> Array:
    """Return the middle term of the proposition, 1 − 2^(−2I), where I is the mutual information."""
    return np.asarray(-np.expm1(-2 * math.log(2) * mutual_information))


def hgr2(chi2: Array) -> Array:
    """Return HGR² = ρ² of the normal distribution with this χ²."""
    return np.asarray(chi2 / (1 + chi2))


def upper(chi2: Array, base: str) -> Array:
    """Return the middle term with I replaced by its bound log(1 + χ²); the threshold follows from it."""
    return middle(np.log1p(chi2) / unit_of(base))


def printed_threshold() -> float:
    """Return t by the supplement's formula (a − 1)/(a + 1), a = exp(−1/(2 ln 2)); this t is negative."""
    a = math.exp(-1 / (2 * math.log(2)))
    return (a - 1) / (a + 1)


def bound_crossing(base: str) -> float:
    """Return the χ² at which 1 − 2^(−2 log(1 + χ²)) equals χ²; in bits, this is the golden ratio minus 1."""
    return float(brentq(lambda x: float(upper(np.array(x), base)) - x, 0.05, 5.0))


def mi_crossing(base: str) -> float:
    """Return the ρ² at which mutual information equals HGR²."""
    return float(brentq(lambda x: -0.5 * math.log1p(-x) / unit_of(base) - x, 0.05, 0.999))
