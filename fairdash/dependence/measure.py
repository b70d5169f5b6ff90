"""Type of the entries in the registry of dependence measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_PACKAGE = "fairdash.dependence"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Dependence measure with its names, range, properties and implementation.

    Attributes
    ----------
    id
        Name used in the API, the command line and result tables.
    title
        Name in plain words.
    symbol
        Symbol in formulas and figures.
    lower, upper
        Range of the estimated quantity. A held-out or unbiased estimate may fall below ``lower`` by chance.
    signed
        True if the sign is a direction, so that a value and its negative show equally strong dependence.
    symmetric
        True if exchanging u and v leaves the value unchanged to the last digit. Cross-fitted values change
        slightly, because the folds change.
    rank_based
        True if increasing transformations of u or v leave the value unchanged.
    rank_based_s
        True if increasing transformations of v alone leave the value unchanged.
    scale_free
        True if shifts and positive rescaling leave the value unchanged. For example, FairQuant is in the
        units of u and thus not scale-free.
    fitted
        True if functions are learned from the rows, so that ``evaluation="cross_fit"`` differs from
        ``"in_sample"``.
    seeded
        True if the measure draws random numbers, so that ``random_state`` matters.
    quick
        True if a value takes only milliseconds, so that a page may update the value while a user moves a
        slider.
    discrete
        True if the measure accepts only variables with few distinct values.
    accepts_weights
        True if the measure accepts ``sample_weight``.
    multivariate
        True if v may have several columns.
    recorded
        Name of the estimation method, which a run stores so that later versions can report a change of
        method. The name is empty for measures whose method never changed.
    interval_of
        Quantity that an interval covers, if it is not the quantity in the title.
    zero, one
        Meanings of the values 0 and 1.
    fails_when
        Situations in which the estimate is misleading, in plain words.
    source
        Source of the definition.
    implementation
        Function as ``"module:function"``. The function takes stacks ``(K, n)`` and returns ``(K,)``. A
        function with a shortcut for permutations accepts the keyword ``permutations``, orders (B, n) of the
        rows of v, and returns ``(K, B)``. If it also accepts ``permute_weight`` (whether weights move with v
        instead of staying with u), the shortcut supports positive weights and orders in which rows occur
        several times.
    learned
        Function as ``"module:function"`` that returns the learned functions f and g; empty for other
        measures.
    on_request
        True if pages that show all measures omit this measure, because it nearly duplicates another measure
        or is intended only for explicit requests.
    floats_per_row
        Approximate number of values in memory per row of one pair, which determines how many pairs are
        computed at once.
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
        """Import and return the function named by ``part``: ``implementation`` or ``learned``."""
        target = getattr(self, part)
        if target is None:
            raise LookupError(f"{self.id} has no {part}")
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(import_module(f"{_PACKAGE}.{module}"), function)
        return loaded
