"""Between two trained weights λ: a prediction that is part the one model's and part the other's.

>>> [point.lam for point in curve_points([1.0, 4.0], between=1)]
[0.0, 0.5, 1.0, 2.0, 4.0]
>>> curve_points([1.0, 4.0], between=1)[3]
CurvePoint(lam=2.0, low=1.0, high=4.0, share=0.5)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Stops of the slider, at most about so many; as many between any two trained weights.
MOST_STOPS = 90
MOST_BETWEEN = 9


@dataclass(frozen=True)
class CurvePoint:
    """A place on the way from the standard model to the fairest one.

    Parameters
    ----------
    lam
        Its weight λ ≥ 0: that of a trained model, or the name of a blend of its two neighbours.
    low, high
        The trained weights around it, `low` ≤ `high`; 0 is the standard model.
    share
        How much of `high` there is in it, 0 to below 1; 0 at a trained weight.
    """

    lam: float
    low: float
    high: float
    share: float

    @property
    def is_trained(self) -> bool:
        """Whether a model was trained at this very weight."""
        return self.share == 0


def curve_points(lams: Sequence[float], *, between: int | None = None) -> tuple[CurvePoint, ...]:
    """All stops from 0, the standard model, through the trained weights.

    Parameters
    ----------
    lams
        Trained weights λ ≥ 0, in any order.
    between
        Blends between two trained weights; by default up to 9, fewer with many weights. Their λ are even
        on a logarithmic scale, from 0 to the first one on a linear one.
    """
    trained = sorted({0.0, *lams})
    if between is None:
        between = int(np.clip(MOST_STOPS // max(len(trained) - 1, 1) - 1, 0, MOST_BETWEEN))
    found = []
    for low, high in itertools.pairwise(trained):
        found.append(CurvePoint(low, low, low, 0.0))
        for k in range(1, between + 1):
            share = k / (between + 1)
            lam = low * (high / low) ** share if low > 0 else high * share
            found.append(CurvePoint(_short(lam, low, high), low, high, share))
    found.append(CurvePoint(trained[-1], trained[-1], trained[-1], 0.0))
    return tuple(found)


def blend(
    low: NDArray[np.float64], high: NDArray[np.float64], share: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """The predictions of a stop: ``(1 - share) * low + share * high``; exactly `low` where `share` is 0.

    Its squared error is at most the shares' mean of its neighbours' (the square is convex): a blend may show
    more dependence than both, but never more error.
    """
    return low + share * (high - low)


def _short(lam: float, low: float, high: float) -> float:
    """λ with as few digits, three or more, as tell it from both neighbours and the next blends."""
    digits = 3 if high - low > 0.02 * high else 6
    return float(f"{lam:.{digits}g}")
