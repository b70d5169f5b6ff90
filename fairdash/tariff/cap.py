"""Cap on the relative change from each customer's existing premium to the new premium, at unchanged income.

>>> existing, premiums = np.array([100.0, 100.0, 100.0]), np.array([50.0, 100.0, 150.0])
>>> capped = cap_premiums(premiums, existing, max_change=0.2)
>>> capped.premiums.round(6).tolist(), round(capped.level, 6)
([80.0, 100.0, 120.0], 1.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.errors import Checks, DataError, OptionError, Problem
from fairdash.utils.text import amount, at_lines

Array = NDArray[np.float64]

#: Two incomes are equal if they differ by at most this share; rounding explains such a difference.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class CappedPremiums:
    """Premiums after a cap on their relative change.

    Parameters
    ----------
    premiums
        Capped premiums, (n,).
    level
        Factor that multiplies every premium before the cap, so that the cap does not change the income.
    at_lower, at_upper
        Weighted share of customers whose premium was raised to the lower limit, and of those whose premium
        was reduced to the upper limit.

    Examples
    --------
    >>> fd.cap_premiums([90.0, 210.0], [100.0, 200.0], max_change=0.05).at_lower
    0.5
    """

    premiums: Array
    level: float
    at_lower: float
    at_upper: float


def cap_premiums(
    premiums: ArrayLike, existing: ArrayLike, *, max_change: float, sample_weight: ArrayLike | None = None
) -> CappedPremiums:
    """Cap the relative change of every premium, at unchanged income.

    Every premium is multiplied by the same factor k, and then limited to ``(1 ± max_change) × existing``. The
    function selects k so that the weighted sum of the capped premiums equals the weighted sum of `premiums`.

    Parameters
    ----------
    premiums : array, shape (n,)
        Premiums of a tariff, above 0: total premiums, or premiums per unit of exposure. For premiums per unit
        of exposure, pass the exposures as `sample_weight`.
    existing : array, shape (n,)
        Today's premiums (existing premiums), above 0, in the same unit as `premiums`.
    max_change
        Largest relative change, at least 0; for example, 0.1 keeps every premium within 10 % of the existing
        one.
    sample_weight : array, shape (n,)
        Weight of each row in the income, such as its exposure, or None for equal weights.

    Raises
    ------
    DataError
        Raised if a premium is not above 0, or if no factor k gives the same income as `premiums`.
    OptionError
        Raised if `max_change` is not a number of at least 0.

    Notes
    -----
    Income is a continuous, non-decreasing function of k, so the function finds k if such a factor exists. The
    cap changes premiums after they have been computed; the tariff's table of relativities does not change.

    Examples
    --------
    >>> capped = fd.cap_premiums([90.0, 210.0], [100.0, 200.0], max_change=0.05)
    >>> capped.premiums.round(2).tolist()
    [95.0, 205.0]
    """
    is_number = isinstance(max_change, Real) and not isinstance(max_change, bool)
    if not (is_number and math.isfinite(max_change) and max_change >= 0):
        raise OptionError.of(
            "The largest change is not valid", "Give a share of at least 0, such as 0.1.", column="max_change"
        )
    prices = {"premiums": _numbers(premiums), "existing": _numbers(existing)}
    weight = np.ones(prices["premiums"].shape) if sample_weight is None else _numbers(sample_weight)
    _check(prices, weight)
    p, e, share = prices["premiums"], prices["existing"], weight / weight.sum()
    lower, upper = max(1 - max_change, 0.0) * e, (1 + max_change) * e
    level = _level(p, lower, upper, share, max_change)
    uncapped = level * p
    return CappedPremiums(
        premiums=np.clip(uncapped, lower, upper),
        level=level,
        at_lower=float(share @ (uncapped < lower)),
        at_upper=float(share @ (uncapped > upper)),
    )


def _level(p: Array, lower: Array, upper: Array, share: Array, max_change: float) -> float:
    """Return the factor k at which the capped premiums give the same income as `p`."""
    from scipy.optimize import brentq

    income, lowest, highest = (float(share @ amounts) for amounts in (p, lower, upper))

    def excess(k: float) -> float:
        return float(share @ np.clip(k * p, lower, upper)) - income

    if abs(excess(1.0)) <= _ROUNDING * income:
        return 1.0
    # With the smallest k, every premium is at its lower limit; with the largest k, every premium is at its
    # upper limit.
    extremes = float((lower / p).min()), float((upper / p).max())
    for k in extremes:
        if abs(excess(k)) <= _ROUNDING * income:
            return k
    if not lowest < income < highest:
        raise DataError.of(
            f"No common factor keeps the income: with changes of at most {100 * max_change:g} %, the income "
            f"per unit of weight is between {amount(lowest)} and {amount(highest)}, but the new premiums "
            f"give {amount(income)}",
            "Raise max_change, or scale the existing or the new premiums to the same income first.",
        )
    return float(brentq(excess, *extremes, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=1000))


def _numbers(values: Any) -> Array:
    return np.asarray(values, dtype=float)


def _check(premium_column: dict[str, Array], weight: Array) -> None:
    """Raise a DataError that lists all invalid premiums and weights."""
    checks = Checks(DataError)
    shapes = {amounts.shape for amounts in (*premium_column.values(), weight)}
    same_length = len(shapes) == 1 and weight.ndim == 1 and len(weight) > 0
    checks.require(
        same_length, None, "Premiums and weights do not have one value per row", "Give one of each per row."
    )
    checks.finish()
    for name, amounts in premium_column.items():
        rows = np.flatnonzero(~(np.isfinite(amounts) & (amounts > 0)))
        if len(rows):
            problem = f"There is no number above 0 in {at_lines(rows + 1, len(rows), word='row')}"
            hint = "The cap is relative to a premium above 0: correct these rows, or leave them out."
            checks.problems.append(Problem(what=problem, hint=hint, column=name, count=len(rows)))
    fits = np.isfinite(weight).all() and (weight >= 0).all() and weight.any()
    hint = "Give one number of at least 0 per row; at least one must be above 0."
    checks.require(fits, "sample_weight", "The weights are not valid", hint)
    checks.finish()
