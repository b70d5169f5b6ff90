"""A target per unit of exposure: claims a year rather than claims of policies that ran for a month or a year.

A policy of half a year has had half the time to have a claim. With the rate y = N / w as the target and the
exposure w as the weight, an average of predictions is a frequency, Σ N / Σ w, and the weighted Poisson
deviance of the rates is that of the counts with offset ln w.

>>> import pandas as pd
>>> looks_like_total(pd.Series([0, 1, 0, 2], name="ClaimNb"))
True
>>> looks_like_total(pd.Series([0.5, 2.0, 1.2], name="rate"))
False
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from fairdash.data.column_profile import NUMBERS, kind_of
from fairdash.data.header_words import meanings_of
from fairdash.errors import Problem
from fairdash.text import amount

#: Sums over a policy's term are mostly zero: most have no claim.
_MANY_ZEROS = 0.5


def can_be_rate(target: pd.Series) -> bool:
    """Whether a column may be divided by an exposure: numbers, none below zero."""
    return kind_of(target) in NUMBERS and bool((target.dropna() >= 0).all())


def looks_like_total(target: pd.Series) -> bool:
    """Whether a column holds counts or sums that grow with the exposure, and is not a rate already.

    Whole numbers, or amounts that are zero in at least half of the rows; never where the name says
    that it is a rate.
    """
    if not can_be_rate(target) or "rate" in meanings_of(target.name):
        return False
    cells = target.dropna().to_numpy(dtype=float)
    return holds_counts(cells) or float(np.mean(cells == 0)) >= _MANY_ZEROS


def holds_counts(cells: np.ndarray) -> bool:
    """Whether all numbers of an array are whole and none is below zero."""
    finite = cells[np.isfinite(cells)]
    return len(finite) > 0 and bool((finite >= 0).all() and (finite == np.round(finite)).all())


def rate_problems(target: pd.Series) -> list[Problem]:
    """Say what keeps a column from being divided by the exposure."""
    if can_be_rate(target):
        return []
    return [
        Problem(
            what="a rate needs a target that is never below zero, such as a count or a sum",
            hint="Predict the column as it is, or choose another target.",
            column=str(target.name),
            count=int((target < 0).sum()),
        )
    ]


def divided(target: pd.Series, exposure: pd.Series) -> tuple[pd.Series, str]:
    """Give target ÷ exposure under the target's name, and a sentence that says so."""
    total, whole = float(target.sum()), float(exposure.sum())
    said = (
        f"The target is “{target.name}” ÷ “{exposure.name}”, a rate, and each row counts by "
        f"“{exposure.name}”: {amount(total)} ÷ {amount(whole)} = {amount(total / whole)} over all rows."
    )
    return (target / exposure).rename(str(target.name)), said


def unit_of_rate(target: str, exposure: str) -> str:
    """The unit of a rate from those of target and exposure, which may be empty.

    >>> unit_of_rate("€", "years"), unit_of_rate("", "")
    ('€ per year', 'per unit of exposure')
    """
    one = re.sub(r"s$", "", exposure) if exposure.isalpha() else "unit of exposure"
    return f"{target} per {one}".strip()
