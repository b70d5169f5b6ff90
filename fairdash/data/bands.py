"""Bands such as 18-25, under 18 or 10+: text that is in an order, though no number.

>>> bands_in_order(["10+", "2-5", "6-9", "1", "<1"])
('<1', '1', '2-5', '6-9', '10+')
>>> bands_in_order(["65 and over", "18 to 64"]), bands_in_order(["12-3", "4-7"]), bands_in_order(["1", "2"])
(('18 to 64', '65 and over'), None, None)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf

from fairdash.data.column_profile import folded

#: More levels than this are no bands.
MOST_BANDS = 200

_NUMBER = r"(?:0|[1-9][0-9]*)(?:[.,][0-9]+)?"
_UNIT = r"(?: ?(?:years?|yrs?|y|jahren?|j|ans?|anos?|anni|jaar|km|€|eur|%))?"
_TO = r"(?:-|\u2013|\u2014|\.\.|to|until|bis|a|ate|fino a|tot)"
_MORE = (
    r"(?:\+|plus|and over|and more|or more|and above|and older|und mehr|und alter|und aelter|oder mehr"
    r"|et plus|ou plus|y mas|o mas|e oltre|o piu|e piu|en meer|of meer|en ouder)"
)
_LESS = r"(?:<|under|below|less than|unter|moins de|menos de|meno di|minder dan|onder)"
_LESS_OR = r"(?:<=|≤|up to|bis|bis zu|jusqu'?a|hasta|fino a|tot)"
_OVER = r"(?:>|over|above|more than|uber|ueber|plus de|mas de|oltre|piu di|meer dan)"
_OVER_OR = r"(?:>=|≥|from|ab|des|desde|da|vanaf)"

#: What a band is written like.
_SHAPES = (
    rf"(?P<low>{_NUMBER}){_UNIT} ?{_TO} ?(?P<high>{_NUMBER}){_UNIT}",
    rf"[\[(\]] ?(?P<low>{_NUMBER}) ?[,;-] ?(?P<high>{_NUMBER}) ?[\])\[]",
    rf"(?P<low>{_NUMBER}){_UNIT} ?{_MORE}",
    rf"{_OVER_OR} ?(?P<low>{_NUMBER}){_UNIT}",
    rf"{_OVER} ?(?P<over>{_NUMBER}){_UNIT}",
    rf"{_LESS_OR} ?(?P<high>{_NUMBER}){_UNIT}",
    rf"{_LESS} ?(?P<under>{_NUMBER}){_UNIT}",
)
_BANDS = tuple(map(re.compile, _SHAPES))
_ALONE = re.compile(rf"(?P<low>{_NUMBER}){_UNIT}")


def bands_in_order(levels: Sequence[object]) -> tuple[str, ...] | None:
    """The levels of a column from low to high; None unless they are bands.

    Every level is a band or a number, and at least one is a band; none has an end below its start.

    Parameters
    ----------
    levels
        The different texts of a column.
    """
    if not 2 <= len(levels) <= MOST_BANDS:
        return None
    ends, n_bands = [], 0
    for level in levels:
        found = _ends(str(level))
        if found is None:
            return None
        ends.append((found[:2], str(level)))
        n_bands += found[2]
    return tuple(level for _, level in sorted(ends)) if n_bands else None


def _ends(text: str) -> tuple[float, float, bool] | None:
    """Where a band starts and ends, and whether it is one rather than a number; None if it is neither."""
    text = " ".join(folded(text.replace("≤", "<=").replace("≥", ">=")).split())
    match, is_band = _ALONE.fullmatch(text), False
    if match is None:
        match = next((found for each in _BANDS if (found := each.fullmatch(text))), None)
        is_band = True
    if match is None:
        return None
    parts = {name: float(part.replace(",", ".")) for name, part in match.groupdict().items() if part}
    if "under" in parts:
        return -inf, parts["under"], True
    if "over" in parts:
        # After a band that ends there.
        return parts["over"] + 1e-9, inf, True
    low = parts.get("low", -inf)
    high = parts.get("high", inf if is_band else low)
    return (low, high, is_band) if low <= high else None
