"""Where a front opens: half of the dependence above the floor is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from fairdash.views.reports.fronts import Front
from tests.views.figures.rows import rows_of


def opening(validation: pd.DataFrame) -> Any:
    """λ on which a front with these validation figures opens; its floor is 0.1, and 1, 2 and 4 are trained."""
    test = pd.DataFrame({"method": "hgr_spline", "lam": [4, 0, 1, 2], "share": 0, "floor": 0.1})
    front = SimpleNamespace(
        validation=validation, rows=lambda _: test, default_measure="hgr_spline", methods=["hgr_spline"]
    )
    return Front.opening.func(front)


def figures(**stops: Any) -> pd.DataFrame:
    return rows_of(pd.DataFrame({"method": "hgr_spline", **stops}), "hgr_spline")


def test_a_trained_weight_in_the_middle_third_goes_before_a_nearer_blend():
    found = figures(lam=[0, 1, 1.4, 2, 4], share=[0, 0, 0.5, 0, 0], hgr_spline=[0.9, 0.8, 0.5, 0.4, 0.1])
    assert opening(found) == 2


def test_where_models_fall_from_one_side_to_the_other_a_blend_is_taken():
    found = figures(lam=[0, 1, 1.4, 2, 4], share=[0, 0, 0.5, 0, 0], hgr_spline=[0.9, 0.88, 0.6, 0.12, 0.1])
    assert opening(found) == 1.4


def test_other_methods_and_the_order_of_rows_have_no_say():
    found = figures(lam=[4, 2, 1, 0], share=0, hgr_spline=[0.1, 0.4, 0.8, 0.9])
    other = found.assign(method="hgr_nn", value=[0.1, 0.1, 0.5, 0.9])
    assert opening(pd.concat([other, found], ignore_index=True)) == 2


@pytest.mark.parametrize("rows", [[], [0.08, 0.05, 0.02, 0.01]], ids=["no validation rows", "no dependence"])
def test_without_a_middle_it_is_the_middle_trained_weight(rows):
    assert opening(figures(lam=[0, 1, 2, 4][: len(rows)], share=0, hgr_spline=rows)) == 2
