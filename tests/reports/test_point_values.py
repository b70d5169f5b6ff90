"""What is said of values as they are shown, and of those of older runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairdash.dependence import measure_many
from fairdash.reports.content import limits
from fairdash.reports.words import of_values
from tests.reports.making import make_comparison, make_dataset


@pytest.fixture(scope="module")
def comparison():
    return replace(make_comparison(make_dataset()), measure="hgr_spline")


def test_values_and_their_nulls_are_of_the_statistic_that_is_shown(comparison):
    result, point = comparison.result, comparison.b
    frame = result.frame[(result.frame["lam"] == point.lam) & (result.frame["part"] == "test")]
    for row in frame.to_dict("records"):
        rows = result.splits[row["split"]].test
        y_pred = comparison.predictions(point)[row["split"]][rows]
        assert row["hgr_spline"] == measure_many("hgr_spline", y_pred[None], comparison.s[rows])[0]
        assert 0 <= row["hgr_spline_floor"] < row["hgr_spline_floor_q95"]


def test_how_values_are_estimated_is_said(comparison):
    (said,) = of_values(comparison)
    assert "corrected for the contribution of noise" in said
    assert said in limits(comparison)
    assert of_values(replace(comparison, measure="hgr_kde")) == []
