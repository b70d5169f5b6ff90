"""What to know of a measure's values as they are shown: below what they are 0, and what older runs hold."""

from __future__ import annotations

from fairdash.assessment.assess import MOST_ROWS
from fairdash.dependence import REGISTRY
from fairdash.dependence.spline_corrected import smallest_value
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.reports.numbers import number

#: How evaluations are called.
_WAYS = {"corrected": "corrected for what noise adds", "": "cross-fitted: read on rows left out"}


def why_so_small(comparison: Comparison, point: Point | None = None) -> str:
    """Below what the measure in view is 0, where it is that small at a point and yet a link is found.

    B by default. Empty where there is nothing to explain.
    """
    point = comparison.b if point is None else point
    edge = zero_below(comparison)
    if edge is None or not comparison.has_link(point) or comparison.mean(comparison.measure, point) >= edge:
        return ""
    return (
        f"A link is found and {REGISTRY[comparison.measure].symbol} still reads "
        f"{comparison.shown(comparison.measure, point)}: in each split it is 0 for links below about "
        f"{number(edge)}, which its rows can't tell from noise one split at a time."
    )


def zero_below(comparison: Comparison) -> float | None:
    """Below which link the measure in view is 0 on one split's test rows; None if there is no such edge."""
    if comparison.result.evaluations.get(comparison.measure) != "corrected":
        return None
    rows = comparison.result.splits[0].test
    count = float(min(len(rows), MOST_ROWS))
    if comparison.result.weight is not None:
        weight = comparison.result.weight[rows]
        count *= weight.mean() ** 2 / (weight**2).mean()
    return smallest_value(count)


def of_values(comparison: Comparison) -> list[str]:
    """Sentences on the measure in view, if its values have an edge, and on values that are not today's."""
    edge = zero_below(comparison)
    if edge is None:
        return of_older_values(comparison)
    return [
        f"{REGISTRY[comparison.measure].symbol} is {_WAYS['corrected']}. It reads 0 where one split's test "
        f"rows can't tell a link from noise: below about {number(edge)}.",
        *of_older_values(comparison),
    ]


def of_older_values(comparison: Comparison) -> list[str]:
    """Of the measures whose values are not what a run of today would hold: a sentence each."""
    found = []
    for id in comparison.front.measures:
        own, today = comparison.result.evaluations.get(id, ""), REGISTRY[id].shown or ""
        if own != today:
            found.append(
                f"{REGISTRY[id].symbol} is {_WAYS[own]} in this run, which was carried out before values "
                f"{_WAYS[today]} were shown. Train again to have these."
            )
    return found
