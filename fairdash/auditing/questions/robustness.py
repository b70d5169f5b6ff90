"""Robustness value: the strength that an omitted factor needs to explain away the conditional gap.

The robustness value was defined by Cinelli and Hazlett (2020, “Making sense of sensitivity”, JRSS B 82,
39–67). A factor would explain the gap if it explained this share of the residual variance of both the price
and s, given the named factors. To cover nonlinear links, s is replaced by the price's curve along s,
estimated on the other half of the units. If this curve is a straight line, the value equals that of Cinelli
and Hazlett.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from fairdash.auditing.curve import Basis, fit_curve
from fairdash.auditing.gaps import LEVEL
from fairdash.auditing.table import AuditTable
from fairdash.utils.text import few, percent

Array = NDArray[np.float64]

#: Function that returns the residuals of columns (n, k), given the names of factors and the columns.
ResidualsGiven = Callable[[tuple[str, ...], Array], Array]


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Strength that an omitted factor needs to explain away the conditional gap.

    Attributes
    ----------
    partial_r2
        Share of the price's residual variance, given the factors, that s explains, in [0, 1].
    value, at_level
        Robustness values RV₁ and RV₁,α in [0, 1], for the whole gap and for its significance: 0 if there is
        no gap to explain away, 1 if no factor could explain the gap.
    strongest
        Named factor with the largest bound: an omitted factor as strong as this one explains most of the gap;
        "" if no bound is known.
    of_price, of_s
        Partial R² with the price and with s, of an omitted factor as strong as `strongest`.
    taken
        Largest share of the gap that an omitted factor as strong as `strongest` would explain.
    """

    partial_r2: float
    value: float
    at_level: float
    strongest: str = ""
    of_price: float = 0.0
    of_s: float = 0.0
    taken: float = 0.0


def robustness_values(t: float, dof: float) -> tuple[float, float]:
    """Return RV₁ and RV_{1,5 %} for a coefficient's t and degrees of freedom (sections 4.1 and 4.2).

    Examples
    --------
    The paper's study of Darfur has a coefficient of 0.0973 with a standard error of 0.0233:

    >>> ["%.3f" % each for each in robustness_values(4.18445, 783)]
    ['0.139', '0.076']
    """
    f = abs(t) / math.sqrt(dof)
    critical = float(student.ppf(1 - LEVEL / 2, dof - 1)) / math.sqrt(dof - 1)
    if f <= critical:
        return _value(f), 0.0
    # If f is larger, the value equals the extreme robustness value.
    extreme = (f**2 - critical**2) / (1 + f**2)
    return _value(f), _value(f - critical) if f <= 1 / critical else extreme


def _value(f: float) -> float:
    # The value equals (√(f⁴ + 4f²) − f²) / 2, but no large numbers are subtracted from each other.
    return 2 / (1 + math.sqrt(1 + 4 / f**2)) if f > 0 else 0.0


def robustness_among_equals(
    table: AuditTable, basis: Basis, residuals: Array, factors: tuple[str, ...], r2_without: ResidualsGiven
) -> Robustness:
    """Return the robustness value of the conditional curve.

    Parameters
    ----------
    left : (n, 1 + p) array
        Residuals of the price, and of the basis functions of s, given the factors.
    r2_without
        Function that returns the residuals of columns given some of the factors, by splines without trees.
    """
    half_tables = table.folds(2)
    price_fitted, values_of_s = np.empty(table.n), np.empty(table.n)
    functions = basis.rows.toarray()
    for k in (0, 1):
        in_half, in_other_half = half_tables == k, half_tables != k
        curve = fit_curve(
            residuals[in_other_half, 0], table.take(in_other_half), basis, rows=residuals[in_other_half, 1:]
        )
        price_fitted[in_half], values_of_s[in_half] = (
            residuals[in_half, 1:] @ curve.coefficients,
            functions[in_half] @ curve.coefficients,
        )
    price, share = residuals[:, 0], table.share
    square = float(share @ price_fitted**2)
    slope = float(share @ (price_fitted * price)) / square if square > 0 else 0.0
    # If the slope is negative, the curves of the halves have opposite shapes, so there is no gap to explain.
    if slope <= 0:
        return Robustness(partial_r2=0.0, value=0.0, at_level=0.0)
    residual = price - slope * price_fitted
    r2 = max(1 - float(share @ residual**2) / float(share @ price**2), 0.0)
    # For a price without noise, the lower limit avoids a division by 0.
    f = math.sqrt(r2 / max(1 - r2, 1e-12))
    t = slope * square / max(table.error(share * price_fitted * residual), 1e-300)
    # With a sandwich variance, t differs from f √dof, so the degrees of freedom are set to agree with t and
    # f.
    value, at_level = robustness_values(t, max((t / f) ** 2, 2.0)) if f > 0 else (0.0, 0.0)
    columns = np.column_stack([table.price, values_of_s])
    bounds = {name: _bound_by_named_factor(name, factors, columns, share, r2_without) for name in factors}
    explained = {name: math.sqrt(y * s / (1 - s)) / f for name, (y, s) in bounds.items()} if f > 0 else {}
    if not explained:
        return Robustness(partial_r2=r2, value=value, at_level=at_level)
    strongest = max(explained, key=lambda name: explained[name])
    of_price, of_s = bounds[strongest]
    return Robustness(
        partial_r2=r2, value=value, at_level=at_level, strongest=strongest, of_price=of_price, of_s=of_s,
        taken=explained[strongest],
    )  # fmt: skip


