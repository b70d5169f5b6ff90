"""Actual against expected, by single factor and by coverage: part of question 5."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.data import AuditData
from fairdash.auditing.gaps import largest_gap
from fairdash.auditing.questions.money import levels_of, other_columns
from fairdash.auditing.table import FEWEST, AuditTable
from fairdash.dependence.classical import Z

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Columns that are looked at, the first ones.
_MOST_COLUMNS = 20


def one_way(table: AuditTable) -> pd.DataFrame:
    """Return one row per level (or fifth) of each other column, for a table with an outcome.

    Returns
    -------
    DataFrame
        Columns column, level, rows, exposure, price and outcome (means), loss_ratio (Σ w Y / Σ w π), ratio
        (actual ÷ expected: Σ w Y over Σ w times the user's expected cost, or else over the price times the
        portfolio's loss ratio), ci_low and ci_high (95 %).
    """
    columns = other_columns(table).iloc[:, :_MOST_COLUMNS]
    parts = [
        _ratios(table, level, labels).assign(column=name)
        for name, level, labels in levels_of(columns, table.weight)
    ]
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True)
    return frame[["column", "level", *frame.columns.drop(["column", "level"])]]


def by_coverage(data: AuditData) -> pd.DataFrame:
    """Return one row per coverage: the numbers of :func:`one_way`, and the price's largest gap along s.

    ``gap``, ``gap_low`` and ``gap_high`` are shares of that coverage's mean price; missing where it has fewer
    than 100 units, or too few values of s.
    """
    table, name = data.table, data.table.columns.coverage
    assert name is not None
    ((_, level, labels),) = levels_of(other_columns(table)[[name]], table.weight)
    frame = _ratios(table, level, labels)
    gaps = [_gap(table.take(level == code), data) for code in np.unique(level[level >= 0])]
    ends = ("gap", "gap_low", "gap_high")
    return frame.assign(**dict(zip(ends, np.array(gaps).reshape(-1, 3).T, strict=True)))


def _ratios(table: AuditTable, level: Index, labels: list[str]) -> pd.DataFrame:
    assert table.outcome is not None
    expected = table.price * table.loss_ratio if table.expected_cost is None else table.expected_cost
    held = level >= 0
    count = len(labels)
    rows = np.bincount(level[held], minlength=count)
    exposure, price, outcome, cost = (
        np.bincount(level[held], weights=(table.weight * each)[held], minlength=count)
        for each in (np.ones(table.n), table.price, table.outcome, expected)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        loss_ratio, ratio = outcome / price, outcome / cost
        off = table.weight * (table.outcome - np.where(held, ratio[level], 0.0) * expected)
        error = np.array([table.error(off * (level == code)) for code in range(count)]) / cost
        made = {
            "level": labels, "rows": rows, "exposure": exposure, "price": price / exposure,
            "outcome": outcome / exposure, "loss_ratio": loss_ratio, "ratio": ratio,
            "ci_low": ratio - Z * error, "ci_high": ratio + Z * error,
        }  # fmt: skip
    return pd.DataFrame(made)[rows > 0].replace([np.inf, -np.inf], math.nan).reset_index(drop=True)


def _gap(part: AuditTable, data: AuditData) -> tuple[float, float, float]:
    unknown = (math.nan, math.nan, math.nan)
    if part.n_units < FEWEST or np.ptp(part.sensitive) == 0 or not part.mean_price > 0:
        return unknown
    basis = basis_of(part)
    if len(basis.at) < 2:
        return unknown
    mean = part.mean_price
    gap, _ = largest_gap(
        fit_curve(part.price, part, basis), data.plan.gap_allowed(mean), random_state=data.seed
    )
    return gap.value / mean, gap.ci_low / mean, gap.ci_high / mean
