"""Questions 8 and 10: which other prices could be charged, and how does a second price compare?

:mod:`fairdash.auditing.models.premiums` computes the five alternative premiums (question 8). If there is a
second price (question 10), both prices are audited on the same rows, folds and points. For each number, the
difference between the prices is reported. Intervals of differences are paired. For curves, the interval uses
each unit's contributions to the two numbers, and their difference. All other intervals come from a jackknife
that leaves out a twentieth of the units at a time (Student's t with 19 degrees of freedom).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from fairdash.auditing.curve import Curve, basis_of, fit_curve, predicted_out_of_fold
from fairdash.auditing.data import Answered, AuditData, Part
from fairdash.auditing.gaps import Estimate, Gap, largest_gap, typical_gap, with_interval
from fairdash.auditing.models.averages import premium_averages
from fairdash.auditing.models.premiums import (
    DIFFERENCES,
    NO_NETWORKS,
    PREMIUMS,
    Costs,
    features_in_words,
    fit_in_words,
    loss_in_words,
    points_in_words,
    ratio_of_means,
    reason_without_costs,
    relative_gain,
    share_explained,
)
from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.questions.decomposition import HIGH_POINT, LESS_PENALTY, LOW_POINT
from fairdash.auditing.questions.money import above_base, other_columns, payments_by_band, segments
from fairdash.auditing.questions.sufficiency import bias_surface
from fairdash.auditing.result import SHARE
from fairdash.auditing.table import AuditTable
from fairdash.dependence.classical import Z, quantiles
from fairdash.evaluation.insurance import deviances, double_lift, gini
from fairdash.utils.text import percent

Array = NDArray[np.float64]

#: Suffixes of the columns for an estimate and its limits, with the fields of the estimate in these columns.
_LIMITS = {"": "value", "_low": "ci_low", "_high": "ci_high"}
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_NO_COSTS = "This question needs {what}."


def alternative_premiums(data: AuditData, _: Answered) -> Part:
    """Answer question 8: compare five premiums for the same costs: curves along s, fit and differences.

    Intervals ignore errors of the fitted models, except in ``premium_averages`` (see
    :func:`~fairdash.auditing.models.averages.premium_averages`). ``premiums`` has one row per premium, with
    the price first. The row contains shares of the mean price, the share of the outcome's variation explained
    on held-out rows, and how much larger the best estimate's share is (``less``). ``premium_curves`` has the
    columns of a curve's band from :func:`~fairdash.auditing.gaps.largest_gap`, in units of the price.
    ``premium_differences`` has one row per difference with its distribution over policies, in units of the
    price.
    """
    data = data.on("expected_cost", "outcome", "features")
    costs = data.costs
    if costs is None:
        return Part(sentences=(_no_costs(data.table),))
    if not costs.is_learned:
        return Part(
            sentences=(reason_without_costs(costs), features_in_words(data.table)),
            measures=(data.measure("explained", costs.fit, of_price=False),),
        )
    table, y, loss = costs.table, costs.reference_values, costs.loss
    mean, basis = table.mean_price, basis_of(table)
    best = costs.premiums["best_estimate"]
    gaps, lost_fit, rows, curves = {}, {}, [], []
    for name, premium in {"price": table.price, **costs.premiums}.items():
        curve = fit_curve(premium, table, basis)
        gaps[name], band = largest_gap(curve, data.delta, random_state=data.seed)
        lost_fit[name] = relative_gain(y, premium, best, table, loss)
        uf = typical_gap(replace(table, price=premium), basis, curve)[1]
        curves.append(band.assign(premium=name))
        row = {"premium": name, "mean": table.mean(premium) / mean}
        row |= {"gap" + end: getattr(gaps[name], each) / mean for end, each in _LIMITS.items()}
        row |= {"share_of_variance": uf.value, "explained": share_explained(y, premium, table, loss).value}
        rows.append(row | {"less" + end: getattr(lost_fit[name], each) for end, each in _LIMITS.items()})
    curve_table = pd.concat(curves, ignore_index=True)
    averages = premium_averages(costs, random_state=data.seed)
    ones = np.ones(table.n)
    sizes = {name: ratio_of_means(np.abs(each), ones, table) for name, each in costs.differences.items()}
    return Part(
        sentences=(
            *_premiums_in_words(gaps, sizes, lost_fit["corrective"], costs),
            _averages_in_words(averages, table),
            features_in_words(data.table),
        ),
        tables={
            "premiums": pd.DataFrame(rows),
            "premium_curves": curve_table[["premium", *curve_table.columns.drop("premium")]],
            "premium_averages": averages,
            "premium_differences": pd.DataFrame(
                [_difference(name, values, sizes[name], table) for name, values in costs.differences.items()]
            ),
        },
        measures=(
            *(data.measure(name, each) for name, each in sizes.items()),
            data.measure("explained", costs.fit, of_price=False),
        ),
    )


def _difference(name: str, values: Array, size: Estimate, table: AuditTable) -> dict[str, object]:
    order = np.argsort(values, kind="stable")
    limits = quantiles(values[order], table.weight[order], np.array(_QUANTILES))
    return {
        "difference": name,
        "what": DIFFERENCES[name],
        "mean_absolute": size.value,
        "ci_low": size.ci_low,
        "ci_high": size.ci_high,
        "mean": table.mean(values),
        **{f"q{100 * share:02.0f}": value for share, value in zip(_QUANTILES, limits, strict=True)},
    }


def _no_costs(table: AuditTable) -> str:
    """Explain why no alternative premiums are computed (question 8)."""
    if table.features.columns.empty:
        return _NO_COSTS.format(what="a column without another role, from which to build a premium")
    if table.outcome is None and table.expected_cost is None:
        return _NO_COSTS.format(what="an outcome, such as claims, or an expected cost")
    return _NO_COSTS.format(what="a cost above zero")


def _premiums_in_words(
    gaps: Mapping[str, Gap], sizes: Mapping[str, Estimate], lost_fit: Estimate, costs: Costs
) -> tuple[str, ...]:
    """Return the answer on alternative prices (question 8), then sentences that explain it."""
    columns, mean = costs.table.columns, costs.table.mean_price
    name, learned = columns.sensitive, columns.expected_cost or columns.outcome
    premiums = ", ".join(
        f"{title.lower()} {percent(gaps[id].value / mean)}" for id, title in PREMIUMS.items()
    )
    proxy, parity = (with_interval(sizes[id], mean) for id in ("proxy_effect", "cost_of_parity"))
    networks = costs.fit_networks
    networks_in_words = (
        f". {NO_NETWORKS}" if networks is None else f"; networks explain {with_interval(networks)}."
    )
    return (
        f"We estimated five premiums from “{learned}”. The largest gaps of these premiums along “{name}”, as "
        f"shares of the mean price, are: {premiums}.",
        f"Fit of the models: {fit_in_words(costs)}{networks_in_words}",
        f"A tariff without “{name}” uses other columns as proxies for it. On average, these proxies change "
        f"a policy's premium by {proxy} of the mean price (unaware minus aware premium).",
        f"To make premiums independent of “{name}”, a policy's premium has to change by {parity} of the "
        "mean price on average (corrective premium minus best estimate). The corrective premiums explain "
        f"{points_in_words(lost_fit)} less of the {loss_in_words(costs)}.",
        "Train a front on this table to get premiums between these five, with the error of each.",
    )


def _averages_in_words(averages: pd.DataFrame, table: AuditTable) -> str:
    unaware = averages[averages["premium"] == "unaware"]
    lowest, highest = (
        f"{table.money(row['value'])} ({table.money(row['ci_low'])} to {table.money(row['ci_high'])}) for "
        f"“{table.columns.sensitive}” {table.s_range(row['low'], row['high'])}"
        for row in (unaware.iloc[int(pick(unaware["value"]))] for pick in (np.argmin, np.argmax))
    )
    return (
        "These intervals cover the sampling of policies but not the errors of the models. The intervals of "
        "averages by band cover both kinds of error, for all bands at once. By band, the average unaware "
        f"premium ranges from {lowest} to {highest}."
    )


_JACKKNIFE_GROUPS = 20


def compare_prices(data: AuditData, findings_so_far: Answered) -> Part:
    """Answer question 10: compare a second price, audited separately, with the first."""
    other = findings_so_far.pair
    assert other is not None
    assert other.pair is not None
    assert other.result is not None
    first = other.pair.data
    table, second = first.table, other.data.table
    tables = {
        "two_prices": side_by_side(other.pair, other),
        "candidate_verdicts": other.result.verdicts,
        "candidate_answers": pd.DataFrame(
            [
                {"question": answer.question, "title": answer.title, "answer": answer.sentence}
                for answer in other.result.answers
            ]
        ),
    }
    change = second.price - table.price
    tables["change_along_s"] = payments_by_band(table, change, None, base=False, random_state=data.seed)
    largest, count = segments(table, other_columns(table), change, None, base=False, random_state=data.seed)
    if count:
        tables["change_segments"] = largest
    if table.outcome is not None:
        audited, new = (data.on("outcome").table for data in (first, other.data))
        assert audited.outcome is not None
        tables["double_lift"] = double_lift(audited.price, new.price, audited.outcome, audited.weight)
        prices = {table.columns.price: audited.price, second.columns.price: new.price}
        tables["deviances"] = deviances(prices, audited.outcome, audited.weight)
    return Part(sentences=(_in_words(table, second, tables),), tables=tables)


def side_by_side(first: Answered, other: Answered) -> pd.DataFrame:
    """Return the numbers of two audits: question, measure, price, candidate, difference, ci_low, ci_high.

    Each number is a share of the mean of the price that it describes, or has the unit of its measure. If a
    number has no paired interval, its limits are missing.
    """
    numbers = [
        pd.DataFrame([*_gaps(audited), *(row for row in audited.measures if row["unit"] == SHARE)])
        for audited in (first, other)
    ]
    numbers = [table[["question", "measure", "value"]] for table in numbers]
    table = numbers[0].merge(numbers[1], on=["question", "measure"], suffixes=("", "_other"), sort=False)
    table = table.rename(columns={"value": "price", "value_other": "candidate"})
    table["difference"] = table["candidate"] - table["price"]
    errors = {**dict(_widths_of_curves(first, other)), **dict(_jackknife_widths(first, other))}
    half_width = table["measure"].map(errors).astype(float)
    table["ci_low"], table["ci_high"] = table["difference"] - half_width, table["difference"] + half_width
    return table.sort_values("question", kind="stable").reset_index(drop=True)


def _gaps(result_with_answers: Answered) -> Iterator[dict[str, object]]:
    """Yield one row for each criterion, with the estimate that is compared with the threshold."""
    for name, each in result_with_answers.criteria.items():
        value = each.found.value / each.mean_price
        yield {"question": CRITERIA[name].question, "measure": name, "value": value}


def _widths_of_curves(first: Answered, other: Answered) -> Iterator[tuple[str, float]]:
    """Yield each measure of a curve, and half the width of its paired interval."""
    for name in first.criteria.keys() & other.criteria.keys():
        parts = []
        for result_with_answers in (first, other):
            part = result_with_answers.criteria[name]
            if part.curve is not None and isinstance(part.found, Gap):
                parts.append(
                    _share_of_mean(
                        part.curve, part.table, part.mean_price, part.found.lowest, part.found.highest
                    )
                )
        if parts:
            yield name, _half_width(parts)
    if first.data.table.classes:
        return
    for names, with_errors in ((("direction", "gap_s10_s90"), False), (("left_s10_s90",), True)):
        parts = []
        for data in (audited.on("cost") if with_errors else audited for audited in (first.data, other.data)):
            table, low, high = data.table, *map(data.basis.nearest, (LOW_POINT, HIGH_POINT))
            y = above_base(table.price, data.cost, table.weight) if with_errors else table.price
            curve = fit_curve(y, table, data.basis, lam=data.curve.lam * LESS_PENALTY)
            parts.append(_share_of_mean(curve, table, table.mean_price, low, high))
        yield from ((name, _half_width(parts)) for name in names)


def _share_of_mean(curve: Curve, table: AuditTable, mean: float, low: int, high: int) -> Array:
    """Return each unit's contribution, (U,), to the error of a gap that is a share of the mean price."""
    value, unit_errors = curve.difference(low, high, table)
    mean_errors = table.per_unit(table.share * (table.price - mean))
    return np.asarray((unit_errors - value / mean * mean_errors) / mean)


