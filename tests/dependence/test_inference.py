"""p-values and intervals with their error rates; rows of a group are exchanged and resampled together."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from benchmarks.grouped_null import policies
from fairdash.dependence import REGISTRY, assess_dependence, independence_floor, measure
from fairdash.dependence.api import Estimator, Pairs
from fairdash.dependence.grouping import Blocks
from fairdash.dependence.inference import permutation_p_value
from fairdash.errors import OptionError
from tests.tiers import few

QUICK = [one.id for one in REGISTRY.values() if one.quick]


def test_ties_with_permuted_values_increase_the_p_value():
    assert permutation_p_value(0.0, [0.0, 0.0, 0.0]) == 1.0
    assert permutation_p_value(1.0, [1.0 - 1e-15, 0.5, 0.2]) == 0.5
    assert permutation_p_value(2.0, [1.0] * 99) == 0.01


@pytest.mark.parametrize("id", few(QUICK, "hgr_spline"))
def test_permutation_tests_of_quick_measures_keep_the_false_alarm_rate(id, is_long):
    """A one-sided 1 % test over all measures: independent samples are rejected in at most 5 % of cases."""
    one, rejected, rng = REGISTRY[id], [], np.random.default_rng(2024)
    # Smooth, rounded, heavy-tailed, zero-inflated and discrete samples in turn.
    shapes = [np.array, np.round, lambda x: np.exp(2 * x), lambda x: np.maximum(x, 0), np.sign]
    for i in range(1000 if is_long else 100):
        u, v = rng.normal(size=(2, 40))
        u, v = shapes[i % 5](u), shapes[(i // 5) % 5](v)
        if one.discrete:
            u, v = np.clip(np.round(u), -1, 1), np.clip(np.round(v), -1, 1)
        orders = np.array(
            [np.arange(40), *(np.random.default_rng([i, b]).permutation(40) for b in range(99))]
        )
        values = Estimator(one, random_state=i).permuted(Pairs(u[None], v[None]), orders)[0]
        values = np.abs(values) if one.signed else values
        rejected.append(permutation_p_value(values[0], values[1:]) <= 0.05)
    assert binom.sf(sum(rejected) - 1, len(rejected), 0.05) > 0.01 / len(QUICK)


def test_assessing_dependent_samples_gives_a_value_interval_floor_and_p_value():
    rng = np.random.default_rng(0)
    u = rng.normal(size=1000)
    v = u**2 + rng.normal(size=1000)
    found = assess_dependence("hgr_spline", u, v, random_state=0)
    assert found.value == pytest.approx(measure("hgr_spline", u, v))
    assert found.in_sample == pytest.approx(measure("hgr_spline", u, v, evaluation="in_sample"))
    assert found.value > found.floor_q95 > found.floor
    assert found.p_value == 1 / 200
    assert not found.bound_only
    assert found.ci_low < found.value < found.ci_high
    assert (found.n, found.n_used, found.subsampled) == (1000, 1000, False)
    assert assess_dependence("hgr_spline", u, v, random_state=0) == found


def test_assessing_independent_samples_gives_an_upper_bound_only():
    u, v = np.random.default_rng(0).normal(size=(2, 300))
    found = assess_dependence("hgr_spline", u, v, random_state=0)
    assert found.bound_only
    assert found.ci_low == 0
    assert found.ci_high > max(found.value, found.in_sample)


@pytest.mark.parametrize("id", QUICK)
def test_every_quick_measure_can_be_assessed(id):
    rng = np.random.default_rng(1)
    u = np.clip(np.round(rng.normal(size=60)), -1, 1)
    found = assess_dependence(id, u, u, n_permutations=39, n_bootstrap=20, random_state=0)
    assert found.p_value == 1 / 40
    assert found.ci_low <= found.ci_high
    constant = assess_dependence(id, u, np.ones(60), n_permutations=9, n_bootstrap=5, random_state=0)
    assert (constant.value, constant.floor, constant.p_value) == (0, 0, 1)


def test_assessments_of_many_rows_use_a_sample_and_report_its_size():
    rng = np.random.default_rng(3)
    u = rng.normal(size=3000)
    found = assess_dependence("pearson", u, u + rng.normal(size=3000), max_rows=500, random_state=0)
    assert (found.n, found.n_used, found.subsampled) == (3000, 500, True)
    assert found.value == pytest.approx(np.sqrt(0.5), abs=0.1)
    whole = assess_dependence("pearson", u, u, max_rows=None, random_state=0, n_permutations=9, n_bootstrap=0)
    assert whole.n_used == 3000
    assert np.isnan(whole.ci_low)


def alarms_of(id, *, within, grouped, repeats=40):
    options = {"n_permutations": 39, "n_bootstrap": 0}
    drawn = ((k, *policies(k, within=within)) for k in range(repeats))
    found = [
        assess_dependence(id, u, s, groups=policy if grouped else None, random_state=k, **options).p_value
        for k, u, s, policy in drawn
    ]
    return np.mean(np.array(found) <= 0.05)


@pytest.mark.parametrize("within", [0.0, 0.3])
@pytest.mark.parametrize("id", ["pearson", "hgr_rdc"])
def test_for_grouped_data_only_permutations_of_whole_groups_keep_the_false_alarm_rate(id, within):
    # Permuting single rows rejects far too often; a binomial of 40 and 0.05 exceeds 6 in 0.3 % of cases.
    assert alarms_of(id, within=within, grouped=False) > 0.25
    assert alarms_of(id, within=within, grouped=True) <= 0.15


def test_groups_of_equal_size_are_permuted_as_blocks_with_row_order_kept():
    groups = np.array([0, 1, 0, 2, 1, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5])
    index = Blocks.of(groups, np.arange(15.0)).draw(np.random.default_rng(1))
    assert sorted(index) == list(range(15))
    assert not np.array_equal(index, np.arange(15))
    rows_of = [tuple(np.flatnonzero(groups == g)) for g in range(6)]
    # Each group received the rows of one group of its size, in the order of the table.
    assert {tuple(index[list(rows)]) for rows in rows_of} == set(rows_of)
    # Three groups have only six orders, fewer than the twenty that a 5 % test needs.
    with pytest.raises(OptionError, match="too few groups"):
        Blocks.of(groups[:6], np.arange(6.0))


def test_groups_of_unequal_size_exchange_attribute_values_with_groups_of_similar_size():
    sizes = np.arange(1, 61)
    groups = np.repeat(np.arange(60), sizes)
    s = np.random.default_rng(0).normal(size=60)[groups]
    blocks = Blocks.of(groups, s)
    moved = s[blocks.draw(np.random.default_rng(0))]
    assert pd.Series(moved).groupby(groups).nunique().eq(1).all()
    first = pd.Series(moved).groupby(groups).first()
    # Sixty group sizes form three strata of twenty groups, and each value occurs once.
    assert np.bincount(blocks.strata).tolist() == [20, 20, 20]
    assert set(first[:20]) == set(s[np.isin(groups, range(20))])
    assert blocks.exact
    # A column that varies within groups is exchanged between neighbours too, cut off or repeated to the
    # group's length.
    rough = Blocks.of(groups, np.arange(float(len(s))))
    assert not rough.exact
    index = rough.draw(np.random.default_rng(0))
    for g in range(60):
        (source,) = set(groups[index[groups == g]])
        own = np.flatnonzero(groups == source)
        assert index[groups == g].tolist() == np.resize(own, sizes[g]).tolist()
    # The fast path for permutations does not apply here: the floor equals one that computes each permutation
    # anew.
    u = np.random.default_rng(1).normal(size=len(s))
    floor = independence_floor("spearman", u[None], s, groups=groups, n_permutations=20, random_state=3)
    rng = np.random.default_rng([3, 1])
    slow = [abs(measure("spearman", u, s[blocks.draw(rng)])) for _ in range(20)]
    assert floor.mean[0] == pytest.approx(np.mean(slow))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, 2, 3], "differ in number"), ([1, 1, 1, 1], "one group"), ([1, None, 2, 2], "without a group"),
        ([[1, 2], [3, 4]], "differ in number"),
    ],
)  # fmt: skip
def test_unusable_groups_are_refused(groups, words):
    with pytest.raises(OptionError, match=words):
        measure("pearson", [1, 2, 3, 4], [1, 3, 2, 4], groups=groups)
