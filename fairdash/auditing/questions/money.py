"""Question 7: how much money is at stake, and for whom?

The answer compares payments with a base payment, along s and for each segment.

A row's base is its expected cost divided by the portfolio's loss ratio, so that bases and prices have the
same total. Without a cost, the base is the mean price. In a segment, the base is the mean price of the rows
with the same level of the other column. The payment of a group above its base is Σ w (π − base). The standard
error is the larger of two values. The first comes from the spread within the group, the second from the
overall spread and the number of rows in the group. The overall spread is needed for a small group without
claims, because the spread within such a group is 0. The standard error ignores the noise of the base. If
spreads are equal, taking it into account would make intervals narrower. In 95 % of samples, the limits in a
table hold for all groups of the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from scipy.sparse import csr_matrix

from fairdash.auditing.columns import as_feature
from fairdash.auditing.curve import Basis, fit_curve, predicted_out_of_fold
from fairdash.auditing.data import Answered, AuditData, Part
from fairdash.auditing.gaps import Estimate, joint_limit_factor_of_sums
from fairdash.auditing.table import AuditTable
from fairdash.evaluation.insurance import MIN_SHOWN, bands_of
from fairdash.utils.text import counted, percent

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Maximum number of segments in the table.
MAX_SEGMENTS = 20
#: Number of bands of s and of each numeric column. Maximum number of levels of any other column.
_BANDS, _MAX_LEVELS = 5, 30
#: Factor of the standard error of the sum over both halves. Each half's noise determines the sign of the
#: other half's sum. Without a link, the variance is therefore E[(|a| + |b|)²] for independent normal a and b.
_TWO_HALVES = float(np.sqrt(1 + 2 / np.pi))


def excess_payments(data: AuditData, _: Answered) -> Part:
    """Answer question 7: payments above the mean or the cost-justified price, along s and by segment."""
    all_data, seed, data = data, data.seed, data.on("cost")
    table, cost = data.table, data.cost
    per_head, of_all, share = payments_above_base(table, data.basis, table.price, cost)
    measures = [data.measure("paid_above_per_head", per_head), data.measure("paid_above_of_all", of_all)]
    bases = {"mean price": (all_data.table, None)} | ({} if cost is None else {"earned": (table, cost)})
    groups = [
        payments_by_band(rows, rows.price, each, random_state=seed).assign(base=name)
        for name, (rows, each) in bases.items()
    ]
    tables = {"money_along_s": pd.concat(groups, ignore_index=True)}
    largest_segments, count = segments(table, other_columns(table), table.price, cost, random_state=seed)
    if count:
        tables["segments"] = largest_segments
    sentences = [
        _payments_in_words(per_head, of_all, share, table, earned=cost is not None),
        _segments_in_words(largest_segments, count, data),
    ]
    if cost is not None:
        above_mean = payments_above_base(all_data.table, all_data.basis, all_data.table.price, None)
        measures.append(all_data.measure("paid_above_mean_per_head", above_mean[0]))
        sentences.insert(0, _payments_in_words(*above_mean, all_data.table, earned=False))
    return Part(sentences=tuple(sentences), tables=tables, measures=tuple(measures))


def other_columns(table: AuditTable) -> pd.DataFrame:
    """Return the factors and features that are combined with s to form segments."""
    features = table.features.drop(columns=[name for name in table.features if name in table.controls])
    controls = {name: as_feature(column) for name, column in table.controls.items()}
    return pd.concat([pd.DataFrame(controls, index=table.controls.index), features], axis=1)


def _payments_in_words(
    each: Estimate, of_all: Estimate, share: float, table: AuditTable, *, earned: bool
) -> str:
    base = "the price that cost justifies at the portfolio's loss ratio" if earned else "the mean price"
    total = float(table.weight.sum()) * of_all.value
    name = table.columns.sensitive
    if of_all.ci_low <= 0:
        return (
            f"The data show no values of “{name}” at which customers pay more than {base}. We selected "
            "values on one half of the rows; on the other half, the difference at these values is "
            f"{table.money(each.value)} "
            f"{table.a_unit_of_exposure} ({table.money(each.ci_low)} to {table.money(each.ci_high)})."
        )
    return (
        f"At some values of “{name}”, with {percent(share)} of {table.rows_in_words}, customers pay "
        f"more than {base}. On average they pay {table.money(each.value)} {table.a_unit} more "
        f"({table.money(each.ci_low)} to {table.money(each.ci_high)}). This is {table.money(total)} in "
        f"total, or {percent(of_all.value / table.mean_price)} of all premiums."
    )


def _segments_in_words(largest_segments: pd.DataFrame, count: int, data: AuditData) -> str:
    if not count:
        return "No other column can form segments."
    first = largest_segments.iloc[0]
    if first["shown"] <= 0:
        return f"None of {counted(count, 'segment')} with 20 rows or more differs by more than noise."
    rows_alike = "the price of rows that are equal in this column"
    reference = rows_alike if data.cost is None else "what cost justifies"
    return (
        f"Of {counted(count, 'segment')} with 20 rows or more, the one with “{data.table.columns.sensitive}” "
        f"{data.table.s_range(first['s_low'], first['s_high'])} and “{first['column']}” {first['level']} "
        f"({counted(int(first['rows']), 'row')}) is affected most. The price of this segment minus "
        f"{reference} is {data.table.money(first['per_head'])} ({data.table.money(first['per_head_low'])} to "
        f"{data.table.money(first['per_head_high'])}) {data.table.a_unit_of_exposure}."
    )


def above_base(price: Array, cost: Array | None, weight: Array, *, groups: Index | None = None) -> Array:
    """Return the amount by which each row's price exceeds its base, (n,), per unit of exposure.

    Parameters
    ----------
    groups : (n,) codes, optional
        Code of each row's group, if each group has a separate base.
    """
    code = np.zeros(len(price), dtype=np.intp) if groups is None else groups
    cost = np.ones_like(price) if cost is None else cost
    price_sum, expected = (np.bincount(code, weights=weight * amount) for amount in (price, cost))
    return price - cost * (price_sum / np.where(expected == 0, np.inf, expected))[code]


def payments_by_group(
    table: AuditTable, groupings: list[tuple[Index, Array]], *, random_state: int | None = 0
) -> pd.DataFrame:
    """Return the payments of groups above their base, with simultaneous limits.

    Parameters
    ----------
    groupings
        Pairs of arrays (n,): the group of each row (from 0 to K-1, or −1 for no group), and the payment of
        each row above its base.

    Returns
    -------
    DataFrame
        One row per group, in the order of the groupings; groups with fewer than 20 rows or units are missing.
        The columns are grouping, code, rows, exposure, price (the mean), per_head, per_head_low,
        per_head_high, total, total_low, total_high, and shown: the distance of the interval of per_head from
        0, or 0 if the interval contains 0.
    """
    starts = np.cumsum([0, *(int(code.max()) + 1 for code, _ in groupings)])
    masks = [code >= 0 for code, _ in groupings]
    group = np.concatenate(
        [code[mask] + k for (code, _), mask, k in zip(groupings, masks, starts, strict=False)]
    )
    above = np.concatenate([excess[mask] for (_, excess), mask in zip(groupings, masks, strict=True)])
    weight, units, price = (
        np.concatenate([values[mask] for mask in masks])
        for values in (table.weight, table.units, table.price)
    )
    count, shape = int(starts[-1]), (table.n_units, int(starts[-1]))
    exposure, price_amount, excess = (
        np.bincount(group, weights=values, minlength=count)
        for values in (weight, weight * price, weight * above)
    )
    numbers = np.arange(count)
    unit_weights = csr_matrix((weight, (units, group)), shape=shape)
    members = np.bincount(unit_weights.indices, minlength=count)
    frame = pd.DataFrame(
        {
            "grouping": np.searchsorted(starts, numbers, side="right") - 1,
            "rows": np.bincount(group, minlength=count),
            "exposure": exposure,
            "price": price_amount / exposure,
            "per_head": excess / exposure,
        }
    )
    frame.insert(1, "code", numbers - starts[frame["grouping"]])
    score = csr_matrix((weight * (above - frame["per_head"].to_numpy()[group]), (units, group)), shape=shape)
    variance = np.asarray(score.multiply(score).sum(axis=0)).ravel() * members / np.maximum(members - 1, 1)
    spread = np.zeros(count)
    for k, (_, of_rows) in enumerate(groupings):
        ratio = table.error(table.weight * of_rows) / table.error(table.weight)
        spread[starts[k] : starts[k + 1]] = ratio**2
    min_variance = spread * np.asarray(unit_weights.multiply(unit_weights).sum(axis=0)).ravel()
    error = np.sqrt(np.maximum(variance, min_variance)) / exposure
    is_shown = members >= MIN_SHOWN
    half_width = joint_limit_factor_of_sums(score[:, is_shown], random_state) * error
    for name, factor in (("per_head", np.ones(count)), ("total", exposure)):
        frame[name] = frame["per_head"] * factor if name == "total" else frame["per_head"]
        frame[f"{name}_low"] = (frame["per_head"] - half_width) * factor
        frame[f"{name}_high"] = (frame["per_head"] + half_width) * factor
    frame["shown"] = np.maximum(frame["per_head"].abs() - half_width, 0)
    return frame[is_shown].reset_index(drop=True)


def payments_by_band(
    table: AuditTable, price: Array, cost: Array | None, *, base: bool = True, random_state: int | None = 0
) -> pd.DataFrame:
    """Return payments above the base in bands of about equal exposure along s.

    Parameters
    ----------
    price : (n,) array
        Price of each row, or change of the price.
    cost
        Expected cost, to which the base is proportional; by default the base is the mean price.
    base
        True subtracts a base from the price.

    Returns
    -------
    DataFrame
        Columns low and high (of s), and the columns of :func:`payments_by_group`.
    """
    code = table.bands()
    above = above_base(price, cost, table.weight) if base else price
    frame = payments_by_group(table, [(code, above)], random_state=random_state)
    by = pd.Series(table.sensitive).groupby(code)
    for name, values in (("high", by.max()), ("low", by.min())):
        frame.insert(0, name, values.to_numpy()[frame["code"]])
    return frame.drop(columns=["grouping", "code", "shown"])


def segments(
    table: AuditTable,
    columns: pd.DataFrame,
    price: Array,
    cost: Array | None,
    *,
    base: bool = True,
    random_state: int | None = 0,
) -> tuple[pd.DataFrame, int]:
    """Return the most affected segments: combinations of a fifth of s and a level or fifth of another column.

    Segments are sorted by the limit of the amount per head that is closest to 0. Noise therefore does not put
    a small segment first. Segments whose limits include 0 come last, sorted by the amount divided by its
    standard error.

    Parameters
    ----------
    columns : (n, c) frame
        The other columns.
    price, cost, base
        Arguments as in :func:`payments_by_band`, but the base without a cost is the mean of the same level.

    Returns
    -------
    DataFrame
        The first 20 segments: columns s_low, s_high, column, level, and those of :func:`payments_by_group`.
    int
        Total number of segments.
    """
    bands = table.bands(_BANDS)
    count = int(bands.max()) + 1
    groupings, names = [], []
    for name, level, labels in levels_of(columns, table.weight):
        code = np.where(level >= 0, level * count + bands, -1)
        if not base:
            above = price
        elif cost is None:
            above = above_base(price, None, table.weight, groups=level + 1)
        else:
            above = above_base(price, cost, table.weight)
        # The codes are numbered again, because an unused code would be a group without rows.
        codes, new_code = np.unique(code[code >= 0], return_inverse=True)
        code[code >= 0] = new_code
        groupings.append((code, above))
        names.append([(name, labels[code // count], code % count) for code in codes])
    if not groupings:
        return pd.DataFrame(), 0
    frame = payments_by_group(table, groupings, random_state=random_state)
    by = pd.Series(table.sensitive).groupby(bands)
    low, high = by.min().to_numpy(), by.max().to_numpy()
    level_names = [names[k][code] for k, code in zip(frame["grouping"], frame["code"], strict=True)]
    frame.insert(0, "level", [key[1] for key in level_names])
    frame.insert(0, "column", [key[0] for key in level_names])
    frame.insert(0, "s_high", [high[key[2]] for key in level_names])
    frame.insert(0, "s_low", [low[key[2]] for key in level_names])
    errors = (frame["per_head"] / (frame["per_head_high"] - frame["per_head"])).abs().fillna(0)
    order = np.lexsort((-errors, -frame["shown"]))[:MAX_SEGMENTS]
    return frame.iloc[order].drop(columns=["grouping", "code"]).reset_index(drop=True), len(frame)


def levels_of(columns: pd.DataFrame, weight: Array) -> Iterator[tuple[str, Index, list[str]]]:
    """Yield each column's name, the level of each row (n,) (−1 if missing), and the names of the levels."""
    for name in columns:
        column = columns[name]
        if is_numeric_dtype(column) and column.nunique() > 2 * _BANDS:
            x, not_missing = column.to_numpy(dtype=float), column.notna().to_numpy()
            level = np.full(len(x), -1, dtype=np.intp)
            level[not_missing] = bands_of(x[not_missing], weight[not_missing], _BANDS)
            by = pd.Series(x[not_missing]).groupby(level[not_missing])
            limits = zip(by.min(), by.max(), strict=True)
            labels = [f"{low:,.4g} to {high:,.4g}" if low < high else f"{low:,.4g}" for low, high in limits]
        else:
            counts = column.value_counts()
            shown_levels = counts.index[counts >= MIN_SHOWN]
            frequent = sorted(shown_levels, key=lambda level: (-counts[level], str(level)))[:_MAX_LEVELS]
            level = pd.Index(frequent).get_indexer(column) if frequent else np.full(len(column), -1)
            labels = [f"{level:,.4g}" if is_numeric_dtype(column) else str(level) for level in frequent]
        if labels and (level >= 0).any():
            yield str(name), np.asarray(level, dtype=np.intp), labels