def _half_width(parts: list[Array]) -> float:
    difference = parts[1] - parts[0]
    return Z * float(np.sqrt(difference @ difference))


def _jackknife_widths(first: Answered, other: Answered) -> Iterator[tuple[str, float]]:
    """Yield the other measures with half their intervals' widths, by a jackknife over groups of units."""
    estimates = []
    for data in (first.data, other.data):
        # The curve is predicted out of fold only once, and the predictions are used for all subsets of rows.
        predicted = predicted_out_of_fold(data.table.price, data.table, data.basis, lam=data.curve.lam)
        judged_data = data.on("outcome")
        fold, judged_fold = data.table.folds(_JACKKNIFE_GROUPS), judged_data.table.folds(_JACKKNIFE_GROUPS)
        rows = [
            _numbers(data.table, fold != group, predicted) | _cost_measures(judged_data, judged_fold != group)
            for group in range(_JACKKNIFE_GROUPS)
        ]
        estimates.append(pd.DataFrame(rows))
    half_width = np.sqrt((_JACKKNIFE_GROUPS - 1) * (estimates[1] - estimates[0]).var(ddof=0))
    yield from (float(student.ppf(0.975, _JACKKNIFE_GROUPS - 1)) * half_width).items()


def _numbers(table: AuditTable, rows: NDArray[np.bool_], predicted: Array) -> dict[str, float]:
    """Return the measures of one price on the rows that a mask (n,) selects."""
    part = table.take(rows)
    mean, total = part.mean_price, part.mean((part.price - part.mean_price) ** 2)
    by_s = max(total - part.mean((part.price - predicted[rows]) ** 2), 0.0)
    return {"typical_gap": float(np.sqrt(by_s)) / mean, "share_of_variance": by_s / max(total, 1e-300)}


