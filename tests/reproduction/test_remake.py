"""A study made again beside its committed result, cell by cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper.household import SETTINGS, Reading, reproduce_household
from benchmarks.paper.remake import agreement, compare
from fairdash.reports.paper import read_result


def shifted(result, table, column, by):
    frame = result.tables[table].copy()
    frame[column] += by
    return replace(result, tables={**result.tables, table: frame})


def test_a_result_agrees_with_itself():
    result = read_result("fig1")
    compared = compare(result, result)
    assert compared["same"].all()
    assert set(compared["table"]) == {"values", "exact"}
    assert "All" in agreement(compared)


def test_draws_are_averaged_and_held_to_three_standard_errors():
    result = read_result("fig1")
    values = result.tables["values"]
    first = values[(values["id"] == "hgr_nn") & (values["evaluation"] == "ours") & (values["rho"] == 0)]
    error = first["value"].std(ddof=1) / np.sqrt(len(first))
    for by, within in ((2.9 * error, True), (3.1 * error, False)):
        compared = compare(result, shifted(result, "values", "value", by))
        (row,) = compared[compared["row"] == "hgr_nn, ours, 0.0"].to_dict("records")
        assert row["error"] == pytest.approx(error)
        assert row["difference"] == pytest.approx(by)
        assert (row["same"], row["within"]) == (False, within)
    assert compare(result, shifted(result, "values", "value", 1e-8))["same"].all()


def test_a_row_of_the_table_is_compared_with_its_own_row():
    whole = read_result("table1_crime")
    splits = whole.tables["splits"]
    own = splits[(splits["method"] == "mine") & (splits["objective"] == "equalized_residuals")]
    compared = compare(whole, replace(whole, tables={"splits": own.reset_index(drop=True)}))
    assert set(compared["row"]) == {"mine, equalized_residuals"}
    assert compared["same"].all()
    (mse,) = compared.loc[compared["column"] == "mse", "error"]
    # The splits overlap.
    assert mse == pytest.approx(np.sqrt((1 / len(own) + 399 / 1595) * own["mse"].var(ddof=1)), rel=1e-6)


@pytest.mark.variant
def test_two_processes_give_the_same_values():
    settings = replace(SETTINGS, n_epochs=3, warm_up_epochs=1, hidden=(4,), adversary_steps=1, batch_size=64)
    options = {"n": 200, "n_folds": 2, "n_splits": 2, "settings": settings}
    one, two = (reproduce_household(Reading(), processes=count, **options) for count in (1, 2))
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(two.tables[name], table)
