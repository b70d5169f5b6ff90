"""One test of several measures: exact by enumeration, blind to no link of the table, and never in a hurry."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest

import fairdash as fd
from benchmarks.hard_links import LINKS
from fairdash.dependence import omnibus
from fairdash.dependence.omnibus import COMPONENTS, draw_signs, least_p, multiplied_values, permuted_values
from fairdash.errors import OptionError


def at_hand(u, v, weight=None):
    """The measures of one pair as it is."""
    return permuted_values(u[None], v, np.empty((0, len(v)), dtype=int), weight=weight)[0, :, 0, 0]


def test_the_least_p_value_is_ranked_among_all_orders():
    # Five orders, two measures. Shares that reach: 2/5 4/5 5/5 1/5 3/5, and 5/5 1/5 2/5 3/5 4/5.
    values = np.array([[3.0, 1, 0, -4, 2], [0, 9, 8, 7, 6]])
    p_value, each = least_p(values)
    assert each.tolist() == [0.4, 1.0]
    # The least ones are .4 .2 .4 .2 .6: four of five are at most .4.
    assert p_value == 0.8
    # Ties count against: all orders alike say nothing, and neither does what differs by rounding.
    assert least_p(np.ones((2, 5)))[0] == 1
    assert least_p(np.array([[1.0, 1 - 1e-6, 0.0, 0.0]]))[0] == 0.5


def test_the_least_p_value_that_orders_can_give_is_said():
    u = np.random.default_rng(0).normal(size=200)
    found = fd.independence_test(u, u + 0.01 * u**2, n_permutations=199, random_state=0)
    assert found.p_value == pytest.approx(found.p_at_best[0]) == 1 / 200
    assert found.p_at_best[1] == 6 / 200


@pytest.mark.parametrize("v", [[0.0, 1, 2, 3, 4], [0.0, 0, 1, 1, 2], [0.0, 0, 0, 1, 1]])
def test_over_all_orders_of_a_tiny_table_every_level_holds_exactly(v):
    """Each of the 120 orders takes its turn as the one at hand: a p-value at most α comes to at most α."""
    u, orders = np.array([[0.3, 1.0, 1.0, 5.0, -2.0]]), np.array(list(itertools.permutations(range(5))))
    values = permuted_values(u, np.array(v), orders)[0, :, 0, 1:]
    found = []
    for first in range(len(orders)):
        turned = values[:, [first, *(k for k in range(len(orders)) if k != first)]]
        found.append(least_p(turned)[0])
    for level in np.unique(found):
        assert np.mean(np.array(found) <= level) <= level + 1e-12


def test_each_order_is_measured_as_the_pair_that_it_makes():
    rng = np.random.default_rng(0)
    u, v, weight = rng.normal(size=(2, 60)), np.round(rng.normal(size=60), 1), rng.exponential(size=60)
    orders = np.array([rng.permutation(60) for _ in range(3)])
    plain, weighted = permuted_values(u, v, orders), permuted_values(u, v, orders, weight=weight)
    assert plain.shape == (1, len(COMPONENTS), 2, 4)
    assert weighted.shape == (2, len(COMPONENTS), 2, 4)
    for k, b in itertools.product(range(2), range(3)):
        order = orders[b]
        assert plain[0, :, k, b + 1] == pytest.approx(at_hand(u[k], v[order]), abs=1e-5)
        assert weighted[0, :, k, b + 1] == pytest.approx(at_hand(u[k], v[order], weight), abs=1e-5)
        assert weighted[1, :, k, b + 1] == pytest.approx(at_hand(u[k], v[order], weight[order]), abs=1e-5)
    assert weighted[0, :, :, 0] == pytest.approx(weighted[1, :, :, 0], abs=1e-5)
    line, trend = plain[0, :2, 0, 0]
    assert line == pytest.approx(fd.measure("pearson", u[0], v), abs=1e-5)
    assert abs(trend - fd.measure("spearman", u[0], v)) < 0.02


def test_scores_say_of_the_order_at_hand_what_permutations_say_and_groups_are_sums():
    rng = np.random.default_rng(1)
    u, v, weight = rng.normal(size=(1, 90)), rng.normal(size=90), rng.exponential(size=90)
    signs = (2 * rng.integers(0, 2, size=(4, 30)) - 1).astype(np.int8)
    blocks = np.repeat(rng.permutation(30), 3)
    for own in (None, weight):
        values = multiplied_values(u, v, blocks, signs, weight=own)
        assert values[0, :, 0, 0] == pytest.approx(at_hand(u[0], v, own), abs=1e-5)
        # All signs alike leave the size of every sum as it is.
        same = multiplied_values(u, v, blocks, -np.ones((1, 30), dtype=np.int8), weight=own)
        assert np.abs(same[0, :, 0, 1]) == pytest.approx(np.abs(same[0, :, 0, 0]), rel=1e-5)
    share = weight / weight.sum()
    x, y = ((each - each.mean()) / each.std() for each in (u[0], v))
    scores = share * (x - share @ x) * (y - share @ y)
    expected = signs @ np.bincount(blocks, scores)
    line = multiplied_values(u, v, blocks, signs, weight=weight)[0, 0, 0, 1:]
    assert line == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", [name for name in LINKS if name != "independent"])
def test_no_link_of_the_table_is_missed(name):
    pairs = [LINKS[name].draw(np.random.default_rng([1, k]), 300) for k in range(12)]
    found = [fd.independence_test(u, v, n_permutations=199, random_state=0).p_value <= 0.05 for u, v in pairs]
    assert sum(found) >= 10


@pytest.mark.parametrize("n_rows", [50, 20_001])
def test_a_constant_has_no_link(n_rows):
    v = np.arange(float(n_rows))
    assert fd.independence_test(np.full(n_rows, 3.0), v, n_permutations=19).p_value == 1
    assert fd.independence_test(v, np.full(n_rows, 3.0), n_permutations=19).p_value == 1
    rounded = np.where(v > n_rows / 2, 0.1 + 0.2, 0.3)
    assert rounded.min() < rounded.max()
    assert fd.independence_test(rounded, v, n_permutations=19).p_value == 1
    assert fd.independence_test(v, rounded, n_permutations=19).p_value == 1


def test_rows_of_weight_0_are_as_good_as_gone():
    rng = np.random.default_rng(3)
    u, v = rng.normal(size=(2, 80))
    weight = np.repeat([1.0, 0.0], 40)
    whole = fd.independence_test(u, v, sample_weight=weight, n_permutations=59, random_state=0)
    kept = fd.independence_test(u[:40], v[:40], sample_weight=np.ones(40), n_permutations=59, random_state=0)
    assert whole == kept
    # Equal weights are none.
    plain = fd.independence_test(u[:40], v[:40], n_permutations=59, random_state=0)
    assert plain.p_value == kept.p_value


def test_rows_of_a_policy_are_no_separate_witnesses():
    alarms = {True: 0, False: 0}
    for k in range(40):
        rng = np.random.default_rng(k)
        policy = np.repeat(np.arange(40), 5)
        u, v = rng.normal(size=(2, 40))[:, policy] + 0.1 * rng.normal(size=(2, 200))
        for exchanged in alarms:
            groups = policy if exchanged else None
            found = fd.independence_test(u, v, groups=groups, n_permutations=99, random_state=k)
            alarms[exchanged] += found.p_value <= 0.05
    assert alarms[True] <= 6  # a binomial of 40 and .05 exceeds it in 0.3 % of cases
    assert alarms[False] >= 30


@pytest.mark.parametrize("depends_on", ["u", "v"])
def test_weights_that_depend_on_one_variable_raise_no_false_alarm(depends_on):
    alarms = 0
    for k in range(60):
        u, v = np.random.default_rng(k).normal(size=(2, 200))
        weight = np.exp(1.5 * {"u": u, "v": v}[depends_on])
        found = fd.independence_test(u, v, sample_weight=weight, n_permutations=99, random_state=k)
        alarms += found.p_value <= 0.05
    assert alarms <= 8  # a binomial of 60 and .05 exceeds it in 0.7 % of cases


def test_what_it_can_not_take_is_refused():
    v = np.arange(30.0)
    with pytest.raises(OptionError, match="one column"):
        fd.independence_test(v, np.ones((30, 2)) * v[:, None])
    with pytest.raises(OptionError, match="n_permutations"):
        fd.independence_test(v, v, n_permutations=0)
    with pytest.raises(OptionError, match="n_permutations"):
        fd.independence_test(np.arange(20_001.0), np.arange(20_001.0), n_permutations=0)
    with pytest.raises(OptionError, match="groups"):
        fd.independence_test(v, v, groups=np.repeat([0, 1], 15))


def test_the_modules_example_holds():
    found = doctest.testmod(omnibus, extraglobs={"fd": fd})
    assert found.attempted > 2
    assert found.failed == 0


@pytest.mark.variant
def test_signs_of_blocks_hold_the_level():
    found = 0
    for seed in range(100):
        rng = np.random.default_rng([3, seed])
        u, v, weight = rng.normal(size=20_500), rng.exponential(size=20_500), rng.uniform(0.1, 1, 20_500)
        blocks, signs = draw_signs(np.arange(20_500), 199, seed)
        values = multiplied_values(u[None], v, blocks, signs, weight=weight)
        found += least_p(values[0, :, 0])[0] <= 0.05
    # Of 100 draws of a share of .05 more than 11 come once in 200 times.
    assert found <= 11
