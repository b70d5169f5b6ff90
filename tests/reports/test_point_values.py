"""What is said of values as they are shown: the edge below which they are 0, and those of older runs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fairdash.dependence import measure_many
from fairdash.dependence.registry import REGISTRY
from fairdash.reports.point_values import of_older_values, of_values, why_so_small, zero_below
from fairdash.reports.report_sections import limits
from fairdash.runs.result import read_result, write_result
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
        options = REGISTRY["hgr_spline"].shown_options
        assert row["hgr_spline"] == measure_many("hgr_spline", y_pred[None], comparison.s[rows], **options)[0]
        assert 0 <= row["hgr_spline_floor"] < row["hgr_spline_floor_q95"]


def test_the_edge_below_which_it_is_zero_is_named(comparison):
    assert zero_below(comparison) == pytest.approx((2 / (len(comparison.result.splits[0].test) - 2)) ** 0.5)
    (said,) = of_values(comparison)
    assert "below about 0.14" in said
    assert said in limits(comparison)
    assert zero_below(replace(comparison, measure="hgr_kde")) is None
    assert why_so_small(comparison) == ""


def test_a_link_that_is_found_and_reads_nearly_zero_is_explained(comparison):
    front = comparison.front
    test = front.test.assign(hgr_spline=0.02, hgr_spline_edge=0.01)
    low = replace(comparison, fronts={comparison.objective: replace(front, test=test)})
    assert low.has_link(low.b)
    assert "0 for links below about 0.14" in why_so_small(low)


def test_a_run_from_before_says_what_its_values_are(comparison):
    older = replace(comparison, result=replace(comparison.result, evaluations={}))
    (said,) = of_older_values(older)
    assert "HGR_spline is cross-fitted" in said
    assert of_older_values(comparison) == []
    assert zero_below(older) is None
    assert said in limits(older)


def test_what_values_are_is_kept_with_them(comparison, tmp_path):
    write_result(comparison.result, tmp_path)
    assert read_result(tmp_path).evaluations == {"hgr_spline": "corrected"}
    about = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    del about["evaluations"]
    (tmp_path / "about.json").write_text(json.dumps(about), encoding="utf-8")
    assert read_result(tmp_path).evaluations == {}