def _bound_by_named_factor(
    name: str, factors: tuple[str, ...], columns: Array, share: Array, r2_without: ResidualsGiven
) -> tuple[float, float]:
    """Return partial R² with price and s, given the other factors, of an omitted factor as strong as
    `name`."""
    others = tuple(factor for factor in factors if factor != name)
    (y_all, s_all), (y_few, s_few) = (r2_without(chosen, columns).T for chosen in (factors, others))
    r2_with_s = _partial_r2(s_few, s_all, share)
    r2_with_price = _partial_r2(_residualise(y_few, s_few, share), _residualise(y_all, s_all, share), share)
    return bound_of(r2_with_price, r2_with_s)


def bound_of(of_price: float, of_s: float) -> tuple[float, float]:
    """Return bounds on R²(Y~Z|X,D) and R²(D~Z|X) for an omitted factor Z as strong as an observed one.

    The formula is in Cinelli and Hazlett (2020), 4.4, with k = 1. The arguments are the partial R² of the
    observed factor with the outcome, given all other variables, and with the treatment, given the other
    factors. Each bound is at most 1.
    """
    if of_s >= 0.5:
        return 1.0, 1 - 1e-9
    with_z = of_s**2 / (1 - of_s) ** 2
    ratio = of_price / max(1 - of_price, 1e-12)
    bound = ((1 + math.sqrt(with_z)) / math.sqrt(1 - with_z)) ** 2 * ratio
    return min(bound, 1.0), of_s / (1 - of_s)


def _residualise(y: Array, s: Array, share: Array) -> Array:
    square = float(share @ s**2)
    return y - s * (float(share @ (s * y)) / square if square > 0 else 0.0)


def _partial_r2(r2_before: Array, r2_after: Array, share: Array) -> float:
    square = float(share @ r2_before**2)
    return min(max(1 - float(share @ r2_after**2) / square, 0.0), 1.0) if square > 0 else 0.0


def robustness_in_words(result: Robustness, name: str, factors: tuple[str, ...]) -> str:
    """Return a sentence on the strength that an omitted factor would need to explain the gap."""
    if result.at_level <= 0:
        return (
            "The gap among equals is not significant on held-out rows, so even a weak missing factor could "
            "explain it."
        )
    text = (
        "To explain the whole gap among equals, a missing factor would have to explain "
        f"{percent(result.value)} of the variation in both the price and “{name}” that {few(factors)} leave"
        f"{'s' if len(factors) == 1 else ''} unexplained. If it explained {percent(result.at_level)}, the "
        f"gap would no longer be significant"
    )
    if not result.strongest:
        return f"{text}."
    removed_share = "all of the gap" if result.taken >= 1 else f"at most {percent(result.taken)} of the gap"
    return (
        f"{text}. A factor as strong as “{result.strongest}” would explain {percent(result.of_price)} of the "
        f"price's and {percent(result.of_s)} of the attribute's variation, and {removed_share}."
    )


def as_measures(robustness: Robustness) -> list[dict[str, Any]]:
    """Return the robustness values as rows of the result's measures."""
    parts = {
        "robustness_value": robustness.value,
        "robustness_value_at_level": robustness.at_level,
        "partial_r2_among_equals": robustness.partial_r2,
    }
    return [{"measure": name, "value": value} for name, value in parts.items()]
