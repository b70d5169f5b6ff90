"""Transfers between groups, the spread of predictions, and the cost of a cap on premium changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_poisson_deviance

import fairdash as fd
from fairdash.errors import DataError
from fairdash.evaluation import cap_cost, common_grid, densities, merged_groups, transfers_by_group
from fairdash.evaluation.capping import AFTER, BEFORE
from fairdash.training.splits import random_splits
from tests.data.tables import dataset_of


@given(seed=st.integers(0, 1000), n=st.integers(60, 400), distinct=st.integers(1, 40), weighted=st.booleans())
def test_transfers_by_group_add_up_to_the_total_change(seed, n, distinct, weighted):
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
def test_merged_groups_have_enough_rows(seed, n, distinct, n_groups, fewest):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, distinct, n).astype(float) ** 2
    parts = [np.flatnonzero(rng.random(n) < 0.6) for _ in range(2)]
    groups = merged_groups(s, parts, n_groups=n_groups, min_rows=fewest)
    assert set(groups) == set(range(groups.max() + 1))
    if groups.max() > 0:
        for part in parts:
            assert np.bincount(groups[part], minlength=groups.max() + 1).min() >= fewest
    for value in np.unique(s):
        assert len(set(groups[s == value])) == 1
    assert (np.diff(groups[np.argsort(s, kind="stable")]) >= 0).all()


def test_densities_of_each_third_of_the_attribute_integrate_to_one():
    rng = np.random.default_rng(0)
    s = np.repeat([1.0, 2.0, 3.0], 2000)
    values = rng.normal(10 * s, 1.0)
    grid = common_grid(values)
    found = densities(values, s, grid=grid)
    assert found["group"].unique().tolist() == ["low", "middle", "high"]
    for k, (_, own) in enumerate(found.groupby("group", sort=False)):
        assert np.trapezoid(own["density"], own["x"]) == pytest.approx(1, abs=0.02)
        assert own["x"].iloc[own["density"].argmax()] == pytest.approx(10 * (k + 1), abs=1)
    # The same holds for groups whose values are narrower than the step of the grid.
    s = rng.uniform(size=600)
    nearly, spread = 5 + 1e-6 * rng.normal(size=600), rng.normal(5, 1, 600)
    nearly[0] += (
        0.5  # one row differs: the values are not constant, and still narrower than the step of the grid
    )
    grid = common_grid(nearly, spread)
    for values in (nearly, spread, np.full(600, 5.0), np.full(600, grid[:2].mean())):
        found = densities(values, s, grid=grid)
        for _, own in found.groupby("group", sort=False):
            assert own["density"].sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=0.05)
        assert found["is_constant"].all() == (np.ptp(values) == 0)


def portfolio(n=1200, seed=1):
    """Policies with a price that depends on age, the premiums of two splits' tariffs, and the splits."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 80, size=n)
    risk = rng.gamma(4, 0.25, size=n)
    years = rng.uniform(0.2, 1, size=n)
    price = 0.5 * risk * np.exp((age - 50) / 40)
    claims, more = rng.poisson(0.3 * risk * years) / years, {"weight": {"years": years}}
    dataset = dataset_of(
        {"risk": risk}, {"claims": claims}, {"age": age}, prediction={"price": price}, **more
    )
    splits = random_splits(n, n_splits=2, random_state=0)
    premiums = np.stack([0.3 * risk * rng.lognormal(0, 0.05, size=n) for _ in splits])
    return dataset, premiums, splits


def test_the_cost_of_a_cap_compares_test_rows_before_and_after_capping():
    dataset, premiums, splits = portfolio()
    hidden = premiums.copy()
    for j, split in enumerate(splits):
        # The function must not use any other row.
        hidden[j, np.setdiff1d(np.arange(dataset.n_rows), split.test)] = np.nan
    table = cap_cost(dataset, hidden, splits, max_change=0.15, n_permutations=20)
    assert table.index.tolist() == [BEFORE, AFTER]
    y, w, s = (each.to_numpy() for each in (dataset.target, dataset.weight, dataset.sensitive["age"]))
    today = dataset.prediction.to_numpy()
    found = {BEFORE: [], AFTER: []}
    for j, split in enumerate(splits):
        rows = split.test
        brought = today[rows] * (w[rows] @ premiums[j, rows]) / (w[rows] @ today[rows])
        capped = fd.cap_premiums(premiums[j, rows], brought, max_change=0.15, sample_weight=w[rows])
        flat = np.full(len(rows), np.average(y[split.train], weights=w[split.train]))
        for name, each in ((BEFORE, premiums[j, rows]), (AFTER, capped.premiums)):
            deviances = [mean_poisson_deviance(y[rows], p, sample_weight=w[rows]) for p in (each, flat)]
            beyond = np.abs(each / brought - 1) > 0.15 + 1e-9
            link = fd.measure("hgr_spline", each, s[rows], sample_weight=w[rows])
            found[name].append([deviances[0] / deviances[1], link, np.average(beyond, weights=w[rows])])
    for name in (BEFORE, AFTER):
        own = table.loc[name, ["error", "dependence", "changed"]]
        assert own.tolist() == pytest.approx(np.mean(found[name], axis=0), rel=1e-9)
        assert 0 < table.loc[name, "floor"] < 0.5
    # A cap around a price that depends on age makes premiums depend on age; no premium change exceeds the cap
    # afterwards.
    assert table.loc[BEFORE, "changed"] > 0.4
    assert table.loc[AFTER, "changed"] == 0
    assert table.loc[AFTER, "dependence"] > table.loc[BEFORE, "dependence"] + 0.3
    assert table.loc[BEFORE, "gap"] == pytest.approx(table.loc[BEFORE, "gap_floor"], rel=0.3)
    assert table.loc[AFTER, "gap"] > 1.5 * table.loc[AFTER, "gap_floor"]
    assert table.loc[AFTER, ["at_lower", "at_upper"]].sum() > 0.4
    assert np.isnan(table.loc[BEFORE, "level"])


def test_a_cap_that_limits_no_premium_has_no_cost():
    dataset, premiums, splits = portfolio(400)
    table = cap_cost(dataset, premiums, splits, max_change=50, n_permutations=20)
    names = ["error", "gap", "gap_floor", "dependence", "floor", "changed"]
    assert table.loc[BEFORE, names].tolist() == table.loc[AFTER, names].tolist()
    assert table.loc[AFTER, ["level", "at_lower", "at_upper"]].tolist() == [1, 0, 0]


def test_a_cap_is_refused_without_positive_existing_prices_and_premiums():
    dataset, premiums, splits = portfolio(400)
    first = splits[0].test[0]
    wrong = dataset.prediction.where(np.arange(400) != first, 0.0)
    for price, asked, says in (
        (None, premiums, "There is no existing price"),
        (wrong, premiums, rf"“price”: today's price is not above 0 in row {first + 1}\."),
        (dataset.prediction, -premiums, "premium is not above 0"),
    ):
        with pytest.raises(DataError, match=says):
            cap_cost(replace(dataset, prediction=price), asked, splits, max_change=0.1)
