"""Results of the audit compared with hand-worked examples, scikit-learn and simulated cases.

Sufficiency compares costs along s at equal prices, whatever the level of the prices.
"""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import auc, mean_poisson_deviance

import fairdash as fd
from benchmarks.audit_sufficiency import DELTA, PRICES, sample, summary, verdicts
from fairdash.auditing import gaps
from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.gaps import Estimate, holm, largest_gap
from fairdash.auditing.plan import Columns
from fairdash.auditing.questions.decomposition import in_words
from fairdash.auditing.table import AuditTable
from fairdash.errors import DataError
from fairdash.evaluation import insurance
from fairdash.evaluation.insurance import gini, lorenz, murphy
from fairdash.utils import text
from tests.tiers import few


@pytest.mark.parametrize("module", [gaps, insurance, text])
def test_docstring_examples_of_the_audit_modules_give_the_printed_results(module):
    assert doctest.testmod(module).failed == 0


def test_lorenz_curve_and_gini_equal_those_of_the_scikit_learn_example():
    rng = np.random.default_rng(0)
    price, outcome, weight = rng.gamma(2, 1, 500), rng.gamma(1, 1, 500), rng.uniform(0.2, 1, 500)
    order = np.argsort(price)
    # Lorenz curve, with the origin, from scikit-learn's example "Tweedie regression on insurance claims".
    paid = np.append(0, np.cumsum((outcome * weight)[order]) / (outcome * weight).sum())
    held = np.append(0, np.cumsum(weight[order]) / weight.sum())
    curve = lorenz(price, outcome, weight)
    assert_allclose(curve["outcome"], paid)
    assert_allclose(curve["exposure"], held)
    assert gini(price, outcome, weight) == pytest.approx(1 - 2 * auc(held, paid))
    assert gini(np.ones(500), outcome, weight) == pytest.approx(0)


def test_holm_correction_equals_a_hand_calculation():
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def within_one(value: float) -> Estimate:
    return Estimate(value=value, ci_low=value - 1, ci_high=value + 1)


@pytest.mark.parametrize(("gap", "cost", "words"), [
    (10, 7, "10.0 % (9.0 % to 11.0 %) of the mean price. Expected cost would justify a change of 7.0 % (6.0 % to 8.0 %). "
     "The difference, 3.0 % (2.0 % to 4.0 %), is unexplained."),
    (10, 9.5, "a change of 9.5 % (8.5 % to 10.5 %). The difference, 0.5 % (-0.5 % to 1.5 %), is unexplained, which may be noise."),
    (10, 15, "Expected cost changes even more, by 15.0 % (14.0 % to 16.0 %). The difference is 5.0 % (4.0 % to 6.0 %)."),
    # Between fixed points the price may also fall.
    (-10, -7, "a change of -7.0 % (-8.0 % to -6.0 %). The difference, -3.0 % (-4.0 % to -2.0 %), is unexplained."),
    (-10, -15, "changes even more, by -15.0 % (-16.0 % to -14.0 %). The difference is 5.0 % (4.0 % to 6.0 %)."),
    (10, -5, "a change of -5.0 % (-6.0 % to -4.0 %). The difference, 15.0 % (14.0 % to 16.0 %), is unexplained."),
])  # fmt: skip
def test_the_gap_sentence_is_worded_correctly_when_cost_changes_by_more_than_the_price(gap, cost, words):
    parts = {"gap": within_one(gap), "earned": within_one(cost), "left": within_one(gap - cost)}
    said = in_words(parts, [(20.0, 60.0)], 100.0, "age")
    assert said.startswith("From “age” 20 to 60 (its 10th and 90th percentile) the price changes by ")
    assert said.endswith(words)


SEEDS = 6


