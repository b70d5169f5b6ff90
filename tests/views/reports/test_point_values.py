"""Words on values as they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairdash.views.reports.content import limits
from fairdash.views.reports.sentences import of_values
from tests.views.reports.making import make_comparison, make_dataset


@pytest.fixture(scope="module")
def comparison():
    return replace(make_comparison(make_dataset()), measure="hgr_spline")


def test_how_values_are_estimated_is_said(comparison):
    (said,) = of_values(comparison)
    assert "corrected for the contribution of noise" in said
    assert said in limits(comparison)
    assert of_values(replace(comparison, measure="hgr_kde")) == []
