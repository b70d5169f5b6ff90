"""Exact values of the dependence measures for distributions with a known solution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairdash.dependence.patterns import HALF_WIDTH, Pattern, pattern
from fairdash.errors import OptionError

#: Number of cells of equal probability into which the distribution of F(U) is divided. Each cell contains
#: `_POINTS_PER_CELL` points of U.
_CELLS = 1500
_POINTS_PER_CELL = 10
#: Spacing of the grid of V, in standard deviations of the noise.
_SPACING = 0.4
#: Extension of the grid of V beyond the range of F, in standard deviations of the noise.
_REACH = 6.0
#: Maximum number of grid points of V. If the noise is below about 1/300 of the range, the grid is coarser,
#: and the reported error includes the effect of the coarser grid.
_MAX_POINTS = 220
#: Minimum number of grid points of V. If F has two distant levels with unequal probabilities, g changes sign
#: within a small fraction of a standard deviation.
_MIN_POINTS = 160


@dataclass(frozen=True, kw_only=True)
class GaussianTruth:
    """Exact dependence of a bivariate normal distribution with correlation ρ.

    Attributes
    ----------
    hgr
        Maximal correlation |ρ|.
    chi2
        χ² divergence, ρ² / (1 − ρ²); infinite at |ρ| = 1.
    mi
        Mutual information in nats, −½ ln(1 − ρ²); infinite at |ρ| = 1.
    """

    hgr: float
    chi2: float
    mi: float


def gaussian(rho: float) -> GaussianTruth:
    """Return the exact HGR, χ² and mutual information of a bivariate normal distribution.

    Parameters
    ----------
    rho
        Correlation in [−1, 1].

    Raises
    ------
    OptionError
        Raised if ``rho`` is outside [−1, 1].

    Examples
    --------
    >>> gaussian(0.6).chi2
    0.5625
    """
    if not abs(rho) <= 1:
        raise OptionError.of(
            "The correlation is not between −1 and 1", "Give a number in this range.", column="rho"
        )
    unexplained = 1 - rho * rho
    if unexplained == 0:
        return GaussianTruth(hgr=1.0, chi2=math.inf, mi=math.inf)
    return GaussianTruth(hgr=abs(rho), chi2=rho * rho / unexplained, mi=-0.5 * math.log(unexplained))


@dataclass(frozen=True, kw_only=True)
class ExactHGR:
    """Maximal correlation of a pattern with noise, by quadrature.

    Attributes
    ----------
    value
        Maximal correlation in [0, 1].
    error
        Estimated error of the quadrature: the change of the value when the spacing of both grids is doubled.
    """

    value: float
    error: float

    def __float__(self) -> float:
        return self.value


def pattern_hgr(shape: Pattern | str, *, noise: float) -> ExactHGR:
    """Return the HGR of U ~ Uniform(−10, 10) and V = F(U) + N(0, noise²), by quadrature.

    V depends on U only through W = F(U), so HGR(U, V) equals HGR(W, V), which is the second singular value of
    Q(w, v) = p(w, v) / √(p(w) p(v)) (Witsenhausen 1975). The grid divides W into cells of equal probability.

    Parameters
    ----------
    shape
        A pattern, or the id of a pattern.
    noise
        Standard deviation σ of the noise, at least 0.

    Returns
    -------
    ExactHGR
        HGR with its error; HGR is 0 if F is constant, and 1 if F varies and there is no noise.

    Raises
    ------
    OptionError
        Raised if the pattern is unknown, or ``noise`` is negative or not finite.
    """
    chosen = pattern(shape) if isinstance(shape, str) else shape
    if not 0 <= noise < math.inf:
        raise OptionError.of("The noise level is not valid", "Give a number of at least 0.", column="noise")
    # F is evaluated at the midpoints of the cells, because F may jump at their edges.
    count = _CELLS * _POINTS_PER_CELL
    w = np.sort(chosen(HALF_WIDTH * (2 * (np.arange(count) + 0.5) / count - 1)))
    if w[0] == w[-1]:
        return ExactHGR(value=0.0, error=0.0)
    if noise == 0:
        return ExactHGR(value=1.0, error=0.0)
    cells = w.reshape(_CELLS, _POINTS_PER_CELL).mean(axis=1)
    fine_value = _second_singular_value(cells, noise, _SPACING, (_MIN_POINTS, _MAX_POINTS))
    coarse_value = _second_singular_value(
        cells.reshape(-1, 2).mean(axis=1), noise, 2 * _SPACING, (_MIN_POINTS // 2, _MAX_POINTS // 2)
    )
    return ExactHGR(value=fine_value, error=abs(fine_value - coarse_value))


def _second_singular_value(w: np.ndarray, noise: float, spacing: float, n_points: tuple[int, int]) -> float:
    low, high = w[0] - _REACH * noise, w[-1] + _REACH * noise
    points = int(np.clip(math.ceil((high - low) / (spacing * noise)), *n_points))
    v = np.linspace(low, high, points)
    # For each cell of W, V has a normal distribution, whose probabilities on the grid sum to 1.
    density = np.exp(-0.5 * ((v - w[:, None]) / noise) ** 2)
    density /= density.sum(axis=1, keepdims=True)
    p_v = density.mean(axis=0)
    q = density / np.sqrt(len(w) * np.maximum(p_v, 1e-300))
    # The first eigenvector √p(v) of QᵀQ, whose eigenvalue is 1, is removed.
    root = np.sqrt(p_v)
    gram = q.T @ q - np.outer(root, root)
    return math.sqrt(min(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0), 1.0))
