"""Rows of one policy count as one wherever intervals, limits and draws are made."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from fairdash.dependence.classical import rank_link
from fairdash.evaluation import blended_profiles, group_averages, quantile_profile
from fairdash.evaluation.classes import by_probability, calibration
from fairdash.tables.leak_candidates import find_suspects
from fairdash.training.splits import Split

TIMES = 4


def test_averages_of_repeated_rows_have_the_intervals_of_single_ones():
    rng = np.random.default_rng(0)
    y, s, weight = rng.normal(size=600), rng.integers(0, 60, 600).astype(float), rng.integers(1, 4, 600) / 2
    policy = np.repeat(np.arange(600), TIMES)
    single = group_averages(y, s, weight=weight)
    repeated = group_averages(y[policy], s[policy], weight=weight[policy], units=policy)
    columns = ["mean", "error", "low", "high"]
    assert_allclose(repeated[columns], single[columns])
    alone = group_averages(y[policy], s[policy], weight=weight[policy])
    assert_allclose(alone["error"], single["error"] / np.sqrt(TIMES), rtol=0.05)


def test_blends_have_the_intervals_of_their_profiles_with_policies():
    rng = np.random.default_rng(1)
    policy, values = np.repeat(np.arange(150), TIMES), rng.normal(size=(2, 2, 600))
    rows = np.arange(600)
    splits = [Split(train=rows[:300], test=rows[300:]), Split(train=rows[300:], test=rows[:300])]
    groups = rng.integers(0, 5, 600)
    by = {"groups": groups, "units": policy}
    _, low, high = blended_profiles(*values, np.array([0.3]), splits, **by)
    profile = quantile_profile(0.7 * values[0] + 0.3 * values[1], groups.astype(float), splits, **by)
    assert_allclose([low[0], high[0]], profile[["low", "high"]].T)


def test_a_rank_correlation_of_independent_policies_stays_within_its_limit():
    rng, beyond = np.random.default_rng(2), {True: 0, False: 0}
    policy = np.repeat(np.arange(100), 5)
    for _ in range(200):
        u, v = rng.normal(size=(2, 100))[:, policy] + 0.1 * rng.normal(size=(2, 500))
        for counted in beyond:
            found = rank_link(u, v, units=policy if counted else None)
            beyond[counted] += abs(found.value) > found.stays_within
    assert beyond[True] <= 20
    assert beyond[False] >= 50


def test_probabilities_that_are_known_by_policy_are_no_surer_by_their_rows():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.1, 0.9, 400)
    known = (rng.random(400) < p**1.3).astype(int)
    p, y = np.column_stack([1 - p, p]), rng.normal(100, 10, 400)
    policy = np.repeat(np.arange(400), TIMES)
    once = calibration(p, known, ("a", "b"))["p_value"][0]
    rows = calibration(p[policy], known[policy], ("a", "b"))["p_value"][0]
    counted = calibration(p[policy], known[policy], ("a", "b"), policy)["p_value"][0]
    assert rows < once**3
    assert 0.3 * once < counted < 3 * once
    policy = policy[policy < 100]
    given = {"known": known[policy], "random_state": 0}
    found = [by_probability(y[policy], p[policy], ("a", "b"), None, each, **given) for each in (None, policy)]
    by_rows, by_policies = (each["bound_high"][0] - each["bound_low"][0] for each in found)
    assert by_policies > by_rows


def test_a_column_that_knows_policies_is_suspect_only_where_they_are_parted():
    rng = np.random.default_rng(4)
    policy = np.repeat(np.arange(20), 30)
    effect, number = rng.normal(size=(2, 20))[:, policy]
    frame = pd.DataFrame({"policy": policy, "number": number, "y": effect + 0.05 * rng.normal(size=600)})
    (found,) = find_suspects(frame, "y", ["number"])
    assert found.column == "number"
    assert find_suspects(frame, "y", ["number"], group="policy") == ()
