"""Is the gap earned? The gap between two points of s as what expected cost explains and what is left.

The two points are where the price's curve is lowest and highest on one half of the units; the gap between
them is measured on the other half, and the other way round, so that noise that made a point look high does
not count as a gap. Beside it stands the gap between the 10th and the 90th percentile of s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairdash.auditing.basis import Basis, basis_of
from fairdash.auditing.curve import Curve, fit_curve, told_out_of_fold
from fairdash.auditing.table import AuditTable

Array = NDArray[np.float64]

#: Two fixed points are compared with little bias: the penalty of the curve is taken this many times.
LESS_PENALTY = 0.1
_Z = 1.959963984540054
LOW_POINT, HIGH_POINT = 0.10, 0.90


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with its 95 % interval, in units of the price."""

    value: float
    ci_low: float
    ci_high: float

    @classmethod
    def of(cls, value: float, error: float) -> Estimate:
        return cls(value=value, ci_low=value - _Z * error, ci_high=value + _Z * error)


@dataclass(frozen=True, kw_only=True)
class Bridge:
    """A gap of the price between two points of s, and its parts; amounts in units of the price.

    Attributes
    ----------
    gap
        E[π|s₂] − E[π|s₁].
    earned, left
        What expected cost at the portfolio's loss ratio explains, and the rest; None without an outcome
        and an expected cost.
    low, high
        The points s₁ and s₂, one for each half where they are chosen.
    """

    gap: Estimate
    earned: Estimate | None
    left: Estimate | None
    low: tuple[float, ...]
    high: tuple[float, ...]


def fixed_bridge(table: AuditTable, basis: Basis, curve: Curve, cost: Array | None) -> Bridge:
    """From the 10th to the 90th percentile of s; `cost` (n,) is what is expected, at any level."""
    low, high = basis.nearest(LOW_POINT), basis.nearest(HIGH_POINT)
    parts = _parts(table, basis, curve.lam * LESS_PENALTY, low, high, cost)
    return _bridge([parts], [(basis.at[low], basis.at[high])])


def chosen_bridge(table: AuditTable, cost: Array | None) -> Bridge | None:
    """From the lowest to the highest point of the price's curve, chosen on the other half.

    None where a half has too few rows at too many values of s for a curve.
    """
    in_first = table.folds(2) == 0
    halves = []
    for rows in (in_first, ~in_first):
        half = table.take(rows)
        basis = basis_of(half)
        if len(basis.at) < 2:
            return None
        halves.append((half, basis, fit_curve(half.price, half, basis), None if cost is None else cost[rows]))
    parts, points = [], []
    for (half, basis, curve, own_cost), (_, other, chooser, _) in zip(halves, halves[::-1], strict=True):
        low, high = (_same_point(basis, other, int(pick(chooser.values))) for pick in (np.argmin, np.argmax))
        parts.append(_parts(half, basis, curve.lam * LESS_PENALTY, low, high, own_cost))
        points.append((basis.at[low], basis.at[high]))
    return _bridge(parts, points)


def _same_point(basis: Basis, other: Basis, point: int) -> int:
    """The point of a basis that stands where a point of the other half's does."""
    kind = other.kind[point]
    if kind in ("below", "above") and kind in basis.kind:
        return basis.kind.index(kind)
    if kind == "level":
        inner = np.array([each == "level" for each in basis.kind])
        return int(np.argmin(np.where(inner, np.abs(basis.at - other.at[point]), np.inf)))
    return basis.nearest(other.share[point])


def _parts(
    table: AuditTable, basis: Basis, lam: float, low: int, high: int, cost: Array | None
) -> dict[str, tuple[float, float]]:
    """Value and variance of the gap, and of its parts."""
    weights = np.zeros(len(basis.at))
    weights[high] += 1
    weights[low] -= 1
    price = fit_curve(table.price, table, basis, lam=lam)
    correction = table.n_units / max(table.n_units - price.edf, 1.0)
    gap, of_gap = price.contrast(weights, table)
    found = {"gap": (gap, of_gap)}
    if cost is not None:
        share = table.weight / table.weight.sum()
        ratio = float(share @ table.price / (share @ cost))
        apart, of_apart = fit_curve(cost, table, basis, lam=lam).contrast(weights, table)
        # The loss ratio is estimated too: d(ratio) = (π − ratio Y) / E[Y].
        of_ratio = np.bincount(table.units, weights=share * (table.price - ratio * cost)) / float(
            share @ cost
        )
        of_earned = ratio * of_apart + apart * of_ratio
        found["earned"] = (ratio * apart, of_earned)
        found["left"] = (gap - ratio * apart, of_gap - of_earned)
    return {name: (value, float(of @ of) * correction) for name, (value, of) in found.items()}


def _bridge(parts: list[dict[str, tuple[float, float]]], points: list[tuple[float, float]]) -> Bridge:
    """The mean over halves, which are independent of each other."""
    count = len(parts)
    made = {
        name: Estimate.of(
            sum(part[name][0] for part in parts) / count,
            float(np.sqrt(sum(part[name][1] for part in parts))) / count,
        )
        for name in parts[0]
    }
    low, high = (tuple(float(point[k]) for point in points) for k in (0, 1))
    return Bridge(gap=made["gap"], earned=made.get("earned"), left=made.get("left"), low=low, high=high)


def typical_gap(
    table: AuditTable, basis: Basis, curve: Curve, *, n_folds: int = 5
) -> tuple[Estimate, Estimate]:
    """√Var(E[π|S]) in units of the price, and UF = Var(E[π|S]) / Var(π) in [0, 1], cross-fitted.

    Var(E[π|S]) = Var(π) − E[(π − m(s))²] with m learned on the other folds, so that noise does not count
    (Williamson et al. 2021); below 0 it is reported as 0.
    """
    told = told_out_of_fold(table.price, table, basis, lam=curve.lam, n_folds=n_folds)
    share = table.weight / table.weight.sum()
    around = (table.price - table.mean_price) ** 2
    total = float(share @ around)
    if total <= 0:
        return Estimate.of(0.0, 0.0), Estimate.of(0.0, 0.0)
    gained = around - (table.price - told) ** 2
    explained = float(share @ gained)
    of_units = np.bincount(table.units, weights=share * (gained - explained))
    per_unit = np.bincount(table.units, weights=share)
    # Where nothing follows s the first order vanishes, and the noise of the curve itself is what is left.
    second = 2 * curve.edf * (total * float(per_unit @ per_unit)) ** 2
    spread = _Z * float(np.sqrt(of_units @ of_units + second))
    variance = Estimate(value=explained, ci_low=explained - spread, ci_high=explained + spread)
    clipped = replace(
        variance, **{name: max(getattr(variance, name), 0.0) for name in ("value", "ci_low", "ci_high")}
    )
    typical = Estimate(
        value=np.sqrt(clipped.value), ci_low=np.sqrt(clipped.ci_low), ci_high=np.sqrt(clipped.ci_high)
    )
    return typical, Estimate(
        value=min(clipped.value / total, 1.0),
        ci_low=min(clipped.ci_low / total, 1.0),
        ci_high=min(clipped.ci_high / total, 1.0),
    )
