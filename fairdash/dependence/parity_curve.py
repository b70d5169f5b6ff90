"""Generalised demographic parity (Jiang et al. 2022): how far the average u along s is off the overall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.classical import standardised
from fairdash.dependence.ranks import mid_ranks
from fairdash.errors import OptionError

Array = NDArray[np.float64]

#: Cells of the ranks of s: much narrower than any bandwidth.
_CELLS = 400
#: Standard deviation of a uniform variable, and the factor of the normal rule of thumb (Silverman 1986).
_SPREAD, _FACTOR = 12**-0.5, 1.06


def gdp(u: Array, v: Array, *, sample_weight: Array | None = None, bandwidth: float | None = None) -> Array:
    """Mean of |m(s) − m| over the rows, with m(s) = E[u|s] by a Gaussian kernel on the ranks of s.

    Parameters
    ----------
    u, v : (K, n) arrays
        Prediction, and the sensitive attribute, of which the ranks alone matter: the mean runs over the law
        of s, whatever scale it is told on.
    sample_weight : (K, n) array, optional
    bandwidth
        In ranks from 0 to 1; by the rule of thumb if not given: .31 n^(−1/5), n being the effective number of
        rows (Σw)²/Σw².

    Returns
    -------
    (K,) array
        In standard deviations of u, in [0, 1]: E|m(s) − m| ≤ √Var m(s). Times that standard deviation it is
        the paper's ΔGDP. Noise keeps it above 0.

    Raises
    ------
    OptionError
        If the bandwidth is not above 0.
    """
    if bandwidth is not None and not bandwidth > 0:
        raise OptionError.of("The bandwidth is not usable", "Give a number above 0.", column="bandwidth")
    weight = np.ones(u.shape) if sample_weight is None else sample_weight
    u = standardised(u, weight)
    count = len(u)
    cell = np.minimum((mid_ranks(v, sample_weight) * _CELLS).astype(np.intp), _CELLS - 1)
    index = (cell + _CELLS * np.arange(count)[:, None]).ravel()
    mass = np.bincount(index, weight.ravel(), count * _CELLS).reshape(count, _CELLS)
    sums = np.bincount(index, (weight * u).ravel(), count * _CELLS).reshape(count, _CELLS)
    middles = (np.arange(_CELLS) + 0.5) / _CELLS
    distance = np.abs(middles[:, None] - middles)
    effective = weight.sum(axis=-1) ** 2 / (weight**2).sum(axis=-1)
    # Rounded, so that members whose weights are in another order share a kernel.
    widths = np.full(count, bandwidth) if bandwidth else (_FACTOR * _SPREAD * effective**-0.2).round(9)
    result = np.zeros(count)
    for width in np.unique(widths):
        own = widths == width
        kernel = np.exp(-0.5 * (distance / width) ** 2)
        curve = (sums[own] @ kernel) / (mass[own] @ kernel)
        # u is standardised: the overall mean is 0.
        result[own] = (mass[own] * np.abs(curve)).sum(axis=-1) / mass[own].sum(axis=-1)
    return np.minimum(result, 1.0)
