"""Who pays, and how predictions are spread: sums that add up, groups that are large enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairdash.evaluation import common_grid, densities, merged_groups, transfers_by_group
from fairdash.training.splits import random_splits


@given(seed=st.integers(0, 1000), n=st.integers(60, 400), distinct=st.integers(1, 40), weighted=st.booleans())
def test_money_moved_adds_up_to_the_change_of_the_whole(seed, n, distinct, weighted):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, distinct, n).astype(float)
    weight = rng.uniform(0.1, 2, n) if weighted else None
    splits = random_splits(n, n_splits=3, random_state=seed)
    before, after = ({j: rng.normal(100, 20, n) for j in range(3)} for _ in range(2))
    moved = transfers_by_group(before, after, s, splits, weight=weight)
    each = np.ones(n) if weight is None else weight
    change = np.mean([(each * (after[j] - before[j]))[split.test].sum() for j, split in enumerate(splits)])
    assert moved["total"].sum() == pytest.approx(change)
    assert (moved["per_head"] * moved["heads"]).to_numpy() == pytest.approx(moved["total"].to_numpy())
    assert moved["n"].sum() == pytest.approx(len(splits[0].test))
    assert (moved["s_low"].to_numpy()[1:] > moved["s_high"].to_numpy()[:-1]).all()


@given(st.integers(0, 1000), st.integers(1, 300), st.integers(1, 30), st.integers(2, 20), st.integers(1, 40))
def test_merged_groups_leave_nobody_alone(seed, n, distinct, n_groups, fewest):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, distinct, n).astype(float) ** 2
    parts = [np.flatnonzero(rng.random(n) < 0.6) for _ in range(2)]
    groups = merged_groups(s, parts, n_groups=n_groups, fewest=fewest)
    assert set(groups) == set(range(groups.max() + 1))
    if groups.max() > 0:
        for part in parts:
            assert np.bincount(groups[part], minlength=groups.max() + 1).min() >= fewest
    for value in np.unique(s):
        assert len(set(groups[s == value])) == 1
    assert (np.diff(groups[np.argsort(s, kind="stable")]) >= 0).all()


def test_densities_are_those_of_the_thirds():
    rng = np.random.default_rng(0)
    s = np.repeat([1.0, 2.0, 3.0], 2000)
    values = rng.normal(10 * s, 1.0)
    grid = common_grid(values)
    found = densities(values, s, grid=grid)
    assert found["group"].unique().tolist() == ["low", "middle", "high"]
    for k, (_, own) in enumerate(found.groupby("group", sort=False)):
        assert np.trapezoid(own["density"], own["x"]) == pytest.approx(1, abs=0.02)
        assert own["x"].iloc[own["density"].argmax()] == pytest.approx(10 * (k + 1), abs=1)


def test_no_density_falls_between_the_points_of_the_grid():
    rng = np.random.default_rng(0)
    s = rng.uniform(size=600)
    nearly, spread = 5 + 1e-6 * rng.normal(size=600), rng.normal(5, 1, 600)
    nearly[0] += 0.5  # one row apart: no constant, and still narrower than the grid's step
    grid = common_grid(nearly, spread)
    for values in (nearly, spread, np.full(600, 5.0), np.full(600, grid[:2].mean())):
        found = densities(values, s, grid=grid)
        for _, own in found.groupby("group", sort=False):
            assert own["density"].sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=0.05)
        assert found["is_constant"].all() == (np.ptp(values) == 0)
