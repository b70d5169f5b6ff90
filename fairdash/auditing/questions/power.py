"""Question 9: how certain are the results? The answer covers power, rows without the attribute, and errors in
the attribute.

Simulation and extrapolation (SIMEX: Cook and Stefanski 1994) estimates the price's curve for an s measured
without error. SIMEX adds errors of growing variance to s, and fits a curve for each variance. SIMEX then
extrapolates the trend to an s without error. The user states the reliability of s, Var(true s) ÷ Var(s).
Errors are classical: normal around the true value, with the same variance everywhere, and equal in all rows
of a policy.

A point of the curve is the mean price at a percentile of s. For normal s and errors, the k-th Hermite
component of the curve shrinks by a factor rᵏ at reliability r² (Mehler 1866), so the curve's value at a point
is a polynomial in r. The extrapolation therefore uses a parabola in r through the measured value. The
extrapolation is exact if the curve is a straight line or a parabola in s, and otherwise approximate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.curve import MAX_LEVELS, Basis, basis_of, fit_curve
from fairdash.auditing.data import Answered, AuditData, Part
from fairdash.auditing.gaps import Estimate, with_interval
from fairdash.auditing.plan import CRITERIA, Columns
from fairdash.auditing.questions.decomposition import HIGH_POINT, LESS_PENALTY, LOW_POINT
from fairdash.auditing.table import AuditTable
from fairdash.dependence.classical import Z
from fairdash.evaluation.insurance import MIN_SHOWN, bands_of
from fairdash.utils.seeds import Stream, rng_of
from fairdash.utils.text import counted, few, percent

Array = NDArray[np.float64]

#: Results are always reported for these reliabilities. A reliability of 1 means that s has no error.
RELIABILITIES = (1.0, 0.9, 0.7, 0.5)
#: Variances of the added errors, as shares of the variance of s.
_ADDED_VARIANCES = np.array([0.25, 0.5, 1.0, 2.0])
#: Shares of the exposure (percentiles of s) at which the curve is evaluated.
SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
#: Maximum number of rows in a simulation, drawn as whole units.
MAX_ROWS = 100_000
#: Largest and smallest number of draws of the errors. Target number of rows in all draws together.
_MAX_DRAWS, _MIN_DRAWS, _ROWS_DRAWN = 40, 5, 400_000
_NO_ORDER = (
    "The classes of “{name}” have no order. The audit therefore omits percentiles, direction and reliability."
)
_BERKSON = (
    "This estimate assumes that measured values scatter around the true value. This estimate does not apply "
    "if the attribute was imputed as a mean given other columns (Berkson errors)."
)


def report_power(data: AuditData, findings_so_far: Answered) -> Part:
    """Answer question 9: report power, rows without s, and estimates for an s without error."""
    parts = [_power(data, findings_so_far), *_compare_missing(data), _correct_for_errors(data)]
    return Part(
        sentences=tuple(sentence for part in parts for sentence in part.sentences),
        tables={name: table for part in parts for name, table in part.tables.items()},
        measures=tuple(row for part in parts for row in part.measures),
        notes=tuple(note for part in parts for note in part.notes),
    )


def _power(data: AuditData, findings_so_far: Answered) -> Part:
    table = [
        {
            "criterion": name,
            "rows": each.table.n,
            "smallest": each.found.smallest / each.mean_price,
            "smallest_money": each.found.smallest,
            "rows_needed": int(each.rows_needed(data.plan)),
        }
        for name, each in findings_so_far.criteria.items()
    ]
    # If the factors determine s, the primary criterion has no estimate. Independence is then used instead.
    name = data.plan.criterion if data.plan.criterion in findings_so_far.criteria else "independence"
    first = findings_so_far.criteria[name]
    n, n_needed = first.table.n, first.rows_needed(data.plan)
    rows = counted(n, "row")
    if first.table.columns.groups is not None:
        rows += f" of {first.table.n_units:,} policies"
    conclusion = "there are enough rows" if n_needed <= n else f"about {n_needed:,.0f} rows would be needed"
    sentence = (
        f"{CRITERIA[name].title}: if there were no gap, {rows} like these would rule "
        f"out a gap of {percent(first.found.smallest / first.mean_price)} of the mean price with "
        "probability 0.8. "
        f"For a gap of {data.plan.gap_in_words}, {conclusion}."
    )
    return Part(sentences=(sentence,), tables={"power": pd.DataFrame(table)})


def _compare_missing(data: AuditData) -> list[Part]:
    name = data.table.columns.sensitive
    rates = without_sensitive(data.frame, data.table.columns)
    if rates is None:
        return []
    difference, count, table = rates
    verb = "differ" if difference.ci_low > 0 or difference.ci_high < 0 else "do not differ detectably"
    money = data.table.money
    sentence = (
        f"“{name}” is missing in {counted(count, 'row')}, which are left out. Their prices {verb} from "
        f"those of the other rows. The average difference is {money(difference.value)} "
        f"({money(difference.ci_low)} to {money(difference.ci_high)})."
    )
    measures = (data.measure("price_without_sensitive", difference),)
    return [Part(sentences=(sentence,), tables={"missing_by_price": table}, measures=measures)]


def _correct_for_errors(data: AuditData) -> Part:
    name, mean, n = data.table.columns.sensitive, data.table.mean_price, data.table.n
    if data.table.classes:
        return Part(sentences=(_NO_ORDER.format(name=name),))
    if not data.plan.reliability:
        sentence = f"If “{name}” was measured with error, state its reliability to correct for it."
        return Part(sentences=(sentence,))
    data.report_progress("Errors in the attribute", 9, 0.5)
    corrections = corrected_curve(data.table, data.plan.reliability, random_state=data.seed)
    if corrections is None:
        sentence = f"“{name}” has few values. Misclassified values are not covered."
        return Part(sentences=(sentence,))
    direction, curve, n_used = corrections
    rows = [{"reliability": share} | data.measure("", each) for share, each in direction.items()]
    share = min(data.plan.reliability)
    estimate, uncorrected = direction[share], direction[1.0]
    sample_note = f"The correction for errors in the attribute uses a random sample of {n_used:,} rows."
    return Part(
        sentences=(
            f"Suppose that {percent(share)} of the variance of {few([name])} is not error. Then the price "
            f"differs by {with_interval(estimate, mean)} between its 10th and 90th percentile instead of "
            f"{percent(uncorrected.value / mean)} (by SIMEX: simulation and extrapolation).",
            _BERKSON,
        ),
        tables={"reliability": pd.DataFrame(rows).drop(columns="measure"), "reliability_curve": curve},
        notes=(sample_note,) if n_used < n else (),
    )


def without_sensitive(frame: pd.DataFrame, columns: Columns) -> tuple[Estimate, int, pd.DataFrame] | None:
    """Compare the prices of rows with a missing s and of all other rows.

    Returns
    -------
    Estimate
        Mean price of rows with a missing s minus that of all others, with a 95 % interval over units.
    int
        Number of rows with a missing s.
    DataFrame
        Bands of the price: low, high, rows, and share (of the exposure) with missing s.
    None
        Result if s is missing in fewer than 20 rows.
    """
    price = frame[columns.price].to_numpy(dtype=float, na_value=np.nan)
    weight = np.ones(len(frame))
    if columns.exposure is not None:
        weight = frame[columns.exposure].to_numpy(dtype=float, na_value=np.nan)
    if columns.price in columns.totals:
        price = np.divide(price, weight, out=np.full_like(price, np.nan), where=weight > 0)
    usable = np.isfinite(price) & (weight > 0)
    if columns.groups is not None:
        usable &= frame[columns.groups].notna().to_numpy()
    price, weight = price[usable], weight[usable]
    missing = frame[columns.sensitive].isna().to_numpy()[usable]
    if min(missing.sum(), (~missing).sum()) < MIN_SHOWN:
        return None
    units = np.arange(len(price))
    if columns.groups is not None:
        units = pd.factorize(frame[columns.groups].to_numpy()[usable])[0]
    means, deviations = [], np.zeros(len(price))
    for rows, sign in ((missing, 1.0), (~missing, -1.0)):
        shares = weight * rows / weight[rows].sum()
        means.append(float(shares @ price))
        deviations += sign * shares * (price - means[-1])
    unit_errors = np.bincount(units, weights=deviations)
    code = bands_of(price, weight)
    share = np.bincount(code, weights=weight * missing) / np.bincount(code, weights=weight)
    bands = pd.Series(price).groupby(code)
    table = pd.DataFrame({"low": bands.min(), "high": bands.max(), "rows": bands.size(), "share": share})
    return (
        Estimate.of(means[0] - means[1], float(np.sqrt(unit_errors @ unit_errors))),
        int(missing.sum()),
        table,
    )


def corrected_curve(
    table: AuditTable, reliabilities: Sequence[float], *, random_state: int | None = 0
) -> tuple[dict[float, Estimate], pd.DataFrame, int] | None:
    """Return the gap from the 10th to the 90th percentile and the curve, corrected for errors in s.

    Returns
    -------
    dict
        Map of reliabilities to E[π|s₉₀] − E[π|s₁₀], in units of the price.
    DataFrame
        The curve: reliability, share (of the exposure at or below), at (the true s, if normal), value, and
        low, high (pointwise 95 % limits).
    int
        Number of rows used.
    None
        Result if s has levels, for which the model of errors is unsuitable.
    """
    if len(np.unique(table.sensitive)) <= MAX_LEVELS:
        return None
    table = table.take(table.deal < MAX_ROWS / table.n)
    basis = basis_of(table)
    lam = fit_curve(table.price, table, basis).lam * LESS_PENALTY
    at_points, value, influence, edf = _curve_values(table, basis, lam)
    mean = table.mean(table.sensitive)
    spread = float(np.sqrt(table.mean((table.sensitive - mean) ** 2)))
    draws = int(np.clip(_ROWS_DRAWN // table.n, _MIN_DRAWS, _MAX_DRAWS))
    rng = rng_of(Stream.AUDIT_ERRORS, random_state)
    values = np.empty((len(_ADDED_VARIANCES), draws, len(SHARES)))
    influences = np.zeros((len(_ADDED_VARIANCES), *influence.shape))
    for k, added in enumerate(_ADDED_VARIANCES):
        for draw in range(draws):
            errors = rng.normal(scale=np.sqrt(added) * spread, size=table.n_units)[table.units]
            with_errors, units = _with_other_s(table, table.sensitive + errors)
            _, values[k, draw], influence_drawn, _ = _curve_values(with_errors, basis_of(with_errors), lam)
            influences[k][units] += influence_drawn / draws
    weights = {share: _extrapolate(share) for share in sorted({*RELIABILITIES, *reliabilities}, reverse=True)}
    degrees = table.n_units / max(table.n_units - edf, 1.0)
    low, high = (int(np.argmin(np.abs(SHARES - point))) for point in (LOW_POINT, HIGH_POINT))
    # The last column of this matrix gives the price at the 90th percentile minus the price at the 10th. The
    # other columns give the price at each percentile.
    selection = np.column_stack([np.eye(len(SHARES)), np.eye(len(SHARES))[high] - np.eye(len(SHARES))[low]])
    direction, curves = {}, []
    for reliability, weight in weights.items():
        extrapolated = (value + np.tensordot(weight, values.mean(axis=1) - value, axes=1)) @ selection
        unit_errors = (influence + np.tensordot(weight, influences - influence, axes=1)) @ selection
        projected = np.tensordot(weight, values, axes=1) @ selection
        error = np.sqrt((unit_errors**2).sum(axis=0) * degrees + projected.var(axis=0, ddof=1) / draws)
        direction[reliability] = Estimate.of(float(extrapolated[-1]), float(error[-1]))
        # These values are the quantiles of the true s, if it is normal.
        true_values = mean + np.sqrt(reliability) * (at_points - mean)
        curve = {"reliability": reliability, "share": SHARES, "at": true_values, "value": extrapolated[:-1]}
        limits = {"low": extrapolated[:-1] - Z * error[:-1], "high": extrapolated[:-1] + Z * error[:-1]}
        curves.append(pd.DataFrame(curve | limits))
    return direction, pd.concat(curves, ignore_index=True), table.n


def _extrapolate(reliability: float) -> Array:
    """Return the weights, (variances,), of changes: extrapolated value = observed value + Σ weight × change.

    With t = 1 ÷ √(1 + added variance), the reliability's root is r = √reliability × t. A least-squares
    parabola in t passes through the observed value at t = 1. The extrapolation is its value at t = 1 ÷
    √reliability.
    """
    t = 1 / np.sqrt(1 + _ADDED_VARIANCES) - 1
    target = 1 / np.sqrt(reliability) - 1
    return np.array([target, target**2]) @ np.linalg.pinv(np.column_stack([t, t**2]))


def _with_other_s(table: AuditTable, s: Array) -> tuple[AuditTable, NDArray[np.intp]]:
    """Return the table with another s, sorted by it, and the old number of each unit."""
    order = np.argsort(s, kind="stable")
    rows = {name: getattr(table, name)[order] for name in ("price", "weight", "deal")}
    units, names = pd.factorize(table.units[order])
    return replace(table, sensitive=s[order], units=units, **rows), np.asarray(names, dtype=np.intp)


def _curve_values(table: AuditTable, basis: Basis, lam: float) -> tuple[Array, Array, Array, float]:
    """Return points, curve values, units' contributions to errors (U, points), and degrees of freedom."""
    curve = fit_curve(table.price, table, basis, lam=lam)
    nearest = [basis.nearest(share) for share in SHARES]
    influences = curve.errors(np.eye(len(basis.at))[:, nearest], table)
    return basis.at[nearest], curve.values[nearest], influences, curve.edf
