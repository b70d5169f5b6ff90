"""Credibility of levels with few claims (Bühlmann and Straub 1970).

The few claims of a level say little: 124 policies without a claim would get a relativity near 0. Such a level
counts K further claims at the base's frequency. With E claims expected there, its own claims then have the
weight E / (E + K). On the scale of η this is a normal prior with variance 1 / K, or the weight K / N of a
squared coefficient among N claims.

>>> from fairdash.tariff.terms import LEVEL
>>> level = Factor(column="zone", kind=LEVEL, cells=("A", "B"), base=0, shares=(0.9, 0.1))
>>> table = pd.DataFrame({"zone": ["A"] * 90 + ["B"] * 10})
>>> claims = claims_of([level], table, np.r_[np.ones(90), np.zeros(10)])
>>> claims[0].tolist(), extra_ridge([level], claims, 9.0, total=90).tolist()
([90.0, 0.0], [0.1])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tariff.terms import BREAKPOINT, Factor, Term

Array = NDArray[np.float64]

#: Claims with which a level's own experience has full credibility: within 30 % of the true mean in 90 % of
#: samples (limited fluctuation).
MIN_CLAIMS = 30
#: Default of K: relativities of levels vary by about 1 / √10, a third.
CLAIMS_OF_BASE = 10.0


def claims_of(terms: Sequence[Term], table: pd.DataFrame, y: Array) -> tuple[Array, ...]:
    """Return the rows with a claim (y other than 0) at each value of each term; NaN at breakpoints.

    A row between two breakpoints counts to both.
    """
    counts = []
    for term in terms:
        places = term.places(table)
        known = (places >= 0) & (y != 0)
        counts.append(np.bincount(places[known], minlength=len(term.shares)).astype(float))
        if isinstance(term, Factor) and term.kind == BREAKPOINT:
            counts[-1][: term.n_places] = np.nan
    return tuple(counts)


def extra_ridge(terms: Sequence[Term], claims: Sequence[Array], more: float, *, total: int) -> Array:
    """Return weights of squared coefficients, (P,): K / N for values with few claims, and else 0.

    Few are fewer than :data:`MIN_CLAIMS`, observed or expected at the mean frequency.

    Parameters
    ----------
    claims
        From :func:`claims_of`.
    more
        K.
    total
        N.
    """
    parts = [np.zeros(0)]
    for term, own in zip(terms, claims, strict=True):
        few = np.minimum(own, total * np.array(term.shares)) < MIN_CLAIMS
        # Each of these values is one coefficient.
        parts.append(term.values(np.eye(term.width)) @ few * more / max(total, 1))
    return np.concatenate(parts)
