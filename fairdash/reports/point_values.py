"""What to know of a measure's values as they are shown, and what older runs hold."""

from __future__ import annotations

from fairdash.dependence import REGISTRY
from fairdash.dependence.registry import WAYS
from fairdash.reports.comparison import Comparison


def of_values(comparison: Comparison) -> list[str]:
    """Say how the values of the measure in view are estimated, and which values are not today's."""
    entry = REGISTRY[comparison.measure]
    if comparison.result.evaluations.get(comparison.measure, "") != entry.recorded or not entry.recorded:
        return of_older_values(comparison)
    return [
        f"{entry.symbol} is {WAYS[entry.recorded]}.",
        *of_older_values(comparison),
    ]


def of_older_values(comparison: Comparison) -> list[str]:
    """Of the measures whose values are not what a run of today would hold: a sentence each."""
    found = []
    for id in comparison.front.measures:
        own, today = comparison.result.evaluations.get(id, ""), REGISTRY[id].recorded
        if own != today:
            found.append(
                f"{REGISTRY[id].symbol} is {WAYS[own]} in this run. Today it is {WAYS[today]}: train again "
                "to have such values."
            )
    return found
