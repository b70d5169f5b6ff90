"""One independence test of several measures: exact by enumeration, and able to detect every listed link."""

import itertools

import numpy as np
import pytest

import fairdash as fd
from benchmarks.hard_links import LINKS
from fairdash.dependence.conditional import assess_conditional_dependence
from fairdash.dependence.omnibus import COMPONENTS, combined_p, draw_signs, multiplied_values, permuted_values
from fairdash.errors import OptionError


def at_hand(u, v, weight=None):
    """The measures of the observed pair."""
    return permuted_values(u[None], v, np.empty((0, len(v)), dtype=int), weight=weight)[0, :, 0, 0]


def test_the_smallest_p_value_of_several_measures_is_corrected_by_its_rank_among_permutations():
    # Two measures of five orders. Shares of values at least as large: 2/5 4/5 5/5 1/5 3/5, and 5/5 1/5 2/5
    # 3/5 4/5.
    p_value, each = combined_p(np.array([[3.0, 1, 0, -4, 2], [0, 9, 8, 7, 6]]))
    # The smaller share of each order is 0.4, 0.2, 0.4, 0.2, 0.6: four of five are at most 0.4.
    assert (p_value, each.tolist()) == (0.8, [0.4, 1.0])
    # Ties count as exceeding the observed value, also up to rounding, so equal orders give a p-value of 1.
    assert combined_p(np.ones((2, 5)))[0] == 1
    assert combined_p(np.array([[1.0, 1 - 1e-6, 0.0, 0.0]]))[0] == 0.5


def test_the_independence_test_reports_the_smallest_possible_p_value_for_its_permutations():
    u = np.random.default_rng(0).normal(size=200)
    found = fd.independence_test(u, u + 0.01 * u**2, n_permutations=199, random_state=0)
    assert found.p_value == pytest.approx(found.p_at_best[0]) == 1 / 200
    assert found.p_at_best[1] == 6 / 200


@pytest.mark.parametrize("v", [[0.0, 1, 2, 3, 4], [0.0, 0, 1, 1, 2], [0.0, 0, 0, 1, 1]])
def test_the_independence_test_is_exact_at_every_level_over_all_permutations_of_five_rows(v):
    """With each of the 120 orders as the observed one, p-values of at most α have a share of at most α."""
    u, orders = np.array([[0.3, 1.0, 1.0, 5.0, -2.0]]), np.array(list(itertools.permutations(range(5))))
    values = permuted_values(u, np.array(v), orders)[0, :, 0, 1:]
    turns = (np.delete(np.insert(values, 0, values[:, k], axis=1), k + 1, axis=1) for k in range(120))
    found = np.array([combined_p(turned)[0] for turned in turns])
    assert all(np.mean(found <= level) <= level + 1e-12 for level in np.unique(found))


def test_fast_values_under_permutations_equal_those_computed_from_the_permuted_pairs():
    rng = np.random.default_rng(0)
    u, v, weight = rng.normal(size=(2, 60)), np.round(rng.normal(size=60), 1), rng.exponential(size=60)
    orders = np.array([np.arange(60), *(rng.permutation(60) for _ in range(3))])
    plain, weighted = permuted_values(u, v, orders[1:]), permuted_values(u, v, orders[1:], weight=weight)
    assert (plain.shape, weighted.shape) == ((1, len(COMPONENTS), 2, 4), (2, len(COMPONENTS), 2, 4))
    for k, (b, order) in itertools.product(range(2), enumerate(orders)):
        assert plain[0, :, k, b] == pytest.approx(at_hand(u[k], v[order]), abs=1e-5)
        for moves, own in enumerate((weight, weight[order])):
            assert weighted[moves, :, k, b] == pytest.approx(at_hand(u[k], v[order], own), abs=1e-5)
    line, trend = plain[0, :2, 0, 0]
    assert line == pytest.approx(fd.measure("pearson", u[0], v), abs=1e-5)
    assert abs(trend - fd.measure("spearman", u[0], v)) < 0.02


def test_values_under_random_signs_equal_sums_over_blocks_multiplied_by_the_signs():
    rng = np.random.default_rng(1)
    u, v, weight = rng.normal(size=(1, 90)), rng.normal(size=90), rng.exponential(size=90)
    signs = (2 * rng.integers(0, 2, size=(4, 30)) - 1).astype(np.int8)
    blocks = np.repeat(rng.permutation(30), 3)
    for own in (None, weight):
        values = multiplied_values(u, v, blocks, signs, weight=own)
        assert values[0, :, 0, 0] == pytest.approx(at_hand(u[0], v, own), abs=1e-5)
        # Reversing all signs leaves the absolute value of every sum unchanged.
        same = multiplied_values(u, v, blocks, -np.ones((1, 30), dtype=np.int8), weight=own)
        assert np.abs(same[0, :, 0, 1]) == pytest.approx(np.abs(same[0, :, 0, 0]), rel=1e-5)
    share = weight / weight.sum()
    x, y = ((each - each.mean()) / each.std() for each in (u[0], v))
    scores = share * (x - share @ x) * (y - share @ y)
    expected = signs @ np.bincount(blocks, scores)
    line = multiplied_values(u, v, blocks, signs, weight=weight)[0, 0, 0, 1:]
    assert line == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", [name for name in LINKS if name != "independent"])