@pytest.mark.parametrize("price", few(PRICES, "price = μ", "compressed"))
def test_scaling_or_compressing_prices_neither_hides_nor_creates_a_gap_in_sufficiency(price):
    none, planted = (summary(price, each, SEEDS) for each in ("none", "± 20 %"))
    assert none["sufficiency_above"] == none["residuals_above"] == 0
    assert none["sufficiency_found"] <= 2
    assert planted["sufficiency_above"] >= SEEDS - 2
    assert planted["sufficiency_value"] == pytest.approx(0.2, abs=0.03)
    assert (none["autocalibration_found"] >= SEEDS - 2) == (price == "compressed")


def test_multiplying_all_prices_by_a_constant_does_not_change_the_verdicts():
    frame = sample(PRICES["price = μ"], planted="± 20 %", seed=0)
    loaded = verdicts(frame.assign(price=1.4 * frame["price"]))
    assert loaded == pytest.approx(verdicts(frame), nan_ok=True)


def test_the_murphy_decomposition_adds_up_to_the_deviance_of_scikit_learn():
    rng = np.random.default_rng(0)
    mu, weight = rng.gamma(2, 0.1, 4000), rng.uniform(0.2, 1, 4000)
    cost = rng.poisson(mu * weight) / weight
    found = murphy(mu, cost, weight).set_index("score")
    parts = found["miscalibration"] - found["discrimination"] + found["uncertainty"]
    np.testing.assert_allclose(parts, found["value"])
    expected = mean_poisson_deviance(cost, mu, sample_weight=weight)
    assert found.loc["poisson", "value"] == pytest.approx(expected)
    # The price equals the expected cost, so all measured miscalibration is sampling error.
    assert 0 <= found.loc["poisson", "miscalibration"] < 0.02 * expected
    assert murphy(0.5 * mu, cost, weight)["miscalibration"][0] > found["miscalibration"].iloc[0]


@pytest.mark.every_case
@pytest.mark.parametrize(("cost", "more", "says"), [
    ("price", {}, "the price is the outcome"), ("0.8 * price + 5", {}, "the price is the outcome"),
    ("floor(100 * price) / 100", {}, "the price is the outcome"),
    ("second", {"candidate": "second"}, "linear function of “second”"), ("0 * price", {}, "adds up to 0"),
])  # fmt: skip
def test_a_price_equal_to_the_outcome_and_a_total_cost_of_zero_are_refused(cost, more, says):
    frame = sample(PRICES["price = μ"], planted="none", seed=0).assign(second=lambda each: each["cost"])
    frame["cost"] = frame.eval(cost)
    with pytest.raises(DataError, match=says):
        fd.audit(frame, price="price", sensitive="s", outcome="cost", **more)


def test_an_outcome_that_nearly_copies_the_price_is_accepted():
    frame = sample(PRICES["price = μ"], planted="none", seed=0)
    frame["cost"] = frame["price"].where(frame.index >= 5, 2 * frame["price"])
    result = fd.audit(frame, price="price", sensitive="s", outcome="cost", questions=(5,))
    assert result.verdicts.set_index("criterion").loc["sufficiency", "verdict"] == "below"


@pytest.mark.variant
def test_the_test_for_a_gap_above_the_threshold_keeps_its_level_if_the_gap_is_at_the_threshold():
    # Linear prices whose largest gap, between the means of both tails, equals δ.
    p = []
    for seed in range(200):
        rng = np.random.default_rng(1000 + seed)
        s = rng.uniform(size=600)
        price = 100 * (1 + DELTA / 0.95 * (s - 0.5) + 0.1 * rng.normal(size=600))
        frame = pd.DataFrame({"price": price, "s": s, "cost": 1.0})
        table = AuditTable.of(frame, Columns(price="price", sensitive="s", outcome="cost"))
        p.append(largest_gap(fit_curve(table.price, table, basis_of(table)), DELTA * 100)[0].p_above)
    for level in (0.05, 0.2):
        # With 200 samples, chance exceeds this limit in 1 of 1,000 cases.
        assert np.mean(np.array(p) <= level) <= level + 3.1 * np.sqrt(level * (1 - level) / 200)
