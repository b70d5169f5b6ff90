"""Rows that belong together are exchanged, resampled and folded as whole groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.grouped_null import policies
from fairdash.dependence import assess_dependence, independence_floor, measure, measure_many
from fairdash.dependence.grouping import Blocks
from fairdash.errors import OptionError


def alarms(id, *, within, grouped, repeats=40):
    options = {"n_permutations": 39, "n_bootstrap": 0}
    drawn = ((k, *policies(k, within=within)) for k in range(repeats))
    found = [
        assess_dependence(id, u, s, groups=policy if grouped else None, random_state=k, **options).p_value
        for k, u, s, policy in drawn
    ]
    return np.mean(np.array(found) <= 0.05)


@pytest.mark.parametrize("within", [0.0, 0.3])
@pytest.mark.parametrize("id", ["pearson", "hgr_rdc"])
def test_row_permutations_cry_wolf_and_group_exchanges_do_not(id, within):
    # Half of the rows' alarms would be a disaster; a binomial of 40 and .05 exceeds 6 in .3 % of cases.
    assert alarms(id, within=within, grouped=False) > 0.25
    assert alarms(id, within=within, grouped=True) <= 0.15


def test_groups_of_one_size_exchange_whole_blocks_in_order():
    groups = np.array([0, 1, 0, 2, 1, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5])
    index = Blocks.of(groups, np.arange(15.0)).draw(np.random.default_rng(1))
    assert sorted(index) == list(range(15))
    assert not np.array_equal(index, np.arange(15))
    rows_of = [tuple(np.flatnonzero(groups == g)) for g in range(6)]
    # Each group got the rows of one group of its size, in the table's order.
    assert {tuple(index[list(rows)]) for rows in rows_of} == set(rows_of)
    # Of groups 0, 1 and 2 alone there are six orders, fewer than twenty: no test at 5 %.
    with pytest.raises(OptionError, match="too few groups"):
        Blocks.of(groups[:6], np.arange(6.0))


def test_groups_of_unlike_sizes_exchange_a_constant_s_with_neighbours():
    sizes = np.arange(1, 61)
    groups = np.repeat(np.arange(60), sizes)
    s = np.random.default_rng(0).normal(size=60)[groups]
    blocks = Blocks.of(groups, s)
    moved = s[blocks.draw(np.random.default_rng(0))]
    assert pd.Series(moved).groupby(groups).nunique().eq(1).all()
    first = pd.Series(moved).groupby(groups).first()
    # Sixty sizes in three strata of twenty groups each, and each value once.
    assert np.bincount(blocks.strata).tolist() == [20, 20, 20]
    assert set(first[:20]) == set(s[np.isin(groups, range(20))])
    assert blocks.exact
    # A column that varies within groups is exchanged with neighbours too: cut off, or begun again.
    rough = Blocks.of(groups, np.arange(float(len(s))))
    assert not rough.exact
    index = rough.draw(np.random.default_rng(0))
    for g in range(60):
        (source,) = set(groups[index[groups == g]])
        own = np.flatnonzero(groups == source)
        assert index[groups == g].tolist() == np.resize(own, sizes[g]).tolist()
    # The short cut of a permutation does not hold here: the floor equals one that starts anew each time.
    u = np.random.default_rng(1).normal(size=len(s))
    floor = independence_floor("spearman", u[None], s, groups=groups, n_permutations=20, random_state=3)
    rng = np.random.default_rng([3, 1])
    slow = [abs(measure("spearman", u, s[blocks.draw(rng)])) for _ in range(20)]
    assert floor.mean[0] == pytest.approx(np.mean(slow))


def test_folds_by_group_do_not_learn_what_a_policy_repeats():
    policy = np.repeat(np.arange(100), 5)
    u, s = np.random.default_rng(0).normal(size=(2, 20, 100))[:, :, policy]
    assert measure_many("hgr_spline", u, s).mean() > 0.3
    assert abs(measure_many("hgr_spline", u, s, groups=policy).mean()) < 0.1
    u, s = u[0], s[0]
    stack = measure_many("hgr_spline", np.stack([u, u + s]), s, groups=policy)
    assert stack[0] == measure("hgr_spline", u, s, groups=policy)
    # What has no folds reads the same.
    for id, options in (("hgr_kde", {}), ("hgr_spline", {"evaluation": "in_sample"})):
        assert measure(id, u, s, groups=policy, **options) == measure(id, u, s, **options)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, 2, 3], "as many groups"), ([1, 1, 1, 1], "one group"), ([1, None, 2, 2], "without a group"),
        ([[1, 2], [3, 4]], "as many groups"),
    ],
)  # fmt: skip
def test_unusable_groups(groups, words):
    with pytest.raises(OptionError, match=words):
        measure("pearson", [1, 2, 3, 4], [1, 3, 2, 4], groups=groups)
