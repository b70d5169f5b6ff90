"""Question 10: two prices side by side, with the difference of every number, and who pays more or less.

Both are audited on the same rows, folds and points. Intervals of differences are paired: of curves, each
unit's part in one number less its part in the other; of the rest, by leaving out a twentieth of the units at
a time (Student's t with 19 degrees of freedom).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from fairdash.auditing.bridge import HIGH_POINT, LESS_PENALTY, LOW_POINT
from fairdash.auditing.curve import Curve, fit_curve, told_out_of_fold
from fairdash.auditing.gaps import Gap
from fairdash.auditing.insurance import deviances, double_lift, gini
from fairdash.auditing.money import above_base, along_s, segments
from fairdash.auditing.money_answers import other_columns
from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.result import AuditResult
from fairdash.auditing.surface import bias_surface
from fairdash.auditing.table import AuditTable
from fairdash.auditing.words import percent
from fairdash.text import amount

if TYPE_CHECKING:
    from fairdash.auditing.audit import _Work

Array = NDArray[np.float64]

#: Questions that a second price is asked by itself.
OF_EACH_PRICE = frozenset(range(1, 8))
_LEFT_OUT = 20
_Z = 1.959963984540054


def compare(work: _Work, other: _Work, result: AuditResult) -> None:
    """Put a second price beside the first; `result` is that of its own audit."""
    table, second = work.table, other.table
    tables = work.tables
    tables["two_prices"] = side_by_side(work, other)
    tables["candidate_verdicts"] = result.verdicts
    tables["candidate_answers"] = pd.DataFrame(
        [{"question": each.question, "title": each.title, "answer": each.sentence} for each in result.answers]
    )
    change = second.price - table.price
    tables["change_along_s"] = along_s(table, change, None, base=False, random_state=work.seed)
    most, count = segments(table, other_columns(table), change, None, base=False, random_state=work.seed)
    if count:
        tables["change_segments"] = most
    if table.outcome is not None:
        tables["double_lift"] = double_lift(table.price, second.price, table.outcome, table.weight)
        both = {table.columns.price: table.price, second.columns.price: second.price}
        tables["deviances"] = deviances(both, table.outcome, table.weight)
    work.sentences[10] = (_in_words(work, other),)


def side_by_side(work: _Work, other: _Work) -> pd.DataFrame:
    """Every number of both audits: question, measure, price, candidate, difference, ci_low, ci_high.

    Numbers are shares of each price's own mean, or as they are in the measures; limits are missing where the
    number is not one that is compared.
    """
    numbers = [pd.concat([_gaps(each), pd.DataFrame(each.measures)[["question", "measure", "value"]]])
               for each in (work, other)]  # fmt: skip
    made = numbers[0].merge(numbers[1], on=["question", "measure"], suffixes=("", "_other"), sort=False)
    made = made.rename(columns={"value": "price", "value_other": "candidate"})
    made["difference"] = made["candidate"] - made["price"]
    errors = {**dict(_of_curves(work, other)), **dict(_left_out(work, other))}
    off = made["measure"].map(errors).astype(float)
    made["ci_low"], made["ci_high"] = made["difference"] - off, made["difference"] + off
    return made.sort_values("question", kind="stable").reset_index(drop=True)


def _gaps(work: _Work) -> pd.DataFrame:
    """What is held against the threshold, by criterion."""
    mean = work.table.mean_price
    rows = [
        {"question": CRITERIA[name].question, "measure": name, "value": each.value / mean}
        for name, each in work.found.items()
    ]
    return pd.DataFrame(rows)


def _of_curves(work: _Work, other: _Work) -> Iterator[tuple[str, float]]:
    """Measure to half the width of its paired interval, for what is a difference of two points of a curve."""
    for name in work.curves.keys() & other.curves.keys():
        parts = []
        for each in (work, other):
            (curve, table), gap = each.curves[name], each.found[name]
            assert isinstance(gap, Gap)
            parts.append(_share_of_mean(curve, table, each.table.mean_price, gap.lowest, gap.highest))
        yield name, _off(parts)
    low, high = work.basis.nearest(LOW_POINT), work.basis.nearest(HIGH_POINT)
    for names, earned in ((("direction", "gap_s10_s90"), False), (("left_s10_s90",), True)):
        parts = []
        for each in (work, other):
            table = each.table
            y = above_base(table.price, each.cost, table.weight) if earned else table.price
            curve = fit_curve(y, table, each.basis, lam=each.curve.lam * LESS_PENALTY)
            parts.append(_share_of_mean(curve, table, table.mean_price, low, high))
        yield from ((name, _off(parts)) for name in names)


def _share_of_mean(curve: Curve, table: AuditTable, mean: float, low: int, high: int) -> Array:
    """What each unit adds to the error of a gap as a share of the mean price, (U,)."""
    weights = np.zeros(len(curve.values))
    weights[high] += 1
    weights[low] -= 1
    value, of_units = curve.contrast(weights, table)
    share = table.weight / table.weight.sum()
    of_mean = np.bincount(table.units, weights=share * (table.price - float(share @ table.price)))
    return np.asarray((of_units - value / mean * of_mean) / mean)


def _off(parts: list[Array]) -> float:
    apart = parts[1] - parts[0]
    return _Z * float(np.sqrt(apart @ apart))


def _left_out(work: _Work, other: _Work) -> Iterator[tuple[str, float]]:
    """Likewise, by leaving out a twentieth of the units at a time: a jackknife of groups."""
    fold = work.table.folds(_LEFT_OUT)
    statistics: dict[str, list[Callable[[NDArray[np.bool_]], float]]] = {
        name: [make(each) for each in (work, other)]
        for name, make in _STATISTICS.items()
        if work.table.outcome is not None or name not in _OF_OUTCOME
    }
    reach = float(student.ppf(0.975, _LEFT_OUT - 1))
    kept = [fold != out for out in range(_LEFT_OUT)]
    for name, (of_price, of_candidate) in statistics.items():
        apart = np.array([of_candidate(rows) - of_price(rows) for rows in kept])
        yield name, reach * float(np.sqrt((_LEFT_OUT - 1) * apart.var()))


def _gini(work: _Work) -> Callable[[NDArray[np.bool_]], float]:
    table = work.table
    assert table.outcome is not None
    outcome = table.outcome
    return lambda rows: gini(table.price[rows], outcome[rows], table.weight[rows])


def _sufficiency(work: _Work) -> Callable[[NDArray[np.bool_]], float]:
    def value(rows: NDArray[np.bool_]) -> float:
        part = work.table.take(rows)
        return bias_surface(part, work.delta, random_state=work.seed).value / part.mean_price

    return value


def _explained(work: _Work, *, typical: bool) -> Callable[[NDArray[np.bool_]], float]:
    """The share of variance, or the typical gap, with the curve as all rows have told it out of fold."""
    table = work.table
    told = told_out_of_fold(table.price, table, work.basis, lam=work.curve.lam)

    def value(rows: NDArray[np.bool_]) -> float:
        price, share = table.price[rows], table.weight[rows] / table.weight[rows].sum()
        mean = float(share @ price)
        total = float(share @ (price - mean) ** 2)
        explained = max(total - float(share @ (price - told[rows]) ** 2), 0.0)
        return float(np.sqrt(explained)) / mean if typical else explained / max(total, 1e-300)

    return value


#: Measure to what it is of some rows, for one of the two prices.
_STATISTICS: dict[str, Callable[[_Work], Callable[[NDArray[np.bool_]], float]]] = {
    "gini": _gini,
    "sufficiency": _sufficiency,
    "typical_gap": lambda work: _explained(work, typical=True),
    "share_of_variance": lambda work: _explained(work, typical=False),
}
_OF_OUTCOME = ("gini", "sufficiency")


def _in_words(work: _Work, other: _Work) -> str:
    table, second = work.table, other.table
    both = {
        name: float(values[0])
        for name, values in work.tables["two_prices"].query("measure == 'independence'").items()
        if name not in ("question", "measure")
    }
    share = table.weight / table.weight.sum()
    dearer = float(share @ (second.price > table.price))
    names = table.columns.price, second.columns.price
    along = work.tables["change_along_s"]
    ends = [along.iloc[int(pick(along["per_head"]))] for pick in (np.argmin, np.argmax)]
    places = [
        f"{amount(each['per_head'])} a unit for “{table.columns.sensitive}” {each['low']:,.4g} to "
        f"{each['high']:,.4g}"
        for each in ends
    ]
    return (
        f"The largest gap is {percent(both['price'])} of the mean with “{names[0]}” and "
        f"{percent(both['candidate'])} with “{names[1]}”, a difference of {percent(both['difference'])} "
        f"({percent(both['ci_low'])} to {percent(both['ci_high'])}). With “{names[1]}”, {percent(dearer)} of "
        f"the exposure would pay more, and the mean price would be {amount(second.mean_price)} in place of "
        f"{amount(table.mean_price)}: the change goes from {places[0]} to {places[1]}."
    )