def _cost_measures(data: AuditData, rows: NDArray[np.bool_]) -> dict[str, float]:
    """Return the measures of one price against the outcome, if any, on the rows that a mask (n,) selects."""
    table = data.table.take(rows)
    if table.outcome is None:
        return {}
    surface = bias_surface(table, data.delta, random_state=data.seed)
    score = gini(table.price, table.outcome, table.weight)
    return {"sufficiency": surface.value / table.mean_price, "gini": score}


def _in_words(table: AuditTable, second: AuditTable, tables: Mapping[str, pd.DataFrame]) -> str:
    gaps = {
        name: float(values[0])
        for name, values in tables["two_prices"].query("measure == 'independence'").items()
        if name not in ("question", "measure")
    }
    share_paying_more = table.mean((second.price > table.price).astype(float))
    names = table.columns.price, second.columns.price
    curves = tables["change_along_s"]
    extremes = [curves.iloc[int(pick(curves["per_head"]))] for pick in (np.argmin, np.argmax)]
    changes = [
        f"{table.money(extreme['per_head'])} {table.a_unit} for “{table.columns.sensitive}” "
        f"{table.s_range(extreme['low'], extreme['high'])}"
        for extreme in extremes
    ]
    return (
        f"The largest gap is {percent(gaps['price'])} of the mean price with “{names[0]}” and "
        f"{percent(gaps['candidate'])} with “{names[1]}”, a difference of {percent(gaps['difference'])} "
        f"({percent(gaps['ci_low'])} to {percent(gaps['ci_high'])}). With “{names[1]}”, "
        f"{percent(share_paying_more)} of {table.rows_in_words} would pay more, and the mean price would be "
        f"{table.money(second.mean_price)} instead of {table.money(table.mean_price)}. The change ranges "
        f"from {changes[0]} to {changes[1]}."
    )
