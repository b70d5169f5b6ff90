"""Sufficiency asks what follows s at a given price, and not how high prices are; claims of many criteria."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_poisson_deviance

import fairdash as fd
from benchmarks.audit_sufficiency import DELTA, PRICES, sample, summary, verdicts
from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.gaps import largest_gap
from fairdash.auditing.plan import Columns
from fairdash.auditing.questions.sufficiency import bias_surface
from fairdash.auditing.table import AuditTable
from fairdash.errors import DataError
from fairdash.evaluation.insurance import murphy
from tests.tiers import few

SEEDS = 6


def table_of(frame: pd.DataFrame) -> AuditTable:
    return AuditTable.of(frame, Columns(price="price", sensitive="s", outcome="cost"))


@pytest.mark.parametrize("price", few(PRICES, "price = μ", "compressed"))
def test_a_loaded_or_compressed_price_hides_no_link_and_makes_none(price):
    none, planted = (summary(price, each, SEEDS) for each in ("none", "± 20 %"))
    assert none["sufficiency_above"] == none["residuals_above"] == 0
    assert none["sufficiency_found"] <= 2
    assert planted["sufficiency_above"] >= SEEDS - 2
    assert planted["sufficiency_value"] == pytest.approx(0.2, abs=0.03)
    assert (none["autocalibration_found"] >= SEEDS - 2) == (price == "compressed")


def test_a_loading_changes_nothing_but_the_price():
    frame = sample(PRICES["price = μ"], planted="± 20 %", seed=0)
    loaded = verdicts(frame.assign(price=1.4 * frame["price"]))
    assert loaded == pytest.approx(verdicts(frame), nan_ok=True)


def test_a_capped_price_that_s_drives_is_not_taken_for_a_bias():
    # Prices level off, so that within a band E[Y|p] bends; at a given price s says next to nothing more.
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(9000 + seed)
        s = rng.normal(size=3000)
        mu = 100 * np.exp(0.4 * (0.95 * s + np.sqrt(1 - 0.95**2) * rng.normal(size=3000)) - 0.08)
        price = 100 + 50 * np.tanh((mu - 100) / 50)
        table = table_of(pd.DataFrame({"price": price, "s": s, "cost": mu * rng.gamma(4, 0.25, 3000)}))
        found += bias_surface(table, DELTA * table.mean_price).p_value <= 0.05
    # Of 10 at most so many by chance, in 1 of 1,000.
    assert found <= 3


def test_the_audit_says_level_and_autocalibration_apart():
    frame = sample(PRICES["compressed"], planted="none", seed=1).assign(price=lambda f: 1.25 * f["price"])
    result = fd.audit(frame, price="price", sensitive="s", outcome="cost", questions=(1, 5))
    measures = result.measures.set_index("measure")
    ratio = frame["cost"].sum() / frame["price"].sum()
    assert measures.loc["loss_ratio", "value"] == pytest.approx(ratio)
    assert measures.loc["autocalibration", "ci_low"] > 0.05
    verdict = result.verdicts.set_index("criterion")["verdict"]
    assert "above" not in (verdict["sufficiency"], verdict["equalized_residuals"])
    for part in ("Among customers who pay the same", f"Cost is {100 * ratio:.1f} % of the price",
                 "Low prices are too high and high prices too low"):  # fmt: skip
        assert part in result.answers[-1].text


def test_murphys_parts_add_up_and_are_scikit_learns():
    rng = np.random.default_rng(0)
    mu, weight = rng.gamma(2, 0.1, 4000), rng.uniform(0.2, 1, 4000)
    cost = rng.poisson(mu * weight) / weight
    found = murphy(mu, cost, weight).set_index("score")
    parts = found["miscalibration"] - found["discrimination"] + found["uncertainty"]
    np.testing.assert_allclose(parts, found["value"])
    expected = mean_poisson_deviance(cost, mu, sample_weight=weight)
    assert found.loc["poisson", "value"] == pytest.approx(expected)
    # The price is right, so that what chance adds is all of its miscalibration.
    assert 0 <= found.loc["poisson", "miscalibration"] < 0.02 * expected
    assert murphy(0.5 * mu, cost, weight)["miscalibration"][0] > found["miscalibration"].iloc[0]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("cost", "more", "says"),
    [
        ("price", {}, "the price is the outcome"), ("0.8 * price + 5", {}, "the price is the outcome"),
        ("floor(100 * price) / 100", {}, "the price is the outcome"),
        ("second", {"candidate": "second"}, "linear function of “second”"), ("0 * price", {}, "adds up to 0"),
    ],
)  # fmt: skip
def test_a_price_that_is_the_outcome_and_costs_of_nothing_are_refused(cost, more, says):
    frame = sample(PRICES["price = μ"], planted="none", seed=0).assign(second=lambda each: each["cost"])
    frame["cost"] = frame.eval(cost)
    with pytest.raises(DataError, match=says):
        fd.audit(frame, price="price", sensitive="s", outcome="cost", **more)


def test_what_is_nearly_a_copy_of_the_price_is_no_fault():
    frame = sample(PRICES["price = μ"], planted="none", seed=0)
    frame["cost"] = frame["price"].where(frame.index >= 5, 2 * frame["price"])
    result = fd.audit(frame, price="price", sensitive="s", outcome="cost", questions=(5,))
    assert result.verdicts.set_index("criterion").loc["sufficiency", "verdict"] == "below"


@pytest.mark.variant
def test_the_claim_above_is_made_at_its_level_where_the_gap_is_the_threshold():
    # Straight lines whose gap, between the tails' means, is δ.
    p = []
    for seed in range(200):
        rng = np.random.default_rng(1000 + seed)
        s = rng.uniform(size=600)
        price = 100 * (1 + DELTA / 0.95 * (s - 0.5) + 0.1 * rng.normal(size=600))
        table = table_of(pd.DataFrame({"price": price, "s": s, "cost": 1.0}))
        p.append(largest_gap(fit_curve(table.price, table, basis_of(table)), DELTA * 100)[0].p_above)
    for level in (0.05, 0.2):
        # Of 200 at most so many by chance, in 1 of 1,000.
        assert np.mean(np.array(p) <= level) <= level + 3.1 * np.sqrt(level * (1 - level) / 200)
