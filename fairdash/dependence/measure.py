"""Entry of the registry of dependence measures: names, ranges and implementations of a measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_PACKAGE = "fairdash.dependence"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Entry of the registry: a dependence measure and its implementations.

    Attributes
    ----------
    id
        The name used in the API, the command line and result tables.
    title
        The name in plain words.
    symbol
        The name in formulas and figures.
    lower, upper
        The range of the quantity estimated. A held-out or unbiased estimate may fall below
        ``lower`` by chance.
    signed
        Whether the sign is a direction, so that far below 0 is as much dependence as far above.
    symmetric
        Whether exchanging u and v leaves the value unchanged to the last digit. Cross-fitted values change by
        chance, because the folds are dealt anew.
    rank_based
        Whether increasing maps of u or v leave the value unchanged.
    rank_based_s
        Whether increasing maps of v alone leave the value unchanged.
    scale_free
        Whether shifts and positive scales leave the value unchanged. FairQuant is in the units of u.
    fitted
        Whether functions are learned from the rows, so that ``evaluation="cross_fit"`` differs from
        ``"in_sample"``.
    seeded
        Whether ``random_state`` matters.
    quick
        Whether a value takes milliseconds, so that a page may redraw it as a slider moves.
    discrete
        Whether only variables with few distinct values are accepted.
    accepts_weights
        Whether ``sample_weight`` has a meaning for it.
    multivariate
        Whether v may have several columns.
    recorded
        What a run writes down of how its values are estimated, so that later versions can say where theirs
        differ; empty for measures that never changed.
    interval_of
        Quantity that an interval covers, if it differs from the title.
    zero, one
        Meaning of the values 0 and 1.
    fails_when
        When its estimate misleads, in plain words.
    source
        Where the definition comes from.
    implementation
        ``"module:function"``; the function takes stacks ``(K, n)`` and returns ``(K,)``. Where permuting is
        cheaper than starting again, it has the keyword ``permutations`` (B, n), orders of the rows of v, and
        returns ``(K, B)``; with ``weight_moves``, whether weights go with v or stay with u, that holds with
        weights above 0, too, and for orders in which rows come several times.
    learned
        The same for the learned transformations f and g, where there are any.
    on_request
        Whether pages that show every measure leave it out: it says nearly what another does, or what is asked
        for by name only.
    floats_per_row
        About how many numbers a row of one pair needs in memory; stacks are cut into pieces by it.
    """

    id: str
    title: str
    symbol: str
    zero: str
    one: str
    fails_when: str
    source: str
    implementation: str
    lower: float = 0.0
    upper: float = 1.0
    signed: bool = False
    symmetric: bool = True
    rank_based: bool = False
    rank_based_s: bool = False
    scale_free: bool = True
    fitted: bool = False
    seeded: bool = False
    quick: bool = True
    discrete: bool = False
    accepts_weights: bool = False
    multivariate: bool = False
    recorded: str = ""
    interval_of: str = ""
    learned: str | None = None
    on_request: bool = False
    floats_per_row: int = 8

    def load(self, part: str = "implementation") -> Callable[..., Any]:
        """Import and return the function named by ``part``, the implementation or the learned functions."""
        target = getattr(self, part)
        if target is None:
            raise LookupError(f"{self.id} has no {part}")
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(import_module(f"{_PACKAGE}.{module}"), function)
        return loaded
