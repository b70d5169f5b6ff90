"""The one test of several measures against classes: its size, and its power beside an analysis of variance."""

from __future__ import annotations

import numpy as np

import fairdash as fd
from fairdash.dependence.conditional import assess_conditional_dependence

NAMES = np.array(list("abcdefg"))
SHARES = (0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05)


def samples(count: int, *, shift: float = 0.0, spread: float = 0.0, n: int = 300, seed: int = 1):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        code = rng.choice(len(NAMES), n, p=SHARES)
        yield rng.exponential(size=n) * np.where(code == 2, 1 + spread, 1) + shift * (code == 3), code


def found(u: np.ndarray, code: np.ndarray, **more: object) -> bool:
    return fd.independence_test(u, NAMES[code], n_permutations=199, random_state=0, **more).has_link


def found_by_f(u: np.ndarray, code: np.ndarray, rng: np.random.Generator) -> bool:
    """A permutation test of the variance between classes."""

    def between(order: np.ndarray) -> float:
        counts = np.bincount(order, minlength=len(NAMES))
        return float((np.bincount(order, u, minlength=len(NAMES)) ** 2 / np.maximum(counts, 1)).sum())

    here = between(code)
    return 1 + sum(between(rng.permutation(code)) >= here * (1 - 1e-12) for _ in range(199)) <= 10


def test_it_raises_a_false_alarm_in_one_sample_of_twenty() -> None:
    assert sum(found(u, code) for u, code in samples(80)) <= 8


def test_it_sees_what_an_analysis_of_variance_sees_and_spreads_too() -> None:
    rng = np.random.default_rng(2)
    drawn = list(samples(40, shift=0.5))
    assert sum(found(*each) for each in drawn) >= sum(found_by_f(*each, rng) for each in drawn) > 6
    rng = np.random.default_rng(3)
    codes = [rng.choice(len(NAMES), 300, p=SHARES) for _ in range(15)]
    assert sum(found(rng.normal(size=300) * np.where(code == 2, 2, 1), code) for code in codes) >= 12


def test_two_classes_are_0_and_1() -> None:
    ((u, code),) = samples(1, shift=0.3)
    two = np.where(code == 3, "yes", "no")
    assert fd.independence_test(u, two, random_state=0) == fd.independence_test(u, code == 3, random_state=0)


def test_groups_weights_and_many_rows() -> None:
    ((u, code),) = samples(1, shift=0.6, n=25_000)
    test = fd.independence_test(u, NAMES[code], sample_weight=1 + u, random_state=0)
    assert test.by_multipliers
    assert test.has_link
    ((u, code),) = samples(1)
    groups = np.repeat(np.arange(300), 3)
    assert not found(np.repeat(u, 3), np.repeat(code, 3), groups=groups)
    assert not found(u, code, sample_weight=1 + (code == 1))


def test_among_equals_each_class_stands_against_the_rest() -> None:
    ((u, code),) = samples(1, shift=0.6, n=1000)
    factor = (code == 3) + np.random.default_rng(0).normal(size=1000)
    assert assess_conditional_dependence(u, NAMES[code], given=factor).p_value < 0.05
