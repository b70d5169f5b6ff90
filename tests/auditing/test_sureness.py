"""Certainty of an answer: p-values, power, errors in the attribute, rows without it, and omitted factors."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import fairdash as fd
from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.gaps import joint_limit_factor, p_value_of_flat_curve
from fairdash.auditing.plan import columns_of
from fairdash.auditing.questions import robustness
from fairdash.auditing.questions.robustness import robustness_values
from fairdash.auditing.table import AuditTable
from tests.auditing.test_audit import ROLES, policies
from tests.tiers import few


def test_the_power_table_matches_the_verdicts_and_missing_attribute_values_are_reported():
    frame = policies(900)
    frame.loc[frame["premium"] > 380, "age"] = np.nan
    result = fd.audit(frame, **ROLES, questions=[1, 9])
    power = result.tables["power"].set_index("criterion").loc["independence"]
    details = result.details["independence"]
    assert power["smallest"] == pytest.approx(details["smallest"])
    assert power["rows_needed"] == np.ceil(details["rows_needed"])
    assert result.measures.set_index("measure").loc["price_without_sensitive", "ci_low"] > 0
    assert "“age” is missing in" in result.answers[-1].text


def test_the_robustness_values_of_the_published_darfur_study_are_reproduced():
    assert doctest.testmod(robustness) == (0, 1)
    assert robustness_values(0.09731582 / 0.02325654, 783) == pytest.approx((0.1388, 0.0763), abs=5e-5)


@pytest.mark.parametrize(("t", "dof"), [(4.18, 783), (2.0, 50), (80.0, 20), (1.0, 100)])
def test_the_robustness_value_solves_its_equation(t, dof):
    value, at_level = robustness_values(t, dof)
    f, critical = t / math.sqrt(dof), student.ppf(0.975, dof - 1) / math.sqrt(dof - 1)
    # If R² equals RV on both sides, the bias equals the estimate: R² / √(1 − R²) = |f|.
    assert value / math.sqrt(1 - value) == pytest.approx(f)
    if at_level == 0:
        assert f <= critical
    elif f <= 1 / critical:
        # At this value, the estimate less its bias differs from 0 by the critical number of its new standard
        # errors.
        assert f - at_level / math.sqrt(1 - at_level) == pytest.approx(critical)


def p_of_no_gap(y: np.ndarray, s: np.ndarray, **more: np.ndarray) -> float:
    """p-value of the largest gap of y along s."""
    roles = {role: name for role, name in (("exposure", "years"), ("groups", "policy")) if name in more}
    table = AuditTable.of(pd.DataFrame({"y": y, "s": s, **more}), columns_of("y", "s", **roles))
    return p_value_of_flat_curve(fit_curve(table.price, table, basis_of(table)))


def noises(kind: str, rng: np.random.Generator, n: int):
    """y with the same mean at every s, the values of s, and further columns."""
    s = rng.uniform(18, 90, n)
    if kind == "policies":
        policy = np.arange(n) // 5
        return 100 + 20 * rng.normal(size=n)[policy] + rng.normal(size=n), s[policy], {"policy": policy}
    if kind == "exposure":
        years = np.where(s > 60, 0.2, 1.0)
        return 100 + 20 * rng.normal(size=n) / np.sqrt(years), s, {"years": years}
    if kind == "levels":
        s = np.floor(s / 3.6)
        return 100 + 20 * np.exp(s / 10 - 1.5) * rng.normal(size=n), s, {}
    return 100 + 20 * np.exp((s - 54) / 36) * rng.normal(size=n), s, {}


@pytest.mark.parametrize(
    "kind", few(["spread", "policies", "exposure", "levels"], "spread", "policies", "levels")
)
def test_the_test_of_the_hypothesis_of_no_gap_keeps_its_false_alarm_rate(kind):
    drawn = [noises(kind, np.random.default_rng(seed), 500) for seed in range(40)]
    found = [p_of_no_gap(y, s, **more) <= 0.05 for y, s, more in drawn]
    # Of 40 tests, 5 % are 2; 7 or more rejections have a probability of 1 / 300.
    assert sum(found) <= 6


def test_prices_without_noise_have_a_p_value_of_one_or_nearly_zero():
    s = np.linspace(18, 90, 300)
    assert p_of_no_gap(np.full(300, 0.1 + 0.2), s) == 1
    assert p_of_no_gap(100 + s, s) < 0.001


def test_for_a_linear_price_the_partial_r2_is_exact_and_the_strongest_factor_is_named():
    c, d, a, b = np.random.default_rng(0).normal(size=(4, 2000))
    s = 0.5 * c + 0.2 * d + a
    frame = pd.DataFrame({"p": 100 + s + 0.8 * c + 0.3 * d + b, "s": s, "c": c, "d": d})
    how = {"controls": ["c", "d"], "features": [], "questions": [4], "criterion": "conditional_independence"}
    result = fd.audit(frame, price="p", sensitive="s", **how)
    shown = result.measures.set_index("measure").loc["partial_r2_among_equals", "value"]
    assert shown == pytest.approx(0.5, abs=0.05)
    assert "A factor as strong as “c” would explain" in result.answers[-1].text


def test_joint_limits_do_not_depend_on_the_arbitrary_signs_of_eigenvectors(monkeypatch):
    covariance, eigh = np.cov(np.random.default_rng(0).normal(size=(4, 50))), np.linalg.eigh
    limit = joint_limit_factor(covariance, 0)
    assert 2.3 < limit < 2.6  # independent numbers: 2.49
    monkeypatch.setattr(np.linalg, "eigh", lambda a: (eigh(a)[0], eigh(a)[1] * [1, -1, -1, 1]))
    assert joint_limit_factor(covariance, 0) == pytest.approx(limit, rel=1e-12)
