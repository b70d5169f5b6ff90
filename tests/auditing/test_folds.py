"""What decides a row's fold: never the price, the outcome or a cost, which are predicted from other folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import fairdash as fd
from benchmarks.folds import draw
from fairdash.auditing.plan import columns_of
from fairdash.auditing.table import AuditTable
from tests.auditing.test_audit import policies

ROLES = {"exposure": "years", "outcome": "claims", "expected_cost": "mu", "candidate": "new"}


def table_of(frame: pd.DataFrame, **more) -> AuditTable:
    return AuditTable.of(frame, columns_of("premium", "age", **ROLES, **more))


def tariff(n: int = 1_000, *, distinct: int = 25, seed: int = 0) -> pd.DataFrame:
    frame = draw(np.random.default_rng(seed), n, distinct, exposure=False, ties=True)
    return frame.rename(columns={"price": "premium"}).assign(mu=0.1, new=lambda each: each["premium"] + 1)


@pytest.mark.parametrize("predicted", ["premium", "claims", "mu", "new"])
def test_other_values_of_what_is_predicted_leave_each_row_in_its_fold(predicted):
    frame = policies(400).assign(mu=lambda each: each["premium"] / 2, row=range(400))
    # Exposure and age tell these rows apart.
    frame["years"] += np.linspace(0, 0.5, 400)
    other = frame.assign(**{predicted: np.random.default_rng(1).permutation(frame[predicted])})
    places = [table_of(each, features=("zone", "row")) for each in (frame, other)]
    deals = [pd.Series(each.deal, index=each.features["row"].to_numpy()).sort_index() for each in places]
    pd.testing.assert_series_equal(deals[0], deals[1])


def test_equal_rows_are_dealt_over_all_folds_whatever_their_outcome():
    table = table_of(tariff(4_000, distinct=10), features=("a", "b"))
    fold = table.folds(5)
    claims = table.outcome > 0
    for rows in (claims, ~claims):
        assert chisquare(np.bincount(fold[rows], minlength=5)).pvalue > 1e-3
    equal = pd.DataFrame({"s": table.sensitive, "price": table.price, "claims": table.outcome})
    sizes = equal.assign(fold=fold).groupby(["s", "price", "claims"])["fold"].agg(["size", "nunique"])
    crowded = sizes[sizes["size"] >= 15]
    assert len(crowded) >= 20
    assert (crowded["nunique"] >= 3).all()


def test_numbers_of_units_do_not_hang_on_outcomes():
    frame = tariff()
    assert table_of(frame).n_units == table_of(frame.assign(claims=1.0)).n_units == len(frame)


def test_the_rows_of_a_policy_share_a_fold():
    frame = pd.concat([tariff(300).assign(policy=range(300))] * 3)
    table = table_of(frame, groups="policy", features=("a", "b"))
    assert pd.Series(table.deal).groupby(table.units).nunique().max() == 1
    assert len(np.unique(table.deal)) == 300


def test_the_order_of_rows_is_one_even_where_probabilities_alone_tell_them_apart():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"premium": 100.0, "s": rng.integers(0, 2, 400), "p": rng.uniform(size=400)})
    frame["q"] = 1 - frame["p"]
    columns = columns_of("premium", "s", probabilities=("p", "q"), features=())
    both = (AuditTable.of(each, columns) for each in (frame, frame.sample(frac=1, random_state=1)))
    pd.testing.assert_frame_equal(*(each.probabilities for each in both))


def test_nothing_is_said_of_premiums_where_trees_learn_nothing():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"premium": rng.choice([90.0, 100.0, 110.0], 800), "age": rng.integers(20, 80, 800)})
    frame["zone"], frame["claims"] = rng.choice(["a", "b", "c"], 800), rng.poisson(0.1, 800)
    result = fd.audit(frame, price="premium", sensitive="age", outcome="claims", questions=[8])
    assert "no figures" in result.answers[-1].sentence
    assert not {"premiums", "premium_averages", "premium_curves"} & set(result.tables)
