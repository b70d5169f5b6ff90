"""What is said of values as they are shown, and of those of older runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairdash.dependence.registry import WAYS
from fairdash.reports.content import limits
from fairdash.reports.words import of_older_values, of_values
from tests.reports.making import make_comparison, make_dataset


@pytest.fixture(scope="module")
def comparison():
    return replace(make_comparison(make_dataset()), measure="hgr_spline")


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
