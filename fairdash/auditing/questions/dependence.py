"""Questions 1 and 2: does the price follow the attribute, and where?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairdash.auditing.curve import Basis, fit_curve
from fairdash.auditing.data import Answered, AuditData, Part
from fairdash.auditing.gaps import LEVEL, Gap, largest_gap, noise_in_words, typical_gap, within
from fairdash.auditing.questions.crossing import over_the_crossing
from fairdash.auditing.questions.decomposition import fixed_decomposition
from fairdash.auditing.questions.probabilities import along_probabilities
from fairdash.auditing.table import AuditTable
from fairdash.dependence.ranks import quantiles
from fairdash.evaluation.classes import by_group, pairs_of_groups
from fairdash.evaluation.insurance import FEWEST_SHOWN
from fairdash.utils.text import percent

#: The share of the exposure that pays the top prices.
TOP_SHARE = 0.05
#: The four-fifths rule: an adverse impact ratio below this is said to be.
FOUR_FIFTHS = 0.8
#: If more than this share of rows has the highest price, there is no top-price group.
_MOST = 0.2


def does_it_follow(data: AuditData, _: Answered) -> Part:
    """Test the largest gap of the price's curve against noise."""
    table, gap = data.table, data.independence.found
    assert isinstance(gap, Gap)
    typical, _uf = typical_gap(table, data.basis, data.curve)
    measures = [data.measure("typical_gap", typical)]
    tables = tables_of_classes(table) if table.classes else {}
    said = _follows_in_words(gap, data, any_link=data.independence.p_value)
    if table.classes:
        said = (*follows_in_words(gap, table, tables), *said[1:])
    else:
        direction, _points = fixed_decomposition(table, data.basis, data.curve, None)
        measures.insert(0, data.measure("direction", direction["gap"]))
    notes: tuple[str, ...] = ()
    if not table.probabilities.columns.empty:
        of_probabilities, more, notes = along_probabilities(table, random_state=data.seed)
        tables |= of_probabilities
        said = (*said, *more)
    if table.candidate is not None:
        curve = fit_curve(table.candidate, table, data.basis)
        other, band = largest_gap(curve, data.delta, random_state=data.seed)
        tables["candidate_curve"] = band
        measures.append(data.measure("candidate_gap", other))
    return Part(
        sentences=said,
        tables=tables,
        measures=tuple(measures),
        notes=notes,
    )


def _follows_in_words(gap: Gap, data: AuditData, *, any_link: float) -> tuple[str, ...]:
    """Return the answer and more; `any_link` is the p-value of no link of any kind."""
    if any_link > LEVEL:
        test = f"One test of several measures finds no link of any kind (p = {any_link:.2g})."
    elif gap.p_value > LEVEL:
        test = (
            f"One test of several measures finds a link (p = {any_link:.2g}): not in the average, perhaps "
            "in the spread."
        )
    else:
        test = f"One test of several measures finds a link, too (p = {any_link:.2g})."
    mean = data.table.mean_price
    noise = "more than noise" if gap.p_value <= LEVEL else "which can be noise"
    return (
        f"Between its lowest and highest point along “{data.table.columns.sensitive}” the price differs by "
        f"{percent(gap.value / mean)} of the mean price ({percent(gap.ci_low / mean)} to "
        f"{percent(gap.ci_high / mean)}), {noise}.",
        f"In units of the price: {data.table.money(gap.value)}. {noise_in_words(gap, mean)}",
        test,
    )


def tables_of_classes(table: AuditTable) -> dict[str, pd.DataFrame]:
    """Return the tables ``classes``, each against the rest, and ``class_pairs``, in units of the price.

    Favourable is a price of at most the median one. Classes that are not to be shown are missing.
    """
    codes = table.sensitive.astype(np.intp)
    order = np.argsort(table.price, kind="stable")
    median = float(quantiles(table.price[order], table.weight[order], np.array([0.5]))[0])
    each = by_group(table.price, codes, table.classes, table.weight, table.units, cut_off=median)
    pairs = pairs_of_groups(table.price, codes, table.classes, table.weight, table.units)
    shown = each["class"][each["rows"] >= FEWEST_SHOWN]
    return {
        "classes": each,
        "class_pairs": pairs[pairs["class"].isin(shown) & pairs["other"].isin(shown)],
    }