def test_the_independence_test_detects_every_kind_of_dependence_in_its_table(name):
    pairs = [LINKS[name].draw(np.random.default_rng([1, k]), 300) for k in range(12)]
    found = [fd.independence_test(u, v, n_permutations=199, random_state=0).p_value <= 0.05 for u, v in pairs]
    assert sum(found) >= 10


@pytest.mark.parametrize("n_rows", [50, 20_001])
def test_the_independence_test_of_a_constant_has_a_p_value_of_one(n_rows):
    v = np.arange(float(n_rows))
    rounded = np.where(v > n_rows / 2, 0.1 + 0.2, 0.3)
    assert rounded.min() < rounded.max()
    for none in (np.full(n_rows, 3.0), rounded):
        for pair in ((none, v), (v, none)):
            assert fd.independence_test(*pair, n_permutations=19).p_value == 1


def test_the_independence_test_ignores_rows_of_weight_zero():
    u, v = np.random.default_rng(3).normal(size=(2, 80))
    options = {"n_permutations": 59, "random_state": 0}
    whole = fd.independence_test(u, v, sample_weight=np.repeat([1.0, 0.0], 40), **options)
    kept = fd.independence_test(u[:40], v[:40], sample_weight=np.ones(40), **options)
    assert whole == kept
    # Equal weights have no effect.
    assert fd.independence_test(u[:40], v[:40], **options).p_value == kept.p_value


@pytest.mark.parametrize("depends_on", [0, 1])
def test_weights_that_depend_on_one_variable_do_not_raise_the_false_alarm_rate(depends_on):
    options, alarms = {"n_permutations": 99}, 0
    for k in range(60):
        pair = np.random.default_rng(k).normal(size=(2, 200))
        weight = np.exp(1.5 * pair[depends_on])
        found = fd.independence_test(*pair, sample_weight=weight, random_state=k, **options)
        alarms += found.p_value <= 0.05
    assert alarms <= 8  # a binomial of 60 and 0.05 exceeds 8 in 0.7 % of cases


def test_unusable_inputs_of_the_independence_test_are_refused():
    v, many = np.arange(30.0), np.arange(20_001.0)
    for words, pair, options in (
        ("one column", (v, np.ones((30, 2)) * v[:, None]), {}),
        ("n_permutations", (v, v), {"n_permutations": 0}),
        ("n_permutations", (many, many), {"n_permutations": 0}),
        ("groups", (v, v), {"groups": np.repeat([0, 1], 15)}),
    ):
        with pytest.raises(OptionError, match=words):
            fd.independence_test(*pair, **options)


@pytest.mark.variant
def test_the_independence_test_with_random_block_signs_keeps_the_false_alarm_rate():
    found = 0
    for seed in range(100):
        rng = np.random.default_rng([3, seed])
        u, v, weight = rng.normal(size=20_500), rng.exponential(size=20_500), rng.uniform(0.1, 1, 20_500)
        blocks, signs = draw_signs(np.arange(20_500), 199, seed)
        values = multiplied_values(u[None], v, blocks, signs, weight=weight)
        found += combined_p(values[0, :, 0])[0] <= 0.05
    # A binomial of 100 and 0.05 exceeds 11 in 0.5 % of cases.
    assert found <= 11


NAMES = np.array(list("abcdefg"))
SHARES = (0.3, 0.25, 0.15, 0.1, 0.08, 0.07, 0.05)


def sample(*, shift: float = 0.0, n: int = 300):
    rng = np.random.default_rng(1)
    code = rng.choice(len(NAMES), n, p=SHARES)
    return rng.exponential(size=n) + shift * (code == 3), code


def found(u: np.ndarray, code: np.ndarray, **more: object) -> bool:
    return fd.independence_test(u, NAMES[code], n_permutations=199, random_state=0, **more).has_link


def test_two_classes_are_tested_as_zero_and_one() -> None:
    u, code = sample(shift=0.3)
    two = np.where(code == 3, "yes", "no")
    assert fd.independence_test(u, two, random_state=0) == fd.independence_test(u, code == 3, random_state=0)


def test_the_independence_test_of_classes_supports_groups_weights_and_many_rows() -> None:
    u, code = sample(shift=0.6, n=25_000)
    test = fd.independence_test(u, NAMES[code], sample_weight=1 + u, random_state=0)
    assert (test.by_multipliers, test.has_link) == (True, True)
    u, code = sample()
    groups = np.repeat(np.arange(300), 3)
    assert not found(np.repeat(u, 3), np.repeat(code, 3), groups=groups)
    assert not found(u, code, sample_weight=1 + (code == 1))


def test_conditional_dependence_detects_a_difference_of_one_class_from_the_rest() -> None:
    u, code = sample(shift=0.6, n=1000)
    factor = (code == 3) + np.random.default_rng(0).normal(size=1000)
    assert assess_conditional_dependence(u, NAMES[code], given=factor).p_value < 0.05
