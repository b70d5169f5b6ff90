"""Questions 1 and 2: does the price follow the attribute, and where?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.auditing.curve import Basis, fit_curve
from fairdash.auditing.data import Answered, AuditData, Part
from fairdash.auditing.decomposition import fixed_decomposition
from fairdash.auditing.gaps import LEVEL, Gap, largest_gap, noise_in_words, typical_gap
from fairdash.auditing.table import AuditTable
from fairdash.dependence.ranks import quantiles
from fairdash.utils.text import percent

#: The share of the exposure that pays the top prices.
TOP_SHARE = 0.05
#: Where the highest price is that of more than this share, nobody is dearest.
_MOST = 0.2


def does_it_follow(data: AuditData, _: Answered) -> Part:
    """The largest gap of the price's curve, against noise."""
    table, gap = data.table, data.independence.found
    assert isinstance(gap, Gap)
    direction, _points = fixed_decomposition(table, data.basis, data.curve, None)
    typical, _uf = typical_gap(table, data.basis, data.curve)
    measures = [
        data.measure("direction", direction["gap"]),
        data.measure("typical_gap", typical),
    ]
    tables = {}
    if table.candidate is not None:
        curve = fit_curve(table.candidate, table, data.basis)
        other, band = largest_gap(curve, data.delta, random_state=data.seed)
        tables["candidate_curve"] = band
        measures.append(data.measure("candidate_gap", other))
    return Part(
        sentences=_follows_in_words(gap, data, any_link=data.independence.p_value),
        tables=tables,
        measures=tuple(measures),
    )


def _follows_in_words(gap: Gap, data: AuditData, *, any_link: float) -> tuple[str, ...]:
    """The answer and more; `any_link` is the p-value of no link of any kind."""
    if any_link > LEVEL:
        test = f"One test of several measures finds no link of any kind (p = {any_link:.2g})."
    elif gap.p_value > LEVEL:
        test = (
            f"One test of several measures does find a link (p = {any_link:.2g}): not in the average, "
            "perhaps in the spread."
        )
    else:
        test = f"One test of several measures finds a link, too (p = {any_link:.2g})."
    mean = data.table.mean_price
    noise = "more than noise" if gap.p_value <= LEVEL else "which can be noise"
    return (
        f"Between its lowest and highest point along “{data.table.columns.sensitive}” the price differs by "
        f"{percent(gap.value / mean)} of the mean price ({percent(gap.ci_low / mean)} to "
        f"{percent(gap.ci_high / mean)}), {noise}.",
        f"In units of the price that is {gap.value:,.4g}. {noise_in_words(gap, mean)}",
        test,
    )


def where(data: AuditData, _: Answered) -> Part:
    """The lowest and the highest point, and where the dearest rows are."""
    gap, basis, name = data.independence.found, data.basis, data.table.columns.sensitive
    mean = data.table.mean_price
    assert isinstance(gap, Gap)
    lowest, highest = (
        f"the rows {basis.kind[j]} the {'5th' if basis.kind[j] == 'below' else '95th'} percentile"
        if basis.kind[j] in ("below", "above")
        else f"{basis.at[j]:,.4g}"
        for j in (gap.lowest, gap.highest)
    )
    least, most = data.band["value"].min(), data.band["value"].max()
    said = (
        f"The price is lowest at {lowest} of “{name}” ({least:,.4g}, {percent(least / mean)} of the mean) "
        f"and highest at {highest} ({most:,.4g}, {percent(most / mean)})."
    )
    top = top_price_share(data.table, basis, random_state=data.seed)
    if top is None:
        return Part(sentences=(said,))
    return Part(sentences=(said, _top_prices_in_words(*top, name)), tables={"dearest_curve": top[0]})


def top_price_share(
    table: AuditTable, basis: Basis, *, random_state: int | None
) -> tuple[pd.DataFrame, float] | None:
    """The share of rows along s that are among the dearest 5 %, with its band, and that of all; in [0, 1].

    It is a curve as the price's is, of an indicator: s is not cut into bands. Where many rows have one
    price, all of them or none are among the dearest, which are then 5 % or a little more; None where that
    would be more than a fifth.
    """
    least = quantiles(table.price, table.weight, np.array([1 - TOP_SHARE]))[0]
    among = (table.price >= least).astype(float)
    share = table.mean(among)
    if share > _MOST:
        return None
    _, band = largest_gap(fit_curve(among, table, basis), share, random_state=random_state)
    ends = ["value", "low", "high"]
    return band.assign(**band[ends].clip(0.0, 1.0)), share


def _top_prices_in_words(band: pd.DataFrame, share: float, name: str) -> str:
    """Where the dearest rows are."""
    most, least = (
        f"{point['at']:,.4g}, {percent(point['value'])} ({percent(point['low'])} to {percent(point['high'])})"
        for point in (band.iloc[int(pick(band["value"]))] for pick in (np.argmax, np.argmin))
    )
    return f"Of the rows about “{name}” {most} are among the dearest {percent(share)} of all; about {least}."
