"""Averages of the five premiums: debiased, with limits that hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.premium_averages import CASES, learned, try_case
from fairdash.auditing.models.averages import BANDS, premium_averages
from tests.tiers import few


def test_two_of_the_averages_by_hand():
    costs = learned("claims", 600, 0)
    found = premium_averages(costs, random_state=0).set_index("premium")
    band = costs.table.bands(BANDS)
    # Of the best estimate, the average cost itself; of the corrective premium, the mean price, everywhere.
    by_hand = [costs.cost[band == k].mean() for k in range(BANDS)]
    assert_allclose(found.loc["best_estimate", "value"], by_hand)
    assert_allclose(found.loc["corrective", "value"], costs.table.mean_price)
    # No premium but the models' own error moves the level: bands of equal exposure average to the mean price.
    assert_allclose(found["value"].groupby(level=0).mean(), costs.table.mean_price, rtol=0.02)
    width = found.eval("ci_high - ci_low")
    assert (width > 0).all()
    costs_error = np.std(costs.cost[band == 0]) / np.sqrt((band == 0).sum())
    # Simultaneous limits of five bands are wider than 1.96 errors of one.
    assert width.loc["best_estimate"].iloc[0] > 2 * 1.96 * 0.9 * costs_error


@pytest.mark.variant
@pytest.mark.parametrize("case", few(CASES, "claims", "no link"))
def test_limits_hold_the_truth(case):
    rows = [row for seed in range(24) for row in try_case(case, 1_000, seed)]
    for premium in {row["premium"] for row in rows}:
        # 95 %: fewer than 19 of 24 in one sample of a thousand.
        assert sum(row["held"] for row in rows if row["premium"] == premium) >= 19, premium
