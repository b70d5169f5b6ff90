"""Which cases of a promise ``make test`` runs; the others are variants, which ``make test-all`` runs as well."""

from __future__ import annotations

from collections.abc import Iterable
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
