"""Turn totals into rates per unit of exposure: claims per year, for policies of different length.

A policy of half a year has half the time for claims. With the rate y = N / w as the target and the exposure w
as the weight, the average prediction is a frequency, Σ N / Σ w, and the weighted Poisson deviance of the
rates equals that of the counts with offset ln w.

>>> import pandas as pd
>>> looks_like_total(pd.Series([0, 1, 0, 2], name="ClaimNb"))
True
>>> looks_like_total(pd.Series([0.5, 2.0, 1.2], name="rate"))
False
>>> looks_like_total(pd.Series([0, 0, 0, 812.5, 90.1, -40.2], name="ClaimAmount"))  # with a recovery
True
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.tables.column_profile import NUMBERS, kind_of
from fairdash.tables.header_words import meanings_of

#: Sums over a policy's term are mostly zero: most have no claim.
_MANY_ZEROS = 0.5

#: Options for amounts below zero: use them unchanged, count them as 0, or leave their rows out.
AS_THEY_ARE, FLOOR, DROP_NEGATIVE = "as_they_are", "floor", "drop_negative"
OF_NEGATIVES = (AS_THEY_ARE, FLOOR, DROP_NEGATIVE)


def can_be_rate(target: pd.Series) -> bool:
    """Return whether a column can be divided by an exposure: it holds numbers."""
    return kind_of(target) in NUMBERS


def looks_like_total(target: pd.Series) -> bool:
    """Return whether a column holds counts or totals that grow with the exposure, and not a rate.

    Whole numbers from zero up, or amounts that are zero in at least half of the rows and of which fewer than
    half of the others are below zero, as recoveries are; never where the name says that it is a rate.
    """
    if not can_be_rate(target) or "rate" in meanings_of(target.name):
        return False
    cells = target.dropna().to_numpy(dtype=float)
    if holds_counts(cells):
        return True
    below, above = int((cells < 0).sum()), int((cells > 0).sum())
    return float(np.mean(cells == 0)) >= _MANY_ZEROS and (below == 0 or below < above)


def holds_counts(cells: np.ndarray) -> bool:
    """Return whether all numbers of an array are whole and none is below zero."""
    finite = cells[np.isfinite(cells)]
    return len(finite) > 0 and bool((finite >= 0).all() and (finite == np.round(finite)).all())
