"""Question 1 by class, when only class probabilities are known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.auditing.gaps import LEVEL
from fairdash.auditing.table import AuditTable
from fairdash.evaluation.class_probabilities import FEWEST_KNOWN, by_probability, calibration
from fairdash.utils.classes import FEWEST_ROWS
from fairdash.utils.text import counted, few, percent


def along_probabilities(
    table: AuditTable, *, random_state: int | None
) -> tuple[dict[str, pd.DataFrame], tuple[str, ...], tuple[str, ...]]:
    """Return the tables ``class_probabilities`` and ``calibration_of_classes``, sentences and notes."""
    p, names = table.probabilities.to_numpy(), tuple(map(str, table.probabilities))
    tables: dict[str, pd.DataFrame] = {}
    n_known, known = int((table.known >= 0).sum()), None
    if n_known < FEWEST_KNOWN:
        said = (
            f"Whether these probabilities are calibrated can't be tested: {counted(n_known, 'row')} of known "
            f"class, and {FEWEST_KNOWN} are needed. If they are not, neither intervals nor bounds hold."
        )
    else:
        tables["calibration_of_classes"] = found = calibration(p, table.known, names)
        off = [str(name) for name in found["class"][found["p_value"] <= LEVEL]]
        said = f"In {n_known:,} rows of known class no class deviates from its probabilities beyond noise."
        if off:
            known = table.known
            said = (
                f"In {n_known:,} rows of known class the probabilities of {few(off)} are wrong beyond noise. "
                "These rows correct them. This is valid if they are like all other rows."
            )
    every = by_probability(
        table.price, p, names, table.weight, table.units, known=known, random_state=random_state
    )
    is_large = every["expected_rows"] >= FEWEST_ROWS
    tables["class_probabilities"] = shown = every[is_large].reset_index(drop=True)
    small = every["class"][~is_large].tolist()
    fewer = f"Left out: {few(small)}, of which fewer than {FEWEST_ROWS} rows are expected."
    notes = (fewer,) if small else ()
    if shown.empty:
        return tables, (said,), notes
    most, mean = shown.iloc[int(shown["difference"].abs().argmax())], table.mean_price
    value, low, high, least, greatest, likeliest = (
        percent(most[each] / mean)
        for each in (
            "difference",
            "difference_low",
            "difference_high",
            "bound_low",
            "bound_high",
            "likeliest",
        )
    )
    more = [
        f"By the probabilities of {few(names)}, the price of “{most['class']}” differs most from that of all "
        f"others, by {value} of the mean price ({low} to {high}): if price and class are unrelated among "
        "rows of equal probability.",
        f"Without that condition the difference is between {least} and {greatest}, including noise.",
    ]
    if most["bound_low"] <= 0 <= most["bound_high"]:
        more.append("So these data alone do not show which side pays more.")
    if not np.isnan(most["likeliest"]):
        more.append(
            f"With the most likely class of each row it would be {likeliest}. This estimate can be wrong "
            "even under the condition."
        )
    return tables, (*more, said, "These figures do not classify any single row."), notes
