"""Question 9: what could be shown, rows without the attribute, and errors in it against a simulated truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import fairdash as fd
from fairdash.auditing.plan import columns_of
from fairdash.auditing.questions.power import SHARES, corrected, without_sensitive
from fairdash.auditing.table import AuditTable
from tests.auditing.test_audit import ROLES, policies

#: 2 × the 90th percentile of a normal variable.
BETWEEN = 2 * norm.ppf(0.9)


def parabola(x: np.ndarray) -> np.ndarray:
    return 1 + 0.05 * x + 0.08 * (x**2 - 1)


def with_errors(curve: Callable, n: int, reliability: float, seed: int, shape: float = 16) -> AuditTable:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"s": x + np.sqrt((1 - reliability) / reliability) * rng.normal(size=n)})
    return AuditTable.of(frame.assign(p=curve(x) * rng.gamma(shape, 1 / shape, n)), columns_of("p", "s"))


def test_the_curve_is_that_of_the_attribute_without_errors():
    # Prices of little noise, for few rows.
    found = [corrected(with_errors(parabola, 2_000, 0.7, seed, 100), (0.7,))[1] for seed in range(3)]
    truth = parabola(norm.ppf(SHARES))
    inner = (SHARES > 0.05) & (SHARES < 0.95)  # a spline's ends are its noisiest points
    # (samples, places) of what was measured, and of the attribute without errors.
    plain, mended = (
        {name: np.array([each.loc[each["reliability"] == reliability, name] for each in found])
         for name in ("at", "value", "low", "high")}
        for reliability in (1.0, 0.7)
    )  # fmt: skip
    bias = [np.abs(each["value"].mean(axis=0) - truth)[inner].mean() for each in (plain, mended)]
    assert bias[1] < 0.85 * bias[0]
    assert np.mean((mended["low"] < truth) & (truth < mended["high"])) >= 0.8
    # The true attribute is less spread than what was measured.
    assert mended["at"][0].std() == pytest.approx(np.sqrt(0.7) * plain["at"][0].std(), rel=1e-6)


def test_a_reliability_of_1_is_the_attribute_as_it_stands():
    result = fd.audit(policies(800), **ROLES, questions=[1, 9], reliability=0.6)
    found = result.tables["reliability"].set_index("reliability")
    assert list(found.index) == [1.0, 0.9, 0.7, 0.6, 0.5]
    direction = result.measures.set_index("measure").loc["direction"]
    assert_allclose(found["value"][1.0], direction["value"], rtol=1e-9)
    assert_allclose(found["ci_low"][1.0], direction["ci_low"], rtol=0.05)
    for part in ("Berkson", "60.0 % of the variance"):
        assert part in result.answers[-1].text


def test_rows_without_the_attribute_by_hand():
    n = 300
    frame = pd.DataFrame({"p": 10.0, "s": np.arange(n, dtype=float), "w": 1.0})
    frame.loc[:59, "s"], frame.loc[:59, "p"], frame.loc[:29, "w"] = np.nan, np.tile([11.0, 15.0], 30), 3.0
    columns = columns_of("p", "s", exposure="w")
    apart, count, table = without_sensitive(frame, columns)
    assert count == 60
    assert apart.value == pytest.approx(3.0)
    # 30 rows of weight 3 and 30 of weight 1, each 2 off the mean: √(30 × 36 + 30 × 4) ÷ 120.
    assert apart.ci_high - apart.value == pytest.approx(1.959964 * np.sqrt(1200) / 120)
    assert (table["rows"] >= 20).all()
    assert table["share"].iloc[-1] > table["share"].iloc[0]
    frame.loc[19:59, "s"] = 1.0
    assert without_sensitive(frame, columns) is None


def test_power_is_that_of_the_verdicts_and_missing_rows_are_told():
    frame = policies(900)
    frame.loc[frame["premium"] > 380, "age"] = np.nan
    result = fd.audit(frame, **ROLES, questions=[1, 9])
    power = result.tables["power"].set_index("criterion").loc["independence"]
    details = result.details["independence"]
    assert power["smallest"] == pytest.approx(details["smallest"])
    assert power["rows_needed"] == np.ceil(details["rows_needed"])
    assert result.measures.set_index("measure").loc["price_without_sensitive", "ci_low"] > 0
    assert "“age” is missing in" in result.answers[-1].text
