"""Question 9, how sure: what these rows could show, rows without the attribute, and errors in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.auditing.bridge import Estimate
from fairdash.auditing.columns import Columns
from fairdash.auditing.insurance import bands_of
from fairdash.auditing.plan import CRITERIA
from fairdash.auditing.reliability import corrected
from fairdash.auditing.table import FEWEST_SHOWN
from fairdash.auditing.words import percent
from fairdash.text import amount, counted, few

if TYPE_CHECKING:
    from fairdash.auditing.audit import _Work

Array = NDArray[np.float64]

_BERKSON = (
    "That covers errors of the attribute around its true value, not an attribute that was imputed as its "
    "mean given other columns (Berkson errors)."
)


def how_sure(work: _Work) -> None:
    """Power, missing attributes, and what an attribute without error would show."""
    work.sentences[9] = (_power(work), *_missing(work), *_reliable(work))


def _power(work: _Work) -> str:
    rows = []
    for name, each in work.found.items():
        n = work.units[name]
        rows.append(
            {
                "criterion": name,
                "rows": n,
                "smallest": each.smallest / work.table.mean_price,
                "smallest_money": each.smallest,
                "rows_needed": int(np.ceil(n * (each.smallest / work.delta) ** 2)),
            }
        )
    work.tables["power"] = pd.DataFrame(rows)
    first, n = work.found[work.plan.criterion], work.units[work.plan.criterion]
    needed = n * (first.smallest / work.delta) ** 2
    enough = "these are enough" if needed <= n else f"about {amount(needed)} would be needed"
    return (
        f"{CRITERIA[work.plan.criterion].title}: if there were no gap, {counted(n, 'row')} like these would "
        f"show with probability .8 that it is below {percent(first.smallest / work.table.mean_price)} of "
        f"the mean price; for {percent(work.plan.max_gap)} {enough}."
    )


def _missing(work: _Work) -> list[str]:
    name = work.table.columns.sensitive
    found = without_sensitive(work.frame, work.table.columns)
    if found is None:
        return []
    apart, count, table = found
    work.measure(9, "price_without_sensitive", apart)
    work.tables["missing_by_price"] = table
    differ = "differ" if apart.ci_low > 0 or apart.ci_high < 0 else "are not shown to differ"
    return [
        f"“{name}” is missing in {counted(count, 'row')}, which are left out; their prices {differ} from the "
        f"others': {amount(apart.value)} on average ({amount(apart.ci_low)} to {amount(apart.ci_high)})."
    ]


def without_sensitive(frame: pd.DataFrame, columns: Columns) -> tuple[Estimate, int, pd.DataFrame] | None:
    """Whether rows in which s is missing pay otherwise.

    Returns
    -------
    Estimate
        Their mean price less that of the others, with a 95 % interval by unit.
    int
        How many they are.
    DataFrame
        Bands of the price: low, high, rows, and share (of the exposure) in which s is missing.
    None
        There are fewer than 20 of them.
    """
    price = frame[columns.price].to_numpy(dtype=float, na_value=np.nan)
    weight = np.ones(len(frame))
    if columns.exposure is not None:
        weight = frame[columns.exposure].to_numpy(dtype=float, na_value=np.nan)
    if columns.price in columns.totals:
        price = np.divide(price, weight, out=np.full_like(price, np.nan), where=weight > 0)
    known = np.isfinite(price) & (weight > 0)
    if columns.groups is not None:
        known &= frame[columns.groups].notna().to_numpy()
    price, weight = price[known], weight[known]
    gone = frame[columns.sensitive].isna().to_numpy()[known]
    if min(gone.sum(), (~gone).sum()) < FEWEST_SHOWN:
        return None
    units = np.arange(len(price))
    if columns.groups is not None:
        units = pd.factorize(frame[columns.groups].to_numpy()[known])[0]
    means, off = [], np.zeros(int(units.max()) + 1)
    for rows, sign in ((gone, 1.0), (~gone, -1.0)):
        own = weight * rows / weight[rows].sum()
        means.append(float(own @ price))
        off += sign * np.bincount(units, weights=own * (price - means[-1]))
    code = bands_of(price, weight)
    by = pd.DataFrame({"p": price, "w": weight, "out": weight * gone}).groupby(code)
    table = pd.DataFrame(
        {
            "low": by["p"].min(),
            "high": by["p"].max(),
            "rows": by.size(),
            "share": by["out"].sum() / by["w"].sum(),
        }
    ).reset_index(drop=True)
    return Estimate.of(means[0] - means[1], float(np.sqrt(off @ off))), int(gone.sum()), table


def _reliable(work: _Work) -> tuple[str, ...]:
    name, mean = work.table.columns.sensitive, work.table.mean_price
    if not work.plan.reliability:
        return (f"Errors in “{name}” itself are not looked at: state its reliability to have it corrected.",)
    work.tell("Errors in the attribute", work.share(9, 0.5))
    found = corrected(work.table, work.plan.reliability, random_state=work.seed)
    if found is None:
        return (f"“{name}” has few values: errors in which of them a row has are not covered.",)
    rows = [
        {
            "reliability": reliability,
            **{key: getattr(each, key) / mean for key in ("value", "ci_low", "ci_high")},
            "money": each.value,
            "money_low": each.ci_low,
            "money_high": each.ci_high,
        }
        for reliability, each in found.direction.items()
    ]
    work.tables["reliability"] = pd.DataFrame(rows)
    work.tables["reliability_curve"] = found.curve
    if found.rows < work.table.n:
        work.notes.append(f"Errors in the attribute: worked out on {found.rows:,} rows drawn at random.")
    stated = min(work.plan.reliability)
    each, plain = found.direction[stated], found.direction[1.0]
    return (
        f"If {percent(stated)} of the variance of {few([name])} is no error, the price would differ by "
        f"{percent(each.value / mean)} ({percent(each.ci_low / mean)} to {percent(each.ci_high / mean)}) "
        f"from its 10th to its 90th percentile, in place of {percent(plain.value / mean)} (simulation "
        "and extrapolation by a parabola in the root of the reliability).",
        _BERKSON,
    )
