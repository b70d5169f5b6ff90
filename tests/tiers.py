"""Select the test cases that ``make test`` runs; the others are variants, which only ``make test-all`` runs."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

#: Two representative training methods: one with a trained adversary, and one with a computed measure.
METHODS_KEPT = ("hgr_nn", "hgr_spline")


def few(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """Parameters for ``parametrize``: all cases, where those that are not kept become variants."""
    found = list(cases)
    unknown = [each for each in kept if each not in found]
    assert not unknown, f"no such case: {unknown}"
    return [each if each in kept else pytest.param(each, marks=pytest.mark.variant) for each in found]


def few_methods(methods: Iterable[str]) -> list[Any]:
    """Call :func:`few` with the two representative methods."""
    return few(methods, *METHODS_KEPT)


#: Number of cases per test that are not variants, evenly spread over all cases, unless a mark selects cases.
CASES_KEPT = 4
#: Tests whose lines other tests execute too (``python -m benchmarks.variants``).
CARRIED_OUT_BY_OTHERS = frozenset(Path(__file__).with_name("variants.txt").read_text("utf-8").split())


def mark_variants(items: Iterable[pytest.Item]) -> None:
    """Mark tests whose lines other tests execute as variants, and most cases of tests with many cases.

    A test keeps all cases if each case is a separate promise: with ``every_case``, with rows of the table of
    bad inputs, and if cases are marked by hand.
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
