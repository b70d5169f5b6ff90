"""What is said of the largest gap of a curve: its interval, and one of three verdicts against a threshold δ.

The gap is the highest less the lowest of all points. It is *below* δ where for every pair s, t of points the
upper one-sided 95 % limit of E[y|s] − E[y|t] is under δ: the gap is the difference of some pair, so each
pair at 5 % is enough (intersection–union; Berger 1982). It is *above* δ where the largest over pairs of a
lower limit that holds for all pairs at once exceeds δ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairdash.auditing.curve import Curve
from fairdash.seeds import Stream, rng_of

Array = NDArray[np.float64]

BELOW, ABOVE, UNDECIDED, NONE = "below", "above", "undecided", "none"
#: What a claim in one direction may be wrong in.
LEVEL = 0.05
#: With this probability the smallest gap that could be shown is shown.
POWER = 0.8
_DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The largest gap of a curve and what can be said of it; amounts in units of y.

    Attributes
    ----------
    value
        Highest less lowest point; 0 is a flat curve. It is never below 0, so noise alone makes it larger than
        0: see `floor`.
    ci_low, ci_high
        95 % limits, each at 2.5 %.
    lower, upper
        One-sided 95 % limits; the verdict compares these with δ.
    floor
        What the value is on average where the true curve is flat.
    p_value
        Of a flat curve, in (0, 1].
    p_below, p_above
        Of the claims that the gap is below and above δ: small is well supported.
    smallest
        The smallest δ that would be shown below with probability .8 if there were no gap.
    lowest, highest
        Which points.
    """

    value: float
    ci_low: float
    ci_high: float
    lower: float
    upper: float
    floor: float
    p_value: float
    p_below: float
    p_above: float
    smallest: float
    lowest: int
    highest: int

    def verdict(self, level: float = LEVEL) -> str:
        """``"below"``, ``"above"`` or ``"undecided"``, at a level a direction."""
        if self.p_below <= level:
            return BELOW
        return ABOVE if self.p_above <= level else UNDECIDED


@dataclass(frozen=True, eq=False, kw_only=True)
class Band:
    """A curve with a band that holds it whole in 95 % of samples; (J,) arrays in units of y."""

    at: Array
    share: Array
    kind: tuple[str, ...]
    value: Array
    low: Array
    high: Array

    def frame(self) -> pd.DataFrame:
        """The same as a table, a row a point."""
        return pd.DataFrame(vars(self))


def largest_gap(curve: Curve, delta: float, *, random_state: int | None = 0) -> tuple[Gap, Band]:
    """The largest gap of a curve against a threshold δ, in units of y, and the curve's band."""
    values, covariance = curve.values, curve.covariance
    drawn = _draw(covariance, random_state)
    first, second = np.triu_indices(len(values), 1)
    # Never quite 0, where a price has no noise at all.
    least = 1e-12 * max(float(np.abs(values).max()), 1e-300)
    variance = np.diag(covariance)
    spread = variance[first] + variance[second] - 2 * covariance[first, second]
    error = np.sqrt(np.maximum(spread, least**2))
    apart = values[first] - values[second]
    off = drawn[:, first] - drawn[:, second]
    # Both orders of a pair at once: a lower limit for all ordered pairs.
    most = np.abs(off / error).max(axis=1)
    size = np.abs(apart)
    sure, surer = np.quantile(most, [1 - LEVEL, 1 - LEVEL / 2])
    none = (np.abs(off) + ndtri(1 - LEVEL) * error).max(axis=1)
    single = float(np.quantile(np.abs(drawn / np.maximum(curve.standard_errors, least)).max(axis=1), 0.95))
    gap = Gap(
        value=float(np.ptp(values)),
        ci_low=max(0.0, float((size - surer * error).max())),
        ci_high=float((size + ndtri(1 - LEVEL / 2) * error).max()),
        lower=max(0.0, float((size - sure * error).max())),
        upper=float((size + ndtri(1 - LEVEL) * error).max()),
        floor=float(np.ptp(drawn, axis=1).mean()),
        p_value=_share(most, float((size / error).max())),
        p_below=float(ndtr(-((delta - size) / error).min())),
        p_above=_share(most, float(((size - delta) / error).max())),
        smallest=float(np.quantile(none, POWER)),
        lowest=int(np.argmin(values)),
        highest=int(np.argmax(values)),
    )
    basis = curve.basis
    off_by = single * curve.standard_errors
    order = np.argsort(basis.at)
    band = Band(
        at=basis.at[order],
        share=basis.share[order],
        kind=tuple(basis.kind[j] for j in order),
        value=values[order],
        low=(values - off_by)[order],
        high=(values + off_by)[order],
    )
    return gap, band


def holm(p_values: list[float]) -> list[float]:
    """Holm's (1979) adjusted p-values, in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array([(len(p_values) - k) * p_values[i] for k, i in enumerate(order)])
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(steps) else steps
    return [float(each) for each in adjusted]


def _draw(covariance: Array, random_state: int | None) -> Array:
    """Curves that are off by chance alone, (draws, J), in pairs of opposite sign."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    scale[scale == 0] = 1.0
    size, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    root = vectors * np.sqrt(np.maximum(size, 0))
    half = rng_of(Stream.AUDIT_DRAWS, random_state).normal(size=(_DRAWS // 2, len(size)))
    return (np.vstack([half, -half]) @ root.T) * scale


def _share(drawn: Array, seen: float) -> float:
    return float((1 + (drawn >= seen).sum()) / (1 + len(drawn)))
