"""Which cases of a promise ``make test`` runs; the others are variants, which ``make test-all`` runs as well."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

#: Two methods of training for all: an adversary that learns, and a measure that is computed.
METHODS_KEPT = ("hgr_nn", "hgr_spline")


def few(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """Parameters for ``parametrize``: all cases, of which those not kept are variants."""
    found = list(cases)
    unknown = [each for each in kept if each not in found]
    assert not unknown, f"no such case: {unknown}"
    return [each if each in kept else pytest.param(each, marks=pytest.mark.variant) for each in found]


def few_methods(methods: Iterable[str]) -> list[Any]:
    """As :func:`few`, with the two methods that stand for all."""
    return few(methods, *METHODS_KEPT)


#: Of a test's cases so many are no variants, spread over all, unless a mark says which.
CASES_KEPT = 4
#: Tests of which others carry out every line (``python -m benchmarks.variants``).
CARRIED_OUT_BY_OTHERS = frozenset(Path(__file__).with_name("variants.txt").read_text("utf-8").split())


def mark_variants(items: Iterable[pytest.Item]) -> None:
    """Mark tests that others carry out as variants, and most cases of tests with many.

    All cases stay where each is a promise of its own: with ``every_case``, with rows of the table of bad
    inputs, and where cases are marked by hand.
    """
    tests: defaultdict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[str(item.path), getattr(item, "originalname", item.name)].append(item)
    by_hand = ("variant", "every_case", "bad_input")
    for cases in tests.values():
        if cases[0].nodeid.split("[")[0] in CARRIED_OUT_BY_OTHERS:
            for each in cases:
                each.add_marker(pytest.mark.variant)
            continue
        if any(each.get_closest_marker(mark) for each in cases for mark in by_hand):
            continue
        kept = {round(k * (len(cases) - 1) / (CASES_KEPT - 1)) for k in range(CASES_KEPT)}
        for k, each in enumerate(cases):
            if k not in kept:
                each.add_marker(pytest.mark.variant)
