"""Where a front opens: half of the dependence above the floor is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from fairdash.reports.fronts import opening_weight
from fairdash.training.sweep import Sweep

PLAN = Sweep(lams=(1.0, 2.0, 4.0))


def front(**stops: Any) -> Any:
    """Validation figures of one method, with a floor of 0.1 on test rows."""
    rows = pd.DataFrame({"method": "hgr_spline", **stops})
    test = pd.DataFrame({"hgr_spline_floor": [0.1]})
    return SimpleNamespace(validation=rows, test=test, default_measure="hgr_spline", methods=["hgr_spline"])


def test_a_trained_weight_in_the_middle_third_goes_before_a_nearer_blend():
    found = front(lam=[0, 1, 1.4, 2, 4], share=[0, 0, 0.5, 0, 0], hgr_spline=[0.9, 0.8, 0.5, 0.4, 0.1])
    assert opening_weight(found, PLAN) == 2


def test_where_models_fall_from_one_side_to_the_other_a_blend_is_taken():
    found = front(lam=[0, 1, 1.4, 2, 4], share=[0, 0, 0.5, 0, 0], hgr_spline=[0.9, 0.88, 0.6, 0.12, 0.1])
    assert opening_weight(found, PLAN) == 1.4


def test_other_methods_and_the_order_of_rows_have_no_say():
    found = front(lam=[4, 2, 1, 0], share=0, hgr_spline=[0.1, 0.4, 0.8, 0.9])
    other = found.validation.assign(method="hgr_nn", hgr_spline=[0.1, 0.1, 0.5, 0.9])
    found.validation = pd.concat([other, found.validation], ignore_index=True)
    assert opening_weight(found, PLAN) == 2


@pytest.mark.parametrize("rows", [[], [0.08, 0.05, 0.02, 0.01]], ids=["no validation rows", "no dependence"])
def test_without_a_middle_it_is_the_middle_trained_weight(rows):
    found = front(lam=[0, 1, 2, 4][: len(rows)], share=0, hgr_spline=rows)
    assert opening_weight(found, PLAN) == 2