def payments_above_base(
    table: AuditTable, basis: Basis, price: Array, cost: Array | None
) -> tuple[Estimate, Estimate, float]:
    """Return payments above the base at those s where the curve of the other half exceeds the base.

    The curve is fitted to other rows, so it is independent of a row's own noise. If there is no link, the
    average payment is therefore 0.

    Returns
    -------
    Estimate, Estimate
        Payments per unit of exposure of these rows, and per unit of the total exposure.
    float
        Share of the exposure in these rows.
    """
    above = above_base(price, cost, table.weight)
    prediction = predicted_out_of_fold(above, table, basis, lam=fit_curve(above, table, basis).lam, n_folds=2)
    share = table.share
    # Each half's curve is centred, because the errors of the means of the two halves have opposite signs.
    half_tables = table.folds(2)
    level = np.bincount(half_tables, weights=share * prediction) / np.bincount(half_tables, weights=share)
    is_above = prediction - level[half_tables] > 1e-9 * np.abs(table.price).max()
    paid, share_above = float(share[is_above] @ above[is_above]), float(share[is_above].sum())
    base = np.ones(table.n) if cost is None else cost
    # The group's share of the base is subtracted from every row, because the base is estimated, too.
    share_of_base = float(share[is_above] @ base[is_above] / (share @ base))
    influence = share * (above * (is_above - share_of_base) - (paid / max(share_above, 1e-12)) * is_above)
    error = _TWO_HALVES * table.error(influence)
    per_head = Estimate.of(paid / max(share_above, 1e-12), error / max(share_above, 1e-12))
    return per_head, Estimate.of(paid, error), share_above
