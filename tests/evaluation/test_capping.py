"""What a cap costs: figures of test rows before and after it, each as its own definition has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_poisson_deviance

import fairdash as fd
from fairdash.errors import DataError
from fairdash.evaluation import cap_cost
from fairdash.evaluation.capping import AFTER, BEFORE
from fairdash.training.splits import random_splits
from tests.data.tables import dataset_of


def portfolio(n=1200, seed=1):
    """Policies with a price that follows age, what two splits' tariffs ask, and the splits."""
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


def test_every_figure_is_that_of_test_rows_before_and_after():
    dataset, premiums, splits = portfolio()
    hidden = premiums.copy()
    for j, split in enumerate(splits):
        # No other row is looked at.
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
    # Held to a price that follows age, what did not follow it does; and nobody is beyond the cap any more.
    assert table.loc[BEFORE, "changed"] > 0.4
    assert table.loc[AFTER, "changed"] == 0
    assert table.loc[AFTER, "dependence"] > table.loc[BEFORE, "dependence"] + 0.3
    assert table.loc[BEFORE, "gap"] == pytest.approx(table.loc[BEFORE, "gap_floor"], rel=0.3)
    assert table.loc[AFTER, "gap"] > 1.5 * table.loc[AFTER, "gap_floor"]
    assert table.loc[AFTER, ["at_lower", "at_upper"]].sum() > 0.4
    assert np.isnan(table.loc[BEFORE, "level"])


def test_a_cap_that_nobody_reaches_costs_nothing():
    dataset, premiums, splits = portfolio(400)
    table = cap_cost(dataset, premiums, splits, max_change=50, n_permutations=20)
    names = ["error", "gap", "gap_floor", "dependence", "floor", "changed"]
    assert table.loc[BEFORE, names].tolist() == table.loc[AFTER, names].tolist()
    assert table.loc[AFTER, ["level", "at_lower", "at_upper"]].tolist() == [1, 0, 0]


def test_what_has_no_change_is_refused():
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
