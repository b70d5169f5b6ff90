"""Questions 1 and 2: does the price follow the sensitive attribute, and where?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairdash.auditing.curve import Basis, fit_curve
from fairdash.auditing.data import Answered, AuditData, Part
from fairdash.auditing.gaps import LEVEL, Gap, largest_gap, noise_in_words, percent_of_mean, typical_gap
from fairdash.auditing.questions.decomposition import fixed_decomposition
from fairdash.auditing.table import AuditTable
from fairdash.dependence.classical import quantiles
from fairdash.evaluation.classes import MIN_KNOWN, by_group, by_probability, calibration, pairs_of_groups
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.utils.classes import MIN_ROWS
from fairdash.utils.text import counted, few, percent

#: Share of the exposure whose prices count as the highest.
TOP_SHARE = 0.05
#: The four-fifths rule reports a class with an adverse impact ratio below this value.
FOUR_FIFTHS = 0.8
#: Maximum share of rows with the highest prices. A larger share, due to ties, is not reported.
_MAX_TOP_SHARE = 0.2


def assess_price_link(data: AuditData, _: Answered) -> Part:
    """Answer question 1: test the largest gap of the price's curve."""
    table, gap = data.table, data.independence.found
    assert isinstance(gap, Gap)
    typical_gap_value, _uf = typical_gap(table, data.basis, data.curve)
    measures = [data.measure("typical_gap", typical_gap_value)]
    tables = tables_of_classes(table) if table.classes else {}
    sentences = _follows_in_words(gap, data)
    if table.classes:
        sentences = (*follows_in_words(gap, table, tables), *sentences[1:])
    else:
        direction, _points = fixed_decomposition(table, data.basis, data.curve, None)
        measures.insert(0, data.measure("direction", direction["gap"]))
    notes: tuple[str, ...] = ()
    if data.is_first and data.plan.columns.probabilities:
        data_of_part = data.on("probabilities")
        probability_tables, probability_sentences, notes = along_probabilities(
            data_of_part.table, random_state=data.seed
        )
        tables |= probability_tables
        sentences = (*sentences, *probability_sentences)
    if data.plan.columns.candidate is not None:
        data_of_part = data.on("candidate")
        assert data_of_part.table.candidate is not None
        curve = fit_curve(data_of_part.table.candidate, data_of_part.table, data_of_part.basis)
        second_gap, band = largest_gap(curve, data_of_part.delta, random_state=data.seed)
        tables["candidate_curve"] = band
        measures.append(data_of_part.measure("candidate_gap", second_gap))
    return Part(sentences=sentences, tables=tables, measures=tuple(measures), notes=notes)


def _noise_clause(gap: Gap) -> str:
    return "which is more than noise" if gap.p_value <= LEVEL else "which may be noise"


def _follows_in_words(gap: Gap, data: AuditData) -> tuple[str, ...]:
    """Return the answer, then explanations."""
    mean = data.table.mean_price
    return (
        f"Along “{data.table.columns.sensitive}”, the highest average price exceeds the lowest by "
        f"{percent_of_mean(gap, mean)}, {_noise_clause(gap)}.",
        f"In money, this gap is {data.table.money(gap.value)}. {noise_in_words(gap, mean)}",
        data.independence.any_link_in_words(),
    )


def tables_of_classes(table: AuditTable) -> dict[str, pd.DataFrame]:
    """Return two tables in units of the price: ``classes`` (each class and all others) and ``class_pairs``.

    A price up to the median is favourable. The tables leave out classes that are too small to be shown.
    """
    codes = table.sensitive.astype(np.intp)
    order = np.argsort(table.price, kind="stable")
    median = float(quantiles(table.price[order], table.weight[order], np.array([0.5]))[0])
    of_classes = by_group(table.price, codes, table.classes, table.weight, table.units, cut_off=median)
    pairs = pairs_of_groups(table.price, codes, table.classes, table.weight, table.units)
    shown_classes = of_classes["class"][of_classes["rows"] >= MIN_SHOWN]
    return {
        "classes": of_classes,
        "class_pairs": pairs[pairs["class"].isin(shown_classes) & pairs["other"].isin(shown_classes)],
    }


