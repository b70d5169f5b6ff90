"""Question 7, how much money and whose, and what insurers look at beside question 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairdash.auditing.insurance import actual_to_expected, deviances, drawn_lorenz, gini, murphy
from fairdash.auditing.money import Moved, along_s, moved, segments
from fairdash.auditing.table import AuditTable
from fairdash.auditing.words import percent
from fairdash.text import amount, counted

if TYPE_CHECKING:
    from fairdash.auditing.audit import _Work


def how_much_money(work: _Work) -> None:
    """What each part of s pays above the mean, or above what is earned, and the segments affected most."""
    table, cost = work.table, work.cost
    found = moved(table, work.basis, table.price, cost)
    work.measure(7, "paid_above_per_head", found.per_head)
    work.measure(7, "paid_above_of_all", found.of_all)
    bases = {"mean price": None} | ({} if cost is None else {"earned": cost})
    work.tables["money_along_s"] = pd.concat(
        [
            along_s(table, table.price, each, random_state=work.seed).assign(base=name)
            for name, each in bases.items()
        ],
        ignore_index=True,
    )
    most, count = segments(table, other_columns(table), table.price, cost, random_state=work.seed)
    if count:
        work.tables["segments"] = most
    said = [_moved_in_words(found, work, earned=cost is not None), _segments_in_words(most, count, work)]
    if cost is not None:
        above_mean = moved(table, work.basis, table.price, None)
        work.measure(7, "paid_above_mean_per_head", above_mean.per_head)
        said.insert(0, _moved_in_words(above_mean, work, earned=False))
    work.sentences[7] = tuple(said)


def other_columns(table: AuditTable) -> pd.DataFrame:
    """Factors and features: what s is crossed with."""
    features = table.features.drop(columns=[name for name in table.features if name in table.controls])
    return pd.concat([table.controls, features], axis=1)


def _moved_in_words(found: Moved, work: _Work, *, earned: bool) -> str:
    base = "what is earned at the portfolio's loss ratio" if earned else "the mean price"
    each, mean = found.per_head, work.table.mean_price
    total = float(work.table.weight.sum()) * found.of_all.value
    name = work.table.columns.sensitive
    if found.of_all.ci_low <= 0:
        return (
            f"No part of “{name}” is shown to pay above {base}: where the other half of the rows says so, it "
            f"is {amount(each.value)} a unit of exposure ({amount(each.ci_low)} to {amount(each.ci_high)})."
        )
    return (
        f"The {percent(found.share)} of the exposure whose part of “{name}” pays above {base} pay "
        f"{amount(each.value)} a unit more ({amount(each.ci_low)} to {amount(each.ci_high)}): "
        f"{amount(total)} in all, "
        f"{percent(found.of_all.value / mean)} of all that is charged."
    )


def _segments_in_words(most: pd.DataFrame, count: int, work: _Work) -> str:
    if not count:
        return "There is no other column to look for segments in."
    first = most.iloc[0]
    if first["shown"] <= 0:
        return f"None of {counted(count, 'segment')} of 20 rows or more stands out beyond noise."
    against = "rows alike in that column" if work.cost is None else "what is earned"
    return (
        f"Of {counted(count, 'segment')} of 20 rows or more, the one that is shown to be affected most is "
        f"“{work.table.columns.sensitive}” {first['s_low']:,.4g} to {first['s_high']:,.4g} with "
        f"“{first['column']}” {first['level']}: {amount(first['per_head'])} a unit of exposure against "
        f"{against} ({amount(first['per_head_low'])} to {amount(first['per_head_high'])}; "
        f"{counted(int(first['rows']), 'row')})."
    )


def insurance_views(work: _Work) -> None:
    """Lorenz curve, Gini index, deviances and actual ÷ expected of a table that has an outcome."""
    table = work.table
    assert table.outcome is not None
    work.tables["lorenz"] = drawn_lorenz(table.price, table.outcome, table.weight)
    index = gini(table.price, table.outcome, table.weight)
    work.measures.append({"question": 5, "measure": "gini", "value": index})
    work.tables["murphy"] = murphy(table.price, table.outcome_at_price_level, table.weight)
    work.tables["actual_to_expected"] = actual_to_expected(table)
    work.tables["calibration"] = actual_to_expected(table, by="price")
    work.tables["deviances"] = deviances({table.columns.price: table.price}, table.outcome, table.weight)
