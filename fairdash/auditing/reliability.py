"""What the price's curve would be if s had been measured without error: simulation and extrapolation.

Cook and Stefanski (1994): errors of growing variance are added to s, the curve is fitted to each, and what
it does is carried on to no error at all. The reliability of s, Var(true s) ÷ Var(s), is stated by the user;
errors are classical: of s around its true value, normal, alike everywhere, and the same in all rows of a
policy.

A point of the curve is the mean price at a percentile of s. For normal s and errors, the k-th Hermite part of
the curve is a factor rᵏ smaller at reliability r² (Mehler 1866), so a point is a polynomial in r. The
extrapolant is therefore a parabola in r through the value as it was measured, exact for a curve that is a
straight line or a parabola in s; elsewhere it is an approximation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.basis import MOST_LEVELS, Basis, basis_of
from fairdash.auditing.bridge import HIGH_POINT, LESS_PENALTY, LOW_POINT, Estimate
from fairdash.auditing.curve import Curve, fit_curve
from fairdash.auditing.table import AuditTable
from fairdash.seeds import Stream, rng_of

Array = NDArray[np.float64]

#: Reliabilities that are always looked at; 1 is s as it stands.
RELIABILITIES = (1.0, 0.9, 0.7, 0.5)
#: Variances of the errors that are added, as shares of that of s.
_ADDED = np.array([0.25, 0.5, 1.0, 2.0])
#: Shares of the exposure at or below which the curve is read.
SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
#: Rows, of units drawn by the seed, that it is worked out on; and how often errors are drawn.
MOST_ROWS = 100_000
_MOST_DRAWS, _FEWEST_DRAWS, _ROWS_DRAWN = 40, 5, 400_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Corrected:
    """The curve and the direction gap at stated reliabilities.

    Attributes
    ----------
    direction
        Reliability to E[π|s₉₀] − E[π|s₁₀], in units of the price.
    curve
        Columns reliability, share (of the exposure at or below), at (of the true s, were it normal), value,
        low, high: 95 % intervals point by point.
    rows
        How many were looked at.
    """

    direction: dict[float, Estimate]
    curve: pd.DataFrame
    rows: int


def corrected(
    table: AuditTable, reliabilities: Sequence[float], *, random_state: int | None = 0
) -> Corrected | None:
    """The curve at stated reliabilities in (0, 1]; None where s has but levels, which have no such error."""
    if len(np.unique(table.sensitive)) <= MOST_LEVELS:
        return None
    table = table.take(table.deal < MOST_ROWS / table.n)
    basis = basis_of(table)
    lam = fit_curve(table.price, table, basis).lam * LESS_PENALTY
    at, value, influence, edf = _read(table, basis, lam)
    share = table.weight / table.weight.sum()
    mean = float(share @ table.sensitive)
    spread = float(np.sqrt(share @ (table.sensitive - mean) ** 2))
    draws = int(np.clip(_ROWS_DRAWN // table.n, _FEWEST_DRAWS, _MOST_DRAWS))
    rng = rng_of(Stream.AUDIT_ERRORS, random_state)
    values = np.empty((len(_ADDED), draws, len(SHARES)))
    influences = np.zeros((len(_ADDED), *influence.shape))
    for k, added in enumerate(_ADDED):
        for draw in range(draws):
            errors = rng.normal(scale=np.sqrt(added) * spread, size=table.n_units)[table.units]
            noisy, units = _moved(table, table.sensitive + errors)
            _, values[k, draw], own, _ = _read(noisy, basis_of(noisy), lam)
            influences[k][units] += own / draws
    weights = {each: _extrapolate(each) for each in sorted({*RELIABILITIES, *reliabilities}, reverse=True)}
    degrees = table.n_units / max(table.n_units - edf, 1.0)
    direction, rows = {}, []
    for reliability, of in weights.items():
        told = value + np.tensordot(of, values.mean(axis=1) - value, axes=1)
        off = influence + np.tensordot(of, influences - influence, axes=1)
        by_draw = np.tensordot(of, values, axes=1)

        def error(column: Array, drawn: Array) -> float:
            return float(np.sqrt(column @ column * degrees + drawn.var(ddof=1) / draws))

        low, high = (int(np.argmin(np.abs(SHARES - each))) for each in (LOW_POINT, HIGH_POINT))
        direction[reliability] = Estimate.of(
            float(told[high] - told[low]),
            error(off[:, high] - off[:, low], by_draw[:, high] - by_draw[:, low]),
        )
        for j, point in enumerate(told):
            each = Estimate.of(float(point), error(off[:, j], by_draw[:, j]))
            row = {"reliability": reliability, "share": SHARES[j]}
            row |= {"at": mean + np.sqrt(reliability) * (at[j] - mean)}
            rows.append(row | {"value": each.value, "low": each.ci_low, "high": each.ci_high})
    return Corrected(direction=direction, curve=pd.DataFrame(rows), rows=table.n)


def _extrapolate(reliability: float) -> Array:
    """What each change from the value as it stands counts in the extrapolated one, (variances,).

    With t = 1 ÷ √(1 + added variance), the reliability is √ r = √reliability × t: the least-squares parabola
    in t through t = 1, read at t = 1 ÷ √reliability.
    """
    t = 1 / np.sqrt(1 + _ADDED) - 1
    to = 1 / np.sqrt(reliability) - 1
    return np.array([to, to**2]) @ np.linalg.pinv(np.column_stack([t, t**2]))


def _moved(table: AuditTable, s: Array) -> tuple[AuditTable, NDArray[np.intp]]:
    """The table with another s, sorted by it; and which unit of the old one each of its units is."""
    order = np.argsort(s, kind="stable")
    units, names = _numbered(table.units[order])
    part = replace(
        table,
        sensitive=s[order],
        price=table.price[order],
        weight=table.weight[order],
        units=units,
        deal=table.deal[order],
        distinct=table.distinct[order],
    )
    return part, names


def _numbered(units: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    codes, names = pd.factorize(units)
    return codes.astype(np.intp), np.asarray(names, dtype=np.intp)


def _read(table: AuditTable, basis: Basis, lam: float) -> tuple[Array, Array, Array, float]:
    """Where the points stand, the curve there, what each unit adds to its errors (U, points), and its edf."""
    curve = fit_curve(table.price, table, basis, lam=lam)
    nearest = [basis.nearest(share) for share in SHARES]
    return basis.at[nearest], curve.values[nearest], _influences(curve, nearest, table), curve.edf


def _influences(curve: Curve, points: list[int], table: AuditTable) -> Array:
    """As :meth:`Curve.contrast`, of several points at once."""
    of_units = np.asarray(curve.scores @ (curve.solve @ curve.basis.points[points].T))
    share = np.cumsum(table.weight) / table.weight.sum()
    own = table.weight / table.weight.sum()
    for k, j in enumerate(points):
        p = curve.basis.share[j]
        per_row = curve.rank_slope[j] * (p - (share <= p + 1e-12)) * own
        of_units[:, k] += np.bincount(table.units, weights=per_row)
    return of_units