def follows_in_words(gap: Gap, table: AuditTable, tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Describe in words whether the price follows the attribute, with the differences between classes."""
    of_classes, pairs, mean = tables["classes"], tables["class_pairs"], table.mean_price
    significant = of_classes[of_classes["p_value"] <= LEVEL]
    names_in_text = ", ".join(
        f"“{name}” {'+' if difference > 0 else '−'}{percent(abs(difference) / mean)}"
        for name, difference in zip(significant["class"], significant["difference"], strict=True)
    )
    against_rest = f"Classes that differ from the rest (Holm's correction): {names_in_text or 'none'}."
    n_significant = int((pairs["p_value"] <= LEVEL).sum())
    pair_sentences = (
        ()
        if len(pairs) < 2
        else (f"{against_rest} {n_significant} of {len(pairs)} pairs of classes differ.",)
    )
    lowest_ratio = of_classes.iloc[int(np.argmin(of_classes["adverse_impact_ratio"]))]
    verdict = "below" if lowest_ratio["adverse_impact_ratio"] < FOUR_FIFTHS else "not below"
    return (
        f"The highest average price among the classes of “{table.columns.sensitive}” exceeds the lowest by "
        f"{percent_of_mean(gap, mean)}, {_noise_clause(gap)}.",
        *pair_sentences,
        f"“{lowest_ratio['class']}” has the smallest share of prices at or below the median, "
        f"{percent(lowest_ratio['selection_rate'])}. The adverse impact ratio of this class is "
        f"{lowest_ratio['adverse_impact_ratio']:.2f}, {verdict} four fifths.",
    )


def locate_extremes(data: AuditData, _: Answered) -> Part:
    """Answer question 2: find the curve's lowest and highest point, and the share of top prices along s."""
    gap, basis, name = data.independence.found, data.basis, data.table.columns.sensitive
    mean = data.table.mean_price
    assert isinstance(gap, Gap)
    lowest, highest = (
        f"the rows {basis.kind[j]} the {'5th' if basis.kind[j] == 'below' else '95th'} percentile"
        if basis.kind[j] in ("below", "above")
        else data.table.called(basis.at[j])
        for j in (gap.lowest, gap.highest)
    )
    lowest_price, highest_price = data.band["value"].min(), data.band["value"].max()
    sentence = (
        f"The price is lowest at {lowest} of “{name}” ({data.table.money(lowest_price)}, "
        f"{percent(lowest_price / mean)} of the mean) and highest at {highest} "
        f"({data.table.money(highest_price)}, {percent(highest_price / mean)})."
    )
    top_share = top_price_share(data.table, basis, random_state=data.seed)
    sentences, tables = [sentence], {}
    if top_share is not None:
        sentences.append(_top_prices_in_words(*top_share, data.table))
        tables["dearest_curve"] = top_share[0]
    if data.crossings:
        tables["crossed"], crossing_sentences = prices_of_crossings(data.crossings)
        sentences.extend(crossing_sentences)
    return Part(sentences=tuple(sentences), tables=tables)


def top_price_share(
    table: AuditTable, basis: Basis, *, random_state: int | None
) -> tuple[pd.DataFrame, float] | None:
    """Return the share of rows, in [0, 1], among the highest 5 % of prices: along s with a band, and overall.

    The share along s is a curve, fitted to an indicator in the same way as the price's curve. This curve
    needs no bands of s. Rows with equal prices are all included or all excluded, so the overall share may
    exceed 5 %. The result is None if the overall share would exceed a fifth.
    """
    limit = quantiles(table.price, table.weight, np.array([1 - TOP_SHARE]))[0]
    is_top = (table.price >= limit).astype(float)
    share = table.mean(is_top)
    if share > _MAX_TOP_SHARE:
        return None
    _, band = largest_gap(fit_curve(is_top, table, basis), share, random_state=random_state)
    columns = ["value", "low", "high"]
    return band.assign(**band[columns].clip(0.0, 1.0)), share


def _top_prices_in_words(band: pd.DataFrame, share: float, table: AuditTable) -> str:
    """Return a sentence on the share of the highest prices along s."""
    name = table.columns.sensitive
    top, lowest = (
        f"{table.called(point['at'])}, with {percent(point['value'])} "
        f"({percent(point['low'])} to {percent(point['high'])})"
        for point in (band.iloc[int(pick(band["value"]))] for pick in (np.argmax, np.argmin))
    )
    return (
        f"The share of rows among the highest {percent(share)} of prices is largest at “{name}” {top}, and "
        f"smallest at {lowest}."
    )


def prices_of_crossings(crossings: Sequence[AuditData]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return mean prices in the cells of combined attributes, and sentences on the largest gaps.

    The limits ``low`` and ``high`` hold simultaneously for all cells of a combination of attributes in 95 %
    of samples. The interval of the gap accounts for the selection of the extreme pair among all pairs of
    cells.
    """
    frames, sentences = [], []
    for data in crossings:
        cells, table, gap, basis = data.cells, data.table, data.independence.found, data.basis
        assert cells is not None
        assert isinstance(gap, Gap)
        cells_at = data.band["at"].astype(np.intp)
        rows = np.bincount(table.sensitive.astype(np.intp), minlength=len(cells.names))
        shown_cells = cells.places.iloc[cells_at].reset_index(drop=True)
        frames.append(shown_cells.assign(rows=rows[cells_at], **data.band[["value", "low", "high"]]))
        lowest, highest = (table.called(basis.at[k]) for k in (gap.lowest, gap.highest))
        sentences.append(
            f"Across the {len(cells_at)} cells of “{table.columns.sensitive}”, the highest average price "
            f"exceeds the lowest by {percent_of_mean(gap, table.mean_price)}, {_noise_clause(gap)}. The "
            f"price is lowest in “{lowest}” and highest in “{highest}”."
        )
        sentences.extend([cells.note] if cells.note else [])
    return pd.concat(frames, ignore_index=True), tuple(sentences)


def along_probabilities(
    table: AuditTable, *, random_state: int | None
) -> tuple[dict[str, pd.DataFrame], tuple[str, ...], tuple[str, ...]]:
    """Return the tables ``class_probabilities`` and ``calibration_of_classes``, sentences and notes."""
    p, names = table.probabilities.to_numpy(), tuple(map(str, table.probabilities))
    tables: dict[str, pd.DataFrame] = {}
    n_known, of_known_classes = int((table.known >= 0).sum()), None
    if n_known < MIN_KNOWN:
        sentence = (
            f"The class is known in {counted(n_known, 'row')}. A test of whether the probabilities are "
            f"calibrated needs {MIN_KNOWN} rows. If the probabilities are not calibrated, the intervals and "
            "the bounds are wrong."
        )
    else:
        units = None if table.columns.groups is None else table.units
        tables["calibration_of_classes"] = table_of_calibration = calibration(p, table.known, names, units)
        miscalibrated = [
            str(name) for name in table_of_calibration["class"][table_of_calibration["p_value"] <= LEVEL]
        ]
        sentence = (
            f"In the {n_known:,} rows with a known class, the frequency of each class agrees with its "
            "probabilities, up to noise."
        )
        if miscalibrated:
            of_known_classes = table.known
            sentence = (
                f"In the {n_known:,} rows with a known class, the probabilities of {few(miscalibrated)} are "
                "wrong by more than noise. We corrected the probabilities with these rows. The correction "
                "is valid if these rows are representative of all rows."
            )
    all_classes = by_probability(
        table.price,
        p,
        names,
        table.weight,
        table.units,
        true_class=of_known_classes,
        random_state=random_state,
    )
    is_large = all_classes["expected_rows"] >= MIN_ROWS
    tables["class_probabilities"] = shown_classes = all_classes[is_large].reset_index(drop=True)
    small = all_classes["class"][~is_large].tolist()
    note = f"We left out {few(small)}, with fewer than {MIN_ROWS} expected rows."
    notes = (note,) if small else ()
    if shown_classes.empty:
        return tables, (sentence,), notes
    row, mean = shown_classes.iloc[int(shown_classes["difference"].abs().argmax())], table.mean_price
    value, low, high, lower_bound, upper_bound, likeliest = (
        percent(row[each] / mean)
        for each in (
            "difference",
            "difference_low",
            "difference_high",
            "bound_low",
            "bound_high",
            "likeliest",
        )
    )
    notes_added = [
        f"According to the probabilities of {few(names)}, the price of “{row['class']}” differs most from "
        f"that of all others, by {value} of the mean price ({low} to {high}), if price and class are "
        "unrelated among rows of equal probability.",
        f"Without this assumption, the difference is between {lower_bound} and {upper_bound}, allowing for "
        "sampling error.",
    ]
    if row["bound_low"] <= 0 <= row["bound_high"]:
        notes_added.append("These data alone therefore do not show who pays more.")
    if not np.isnan(row["likeliest"]):
        notes_added.append(
            f"If each row had its most likely class, the difference would be {likeliest}. This estimate may "
            "be wrong even if the assumption holds."
        )
    return tables, (*notes_added, sentence, "These figures do not say to which class a row belongs."), notes
