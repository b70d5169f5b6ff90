"""What is said of values as they are shown, and of those of older runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairdash.dependence import measure_many
from fairdash.dependence.registry import WAYS
from fairdash.reports.content import limits
from fairdash.reports.words import of_older_values, of_values
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


@pytest.mark.parametrize(("recorded", "words"), [("", "cross-fitted"), ("corrected", "0 below a threshold")])
def test_a_run_from_before_says_what_its_values_are(comparison, recorded, words):
    own = {"hgr_spline": recorded} if recorded else {}
    older = replace(comparison, result=replace(comparison.result, evaluations=own))
    (said,) = of_older_values(older)
    assert f"HGR_spline is {WAYS[recorded]} in this run" in said
    assert words in said
    assert of_older_values(comparison) == []
    assert said in limits(older)