def follows_in_words(gap: Gap, table: AuditTable, tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Answer question 1 in words, including how the classes differ."""
    each, pairs, mean = tables["classes"], tables["class_pairs"], table.mean_price
    noise = "more than noise" if gap.p_value <= LEVEL else "which can be noise"
    apart = each[each["p_value"] <= LEVEL]
    listed = ", ".join(
        f"“{name}” {'+' if off > 0 else '−'}{percent(abs(off) / mean)}"
        for name, off in zip(apart["class"], apart["difference"], strict=True)
    )
    against_rest = f"Against all others, by Holm: {listed}." if listed else "No class differs from the rest."
    clear = int((pairs["p_value"] <= LEVEL).sum())
    of_pairs = () if len(pairs) < 2 else (f"{against_rest} Of {len(pairs)} pairs of classes {clear} differ.",)
    least = each.iloc[int(np.argmin(each["adverse_impact_ratio"]))]
    verdict = "below" if least["adverse_impact_ratio"] < FOUR_FIFTHS else "not below"
    return (
        f"Between its lowest and its highest class of “{table.columns.sensitive}” the price differs by "
        f"{within(gap, mean)} of the mean price, {noise}.",
        *of_pairs,
        f"Of “{least['class']}” the fewest pay at most the median price, {percent(least['selection_rate'])}: "
        f"an adverse impact ratio of {least['adverse_impact_ratio']:.2f}, {verdict} four fifths.",
    )


def where(data: AuditData, _: Answered) -> Part:
    """Locate the lowest and the highest point, and the share of top prices along s."""
    gap, basis, name = data.independence.found, data.basis, data.table.columns.sensitive
    mean = data.table.mean_price
    assert isinstance(gap, Gap)
    lowest, highest = (
        f"the rows {basis.kind[j]} the {'5th' if basis.kind[j] == 'below' else '95th'} percentile"
        if basis.kind[j] in ("below", "above")
        else data.table.called(basis.at[j])
        for j in (gap.lowest, gap.highest)
    )
    least, most = data.band["value"].min(), data.band["value"].max()
    said = (
        f"The price is lowest at {lowest} of “{name}” ({data.table.money(least)}, "
        f"{percent(least / mean)} of the mean) "
        f"and highest at {highest} ({data.table.money(most)}, {percent(most / mean)})."
    )
    top = top_price_share(data.table, basis, random_state=data.seed)
    sentences, tables = [said], {}
    if top is not None:
        sentences.append(_top_prices_in_words(*top, data.table))
        tables["dearest_curve"] = top[0]
    if data.also:
        crossed, more = over_the_crossing(data)
        sentences.extend(more)
        tables |= {"crossed": crossed} if len(crossed) else {}
    return Part(sentences=tuple(sentences), tables=tables)


def top_price_share(
    table: AuditTable, basis: Basis, *, random_state: int | None
) -> tuple[pd.DataFrame, float] | None:
    """Return the share of rows along s in the highest 5 %, with its band, and the overall share, in [0, 1].

    It is a curve as the price's is, of an indicator: s is not cut into bands. Where many rows have one
    price, all of them or none are among the highest, which are then 5 % or a little more; None where that
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


def _top_prices_in_words(band: pd.DataFrame, share: float, table: AuditTable) -> str:
    """Share of the highest prices along s."""
    name = table.columns.sensitive
    most, least = (
        f"{table.called(point['at'])}, {percent(point['value'])} "
        f"({percent(point['low'])} to {percent(point['high'])})"
        for point in (band.iloc[int(pick(band["value"]))] for pick in (np.argmax, np.argmin))
    )
    return (
        f"Of the rows about “{name}” {most} are among the highest {percent(share)} of prices; about {least}."
    )
