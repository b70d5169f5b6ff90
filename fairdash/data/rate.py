"""A target per unit of exposure: claims a year rather than claims of policies that ran for a month or a year.

A policy of half a year has had half the time to have a claim. With the rate y = N / w as the target and the
exposure w as the weight, an average of predictions is a frequency, Σ N / Σ w, and the weighted Poisson
deviance of the rates is that of the counts with offset ln w.

>>> import pandas as pd
>>> looks_like_total(pd.Series([0, 1, 0, 2], name="ClaimNb"))
True
>>> looks_like_total(pd.Series([0.5, 2.0, 1.2], name="rate"))
False
>>> looks_like_total(pd.Series([0, 0, 0, 812.5, 90.1, -40.2], name="ClaimAmount"))  # with a recovery
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairdash.data.column_profile import NUMBERS, kind_of
from fairdash.data.header_words import meanings_of
from fairdash.data.roles import first_lines
from fairdash.errors import Fix, Problem
from fairdash.utils.text import amount, at_lines, counted

#: Sums over a policy's term are mostly zero: most have no claim.
_MANY_ZEROS = 0.5

#: What can be done about amounts below zero: use them as they are, count them as 0, leave their rows out.
AS_THEY_ARE, FLOOR, DROP_NEGATIVE = "as_they_are", "floor", "drop_negative"
OF_NEGATIVES = (AS_THEY_ARE, FLOOR, DROP_NEGATIVE)


def can_be_rate(target: pd.Series) -> bool:
    """Whether a column may be divided by an exposure: it holds numbers."""
    return kind_of(target) in NUMBERS


def looks_like_total(target: pd.Series) -> bool:
    """Whether a column holds counts or sums that grow with the exposure, and is not a rate already.

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
    """Whether all numbers of an array are whole and none is below zero."""
    finite = cells[np.isfinite(cells)]
    return len(finite) > 0 and bool((finite >= 0).all() and (finite == np.round(finite)).all())


def negative_problems(
    target: pd.Series, exposure: pd.Series, fixes: Sequence[Fix] = (), lines: np.ndarray | None = None
) -> list[Problem]:
    """Ask what to do about amounts below zero before they are divided by an exposure.

    Parameters
    ----------
    target, exposure : Series, shape (n,)
        float64; rows without an exposure above zero have problems of their own.
    fixes
        What was agreed to; nothing is asked of what is decided.
    lines : array, shape (n,)
        The line of the file that each row begins on, if the table comes from a file.
    """
    column, y, w = str(target.name), target.to_numpy(), exposure.to_numpy()
    below = y < 0
    if not below.any() or any(fix.column == column and fix.kind in OF_NEGATIVES for fix in fixes):
        return []
    known = np.isfinite(y) & np.isfinite(w) & (w > 0)
    ways = (known, np.maximum(y, 0)), (known & ~below, y)
    rates = [
        amount(float(cells[rows].sum() / w[rows].sum())) if rows.any() else "nothing"
        for rows, cells in ((known, y), *ways)
    ]
    return [
        Problem(
            what="amounts below zero, such as recoveries, are to be divided by the exposure",
            hint=f"Divide them as they are (“{column}” ÷ “{exposure.name}” is {rates[0]} over all rows; only "
            f"squared error can learn it), count them as 0 ({rates[1]}), or leave these rows out "
            f"({rates[2]}).",
            column=column,
            lines=first_lines(below, lines),
            count=int(below.sum()),
            fixes=tuple(Fix(kind, column) for kind in OF_NEGATIVES),
        )
    ]


def negative_note(target: pd.Series, kind: str | None, lines: np.ndarray | None = None) -> str:
    """Say how many amounts are below zero, in which rows, what they add up to and what was done about them.

    Parameters
    ----------
    target : Series, shape (n,)
        float64, some of it below zero.
    kind
        One of :data:`OF_NEGATIVES`, or None where nobody has decided.
    lines : array, shape (n,)
        As for :func:`negative_problems`.
    """
    below = (target < 0).to_numpy()
    n_below = int(below.sum())
    where = "" if lines is None else f" ({at_lines(lines[below], n_below)})"
    done = {
        FLOOR: "They count as 0.",
        DROP_NEGATIVE: "These rows are left out.",
    }.get(kind or "", "They are used as they are: only squared error can learn from them.")
    return (
        f"“{target.name}” is below zero in {counted(n_below, 'row')}{where}, and adds up to "
        f"{amount(float(target[below].sum()))} there. {done}"
    )


def undivided_note(target: str, exposure: str) -> str:
    """Say that a column that looks like a total is not divided by the exposure."""
    return (
        f"“{target}” looks like a sum over the exposure, and is used as if it were per unit of “{exposure}” "
        "already. If it is a sum, predict it per unit of exposure: its averages mean nothing otherwise."
    )


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
