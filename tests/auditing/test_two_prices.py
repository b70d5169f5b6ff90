"""Two prices side by side, and several sensitive attributes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fairdash as fd
from fairdash.auditing.gaps import holm
from tests.auditing.test_audit import ROLES, policies


def test_differences_have_paired_intervals(whole):
    found = whole.tables["two_prices"].set_index("measure")
    assert_allclose(found["difference"], found["candidate"] - found["price"], atol=1e-12)
    # The candidate takes 5 % a standard deviation off a slope of 10 % ÷ 1.1; the prices share their noise.
    direction = found.loc["direction"]
    truth = -0.05 * 2 * 1.2816
    assert direction["ci_low"] < truth < direction["ci_high"]
    alone = whole.measures.set_index("measure").loc["direction"]
    assert direction["ci_high"] - direction["ci_low"] < 0.5 * (alone["ci_high"] - alone["ci_low"])
    criteria = "independence conditional_independence equalized_residuals gini sufficiency".split()
    named = found.loc[criteria]
    assert named["difference"].between(named["ci_low"], named["ci_high"]).all()


def test_who_wins_and_loses(whole):
    change = whole.tables["change_along_s"]
    # The young (low z) pay more with the candidate, the old less.
    assert change["per_head_low"].iloc[0] > 0 > change["per_head_high"].iloc[-1]
    frame = policies()
    assert change["total"].sum() == pytest.approx((frame["new"] - frame["premium"]) @ frame["years"])
    assert whole.tables["change_segments"]["shown"].iloc[0] > 0
    assert {"double_lift", "deviances"} <= set(whole.tables)
    assert "“new”" in whole.answers[-1].sentence


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(0)
    frame = policies(600).assign(income=rng.normal(size=600), place=rng.normal(size=600))
    frame["premium"] *= 1 + 0.1 * frame["place"]
    return fd.audit(frame, **(ROLES | {"sensitive": ["age", "income", "place"]}), questions=[1, 5])


def test_several_attributes_are_answered_each_with_holm_over_them(several):
    attributes = ["age", "income", "place"]
    names = [" × ".join(each) for k in (1, 2, 3) for each in combinations(attributes, k)]
    assert [each.plan.columns.sensitive for each in several.along] == names
    primary = several.tables["by_sensitive"].query("criterion == 'independence'").set_index("sensitive")
    assert primary["verdict"]["place"] == several.verdict == "above"
    above = holm([each.details["independence"]["p_above"] for each in several.along])
    for each, p_value in zip(several.along, above, strict=True):
        assert (each.verdict == "above") == (p_value <= 0.05)
    assert "“income”" in several.others[0].answers[0].sentence
