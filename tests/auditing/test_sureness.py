"""Question 9: what could be shown, rows without the attribute, and errors in it against a simulated truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import fairdash as fd
from fairdash.auditing.plan import columns_of
from fairdash.auditing.questions.power import without_sensitive
from tests.auditing.test_audit import ROLES, policies


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
    assert (count, apart.value) == (60, pytest.approx(3.0))
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
