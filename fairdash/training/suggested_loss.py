"""Which loss suits a target, told from its numbers: what a run takes where nobody has chosen.

>>> import numpy as np
>>> suggested_loss(np.array([0.0, 1.0, 0.0, 2.0, 0.0]))[0]
'poisson'
>>> suggested_loss(np.array([0.0, 4.0, 0.0]), np.array([1.0, 0.25, 0.5]))[0]  # a claim in three months
'poisson'
>>> suggested_loss(np.array([0.0, 0.0, 812.5, 0.0]))[0], suggested_loss(np.array([12.0, 14.5, 13.1]))[0]
('tweedie', 'squared_error')
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Larger whole numbers are amounts without their cents.
LARGEST_COUNT = 100
_FEW_ZEROS, _MANY_ZEROS = 0.2, 0.5
#: An exponential law's standard deviation is its mean: amounts that spread as much are skewed.
_SPREAD = 1.0
#: An average of several claims spreads less than a single one.
_SPREAD_OF_AVERAGES = 0.5


def suggested_loss(target: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> tuple[str, str]:
    """Suggest a loss that the target can have.

    Poisson for counts, and for rates that are counts once the exposure is put back; Tweedie for amounts of
    which half or more are zero, or that have zeros and spread as widely as their mean; gamma for positive
    amounts that spread so, or half so widely where they are averages over a count, such as a cost per claim;
    squared error otherwise.

    Parameters
    ----------
    target : (n,) array
        Finite.
    weight : (n,) array, optional
        Exposure, above 0.

    Returns
    -------
    tuple of str
        An id in :data:`fairdash.training.losses.LOSSES`; and what the target is like, to end a sentence:
        empty for squared error, which suits any.
    """
    if target.min() < 0:
        return "squared_error", ""
    zeros = float(np.mean(target == 0))
    if weight is None:
        counts = _counts(target) and len(np.unique(target)) > 2
    else:
        counts = _counts(target * weight) or _counts(target)
    if counts and zeros >= _FEW_ZEROS:
        return "poisson", "the target is a count or a rate of counts"
    if zeros >= _MANY_ZEROS and target.max() > 1:
        return "tweedie", f"{100 * zeros:.0f} % of the target's rows are zero"
    mean = float(np.average(target, weights=weight))
    averages = weight is not None and _counts(weight) and len(np.unique(weight)) > 1
    spread = _SPREAD_OF_AVERAGES if averages else _SPREAD
    if np.average((target - mean) ** 2, weights=weight) >= (spread * mean) ** 2:
        if target.min() > 0:
            return "gamma", "the target is positive and spreads about as widely as its mean"
        if target.max() > 1:
            return (
                "tweedie",
                "the target is zero in some rows, never below, and spreads about as widely as its mean",
            )
    return "squared_error", ""


def _counts(values: NDArray[np.float64]) -> bool:
    return bool(values.max() <= LARGEST_COUNT and np.allclose(values, np.round(values), rtol=0, atol=1e-6))
