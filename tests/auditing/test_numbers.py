"""Numbers of the audit against hand-worked examples, scikit-learn, and planted cases."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import auc

from fairdash.auditing import gaps
from fairdash.auditing.audit import carry_out
from fairdash.auditing.gaps import Estimate, holm
from fairdash.auditing.plan import AuditPlan, columns_of
from fairdash.auditing.questions.decomposition import controlled_curve, in_words
from fairdash.auditing.questions.sufficiency import actual_to_expected
from fairdash.auditing.table import AuditTable
from fairdash.evaluation import insurance
from fairdash.evaluation.insurance import double_lift, gini, lorenz
from fairdash.utils import text
from tests.tiers import few


@pytest.mark.parametrize("module", [gaps, insurance, text])
def test_examples_hold(module):
    assert doctest.testmod(module).failed == 0


def test_lorenz_and_gini_are_those_of_scikit_learns_example():
    rng = np.random.default_rng(0)
    price, outcome, weight = rng.gamma(2, 1, 500), rng.gamma(1, 1, 500), rng.uniform(0.2, 1, 500)
    order = np.argsort(price)
    # scikit-learn, "Tweedie regression on insurance claims": lorenz_curve, with the origin.
    paid = np.append(0, np.cumsum((outcome * weight)[order]) / (outcome * weight).sum())
    held = np.append(0, np.cumsum(weight[order]) / weight.sum())
    curve = lorenz(price, outcome, weight)
    assert_allclose(curve["outcome"], paid)
    assert_allclose(curve["exposure"], held)
    assert gini(price, outcome, weight) == pytest.approx(1 - 2 * auc(held, paid))
    assert gini(np.ones(500), outcome, weight) == pytest.approx(0)


def test_actual_to_expected_by_hand():
    n = 200
    frame = pd.DataFrame({"p": np.tile([1.0, 2.0], n // 2), "s": np.repeat([1.0, 2.0], n // 2)})
    frame["y"] = frame["p"] * frame["s"] * np.tile([0.5, 0.5, 1.5, 1.5], n // 4)
    table = AuditTable.of(frame, columns_of("p", "s", outcome="y"))
    found = actual_to_expected(table, n_bands=2)
    assert_allclose(found["ratio"], [1, 2])
    assert_allclose(found["rows"], 100)
    # Σ (Y − ratio π)² = 100 × (.25 × 2.5) and Σ π = 150; twice that in the second band.
    error = 1.959964 * np.sqrt(62.5) / 150
    assert_allclose(found["ci_high"] - found["ratio"], [error, 2 * error], rtol=1e-5)


def test_double_lift_by_hand():
    price, candidate = np.ones(40), np.repeat([0.5, 1.5], 20)
    found = double_lift(price, candidate, candidate, np.ones(40), n_bands=2)
    bands = found[["price", "candidate", "outcome", "ratio_high"]]
    assert_allclose(bands, [[1, 0.5, 0.5, 0.5], [1, 1.5, 1.5, 1.5]])


def test_holm_by_hand():
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_factors_that_act_together_are_taken_out_together():
    rng = np.random.default_rng(0)
    c, d, noise = rng.normal(size=(3, 3000))
    z = 0.5 * c + 0.4 * d + 0.77 * noise
    price = (1 + 0.1 * c + 0.1 * d + 0.15 * c * d) * (1 + 0.1 * rng.normal(size=3000))
    frame = pd.DataFrame({"p": price, "s": z, "c": c, "d": d})
    plan = AuditPlan(columns=columns_of("p", "s", controls=["c", "d"]), questions=(4,), max_gap=0.08)
    found = carry_out(frame, plan).verdicts.set_index("criterion")["verdict"]
    assert found[["independence", "conditional_independence"]].tolist() == ["above", "below"]


@pytest.mark.parametrize("factors", few([("bonus",), ("bonus", "zone")], ("bonus",)))
def test_the_curve_among_equals_is_that_of_rows_repeated_by_integer_weights(factors):
    rng = np.random.default_rng(7)
    s, zone = rng.normal(size=1200), rng.choice(["city", "land"], 1200)
    frame = pd.DataFrame({"p": 3 + 0.2 * s + rng.normal(size=1200), "s": s, "zone": zone})
    frame["bonus"], frame["w"] = 0.5 * s + rng.normal(size=1200), rng.integers(1, 4, 1200).astype(float)
    frame["policy"] = range(1200)
    repeated = frame.loc[frame.index.repeat(frame["w"].astype(int))].assign(w=1.0)
    columns = columns_of("p", "s", exposure="w", controls=factors, groups="policy")
    once, again = (
        controlled_curve(table, factors)[1].values
        for table in (AuditTable.of(each, columns) for each in (frame, repeated))
    )
    # A tree may cut a leaf otherwise where weights add up in another order.
    assert_allclose(again, once, atol=1e-6 if len(factors) == 1 else 2e-3 * np.ptp(once))


def within_one(value: float) -> Estimate:
    return Estimate(value=value, ci_low=value - 1, ci_high=value + 1)


@pytest.mark.parametrize(
    ("gap", "cost", "words"),
    [
        (10, 7, "10.0 % (9.0 % to 11.0 %) of the mean price. Expected cost would justify a change of 7.0 % (6.0 % to 8.0 %). "
         "The difference, 3.0 % (2.0 % to 4.0 %), is unexplained."),
        (10, 9.5, "a change of 9.5 % (8.5 % to 10.5 %). The difference, 0.5 % (-0.5 % to 1.5 %), is unexplained, which may be noise."),
        (10, 15, "Expected cost changes even more, by 15.0 % (14.0 % to 16.0 %). The difference is 5.0 % (4.0 % to 6.0 %)."),
        # Fixed points may lie on a slope that falls.
        (-10, -7, "a change of -7.0 % (-8.0 % to -6.0 %). The difference, -3.0 % (-4.0 % to -2.0 %), is unexplained."),
        (-10, -15, "changes even more, by -15.0 % (-16.0 % to -14.0 %). The difference is 5.0 % (4.0 % to 6.0 %)."),
        (10, -5, "a change of -5.0 % (-6.0 % to -4.0 %). The difference, 15.0 % (14.0 % to 16.0 %), is unexplained."),
    ],
)  # fmt: skip
def test_cost_that_changes_by_more_than_the_price_is_not_called_less_than_nothing(gap, cost, words):
    parts = {"gap": within_one(gap), "earned": within_one(cost), "left": within_one(gap - cost)}
    said = in_words(parts, [(20.0, 60.0)], 100.0, "age")
    assert said.startswith("From “age” 20 to 60 (its 10th and 90th percentile) the price changes by ")
    assert said.endswith(words)
