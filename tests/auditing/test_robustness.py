"""How strong a missing factor would have to be: the published numbers, ordinary least squares, and none."""

from __future__ import annotations

import doctest
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import fairdash as fd
from fairdash.auditing.plan import Columns
from fairdash.auditing.questions import robustness
from fairdash.auditing.questions.decomposition import _left_by_splines, left_among_equals
from fairdash.auditing.questions.robustness import bound_of, robustness_among_equals, robustness_values
from fairdash.auditing.table import AuditTable

FACTORS = ("c", "d")


def found_in(frame: pd.DataFrame, factors: tuple[str, ...] = FACTORS):
    table = AuditTable.of(frame, Columns(price="p", sensitive="s", controls=factors))
    part, basis, left = left_among_equals(table, factors)
    return robustness_among_equals(part, basis, left, factors, partial(_left_by_splines, part))


def linear(n: int, *, effect: float, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    c, d = rng.normal(size=(2, n))
    s = 0.5 * c + 0.2 * d + rng.normal(size=n)
    price = 100 + effect * s + 0.8 * c + 0.3 * d + rng.normal(size=n)
    return pd.DataFrame({"p": price, "s": s, "c": c, "d": d})


def partial_r2(y: np.ndarray, x: np.ndarray, given: list[np.ndarray]) -> float:
    """Of x with y given columns, by ordinary least squares."""
    few = np.column_stack([np.ones(len(y)), *given])
    without, squares = (np.linalg.lstsq(z, y, rcond=None)[1][0] for z in (few, np.column_stack([few, x])))
    return 1 - squares / without


def test_the_study_of_darfur():
    assert doctest.testmod(robustness) == (0, 1)
    assert robustness_values(0.09731582 / 0.02325654, 783) == pytest.approx((0.1388, 0.0763), abs=5e-5)


@pytest.mark.parametrize(("t", "dof"), [(4.18, 783), (2.0, 50), (80.0, 20), (1.0, 100)])
def test_the_robustness_value_solves_its_equation(t, dof):
    value, at_level = robustness_values(t, dof)
    f, critical = t / math.sqrt(dof), student.ppf(0.975, dof - 1) / math.sqrt(dof - 1)
    # At R² = RV on both sides the bias is the estimate: R² / √(1 − R²) = |f|.
    assert value / math.sqrt(1 - value) == pytest.approx(f)
    if at_level == 0:
        assert f <= critical
    elif f <= 1 / critical:
        # There the estimate less its bias is as many of its new standard errors from 0 as the test asks for.
        assert f - at_level / math.sqrt(1 - at_level) == pytest.approx(critical)


def test_a_straight_line_has_the_value_of_least_squares():
    frame = linear(6_000, effect=1.0)
    y, s, c, d = (frame[name].to_numpy() for name in "pscd")
    r2 = partial_r2(y, s, [c, d])
    f = math.sqrt(r2 / (1 - r2))
    expected = robustness_values(f * math.sqrt(len(y) - 4), len(y) - 4)
    found = found_in(frame)
    assert found.partial_r2 == pytest.approx(r2, abs=0.015)
    assert (found.value, found.at_level) == pytest.approx(expected, abs=0.015)
    of_price, of_s = bound_of(partial_r2(y, c, [s, d]), partial_r2(s, c, [d]))
    assert found.strongest == "c"
    assert (found.of_price, found.of_s) == pytest.approx((of_price, of_s), abs=0.02)
    assert found.taken == pytest.approx(math.sqrt(of_price * of_s / (1 - of_s)) / f, abs=0.03)


def test_the_answer_says_it():
    roles = {"price": "p", "sensitive": "s", "controls": ["c"]}
    result = fd.audit(linear(1_000, effect=1.0), **roles, questions=(4,), max_gap=0.01)
    assert "A factor as strong as “c” would explain" in result.answers[-1].text
    asked = result.measures[result.measures["question"] == 4]
    assert asked["measure"].tolist()[:2] == ["robustness_value", "robustness_value_at_level"]
