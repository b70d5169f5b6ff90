"""Conditional dependence, given other columns, compared with cases whose true value is known."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from fairdash import assess_conditional_dependence
from fairdash.dependence.conditional import double_residuals
from fairdash.dependence.conditional_means import ridge_out_of_fold
from fairdash.errors import DeterminedError, OptionError


@pytest.fixture
def drawn():
    """The control c and two independent noise variables, of 1,000 rows."""
    return np.random.default_rng(0).normal(size=(3, 1000))


def test_the_effect_size_is_the_share_of_residual_variance_explained_by_the_attribute(drawn):
    c, a, b = np.random.default_rng(0).normal(size=(3, 20_000))
    # u = c + 0.2·c·s: given c, u has the variance 1 + 0.2², of which c·(s − E[s|c]) explains 0.2².
    found = assess_conditional_dependence(c + 0.2 * c * (c + a) + b, c + a, given=c)
    assert found.size == pytest.approx(0.2 / np.sqrt(1.04), abs=0.02)
    assert (found.p_value, found.varies_with) == (pytest.approx(1 / 2000), "given")
    assert 0.1 < found.s_explained < 0.5
    assert 0.4 < found.u_explained < 0.6
    assert assess_conditional_dependence(c + 0.3 * a + b, c + a, given=c).varies_with is None
    c, a, _ = drawn
    assert assess_conditional_dependence(c + (c + a), c + a, given=c).size > 0.95


def test_conditional_effects_of_opposite_sign_do_not_cancel(drawn):
    c, s, noise = drawn
    u = 0.3 * np.sign(c) * s + noise
    side = pd.Series(np.where(c > 0, "right", "left"), name="side")
    found = assess_conditional_dependence(u, s, given=side)
    assert abs(np.corrcoef(s, u)[0, 1]) < 0.1
    assert found.p_value < 0.01
    assert found.varies_with == "side"


@pytest.mark.parametrize("as_numbers", [False, True])
def test_conditional_effects_whose_sign_depends_on_two_controls_jointly_do_not_cancel(as_numbers):
    """In the four cells of two binary columns, u rises with z if both columns agree and falls otherwise."""
    rng = np.random.default_rng(0)
    z, noise = rng.normal(size=(2, 2000))
    columns = pd.DataFrame(rng.integers(0, 2, (2000, 2)), columns=["a", "b"])
    sign, given = np.where(columns["a"] == columns["b"], 1, -1), columns if as_numbers else columns == 1
    found = assess_conditional_dependence(0.15 * z * sign + noise, z, given=given)
    assert found.p_value < 0.01
    assert found.varies_with == "a and b"
    strong = assess_conditional_dependence(z * sign + noise, z, given=given)
    assert strong.p_value == pytest.approx(1 / 2000)
    assert strong.size == pytest.approx(np.sqrt(0.5), abs=0.05)  # r = ±0.71 in every cell


def test_conditional_dependence_in_one_tail_or_on_two_attributes_jointly_is_detected(drawn):
    c, s, noise = drawn
    top = (s > np.quantile(s, 0.97)) * 1.5
    assert assess_conditional_dependence(c + top + noise, s, given=c).p_value < 0.01
    both = np.column_stack([s, np.random.default_rng(1).normal(size=1000)])
    assert assess_conditional_dependence(c + 0.3 * both.prod(axis=1) + noise, both, given=c).p_value < 0.01


def test_double_residuals_are_out_of_fold_and_in_the_units_of_the_prediction(drawn):
    c, a, b = drawn
    left = double_residuals(100 + 20 * (c + b), c + a, given=c)
    assert np.corrcoef(left.u, 20 * b)[0, 1] > 0.99
    assert (left.u.std(), left.left_of_u) == (pytest.approx(20, rel=0.05), pytest.approx(0.5, abs=0.05))
    assert abs(np.corrcoef(left.psi[:, 0], c)[0, 1]) < 0.05
    # The regression does not overfit noise: the residual of noise has at least its variance.
    assert double_residuals(b, a, given=c).left_of_u > 0.98


@pytest.mark.variant
def test_tree_regression_removes_the_joint_effect_of_three_controls():
    rng = np.random.default_rng(0)
    c = rng.normal(size=(500, 3))
    u, s = 4 * (c > -0.3).all(axis=1) + rng.normal(size=(2, 500))
    assert assess_conditional_dependence(u, s, given=c).p_value < 0.01
    found = assess_conditional_dependence(u, s, given=c, regression="trees")
    assert found.p_value > 0.05
    assert "trees" in found.regressions


def test_conditional_dependence_is_reproducible_by_seed_and_independent_of_scale(drawn):
    c, a, b = drawn
    options = {"given": c, "random_state": 3}
    found = assess_conditional_dependence(c + a, c + b, **options)
    assert found == assess_conditional_dependence(c + a, c + b, **options)
    moved = assess_conditional_dependence(1e6 + 1e3 * (c + a), np.exp(c + b), **options)
    same = (pytest.approx(found.statistic, rel=1e-6), found.p_value, pytest.approx(found.size, abs=1e-6))
    assert (moved.statistic, moved.p_value, moved.size) == same
    u, s, more = (np.append(x, 9.0) for x in (c + a, c + b, c))
    absent = {"sample_weight": np.append(np.ones(1000), 0.0), "random_state": 3}
    padded = assess_conditional_dependence(u, s, given=more, **absent)
    assert (padded.n, padded.p_value) == (1000, pytest.approx(found.p_value, abs=0.01))


def test_unusable_inputs_of_conditional_dependence_are_refused(drawn):
    c, a, b = drawn
    for words, u, s, options in (
        ("no given column varies", a, b, {"given": np.ones(1000)}),
        ("missing or infinite", a, b, {"given": np.where(c > 2, np.nan, c)}),
        ("number of rows differs", a, b, {"given": c[:5]}), ("determine the sensitive one", a, 2 * c, {"given": c}),
        ("Too few rows", a[:20], b[:20], {"given": c[:20]}),
        ("column is constant", a, np.ones(1000), {"given": c}), ("n_draws", a, b, {"given": c, "n_draws": 3}),
        ("regression is unknown", a, b, {"given": c, "regression": "forest"}),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=f"(?i){words}"):
            assess_conditional_dependence(u, s, **options)


def test_ridge_predictions_equal_the_direct_solution_with_more_functions_than_rows():
    rng = np.random.default_rng(0)
    n, p = 60, 90
    functions, penalty, y = rng.normal(size=(n, p)), rng.uniform(1, 50, p), rng.normal(size=(n, 2))
    weight, folds = rng.uniform(1, 2, n), np.arange(n) % 5
    found = ridge_out_of_fold(functions, penalty, y, weight, folds)
    mean = np.average(y, axis=0, weights=weight)
    # The direct solution with all functions, for each ridge parameter.
    x = np.column_stack([np.full(n, 100.0), functions / np.sqrt(penalty)])
    told = np.empty((25, n, 2))
    for k, ridge in enumerate(np.logspace(-7, 1, 25)):
        for train in (folds != fold for fold in range(5)):
            own = weight[train][:, None] * x[train]
            gram = own.T @ x[train] + ridge * weight[train].sum() * np.eye(p + 1)
            told[k, ~train] = x[~train] @ np.linalg.solve(gram, own.T @ (y - mean)[train])
    error = np.einsum("i,kit->kt", weight, (y - mean - told) ** 2)
    best = told[error.argmin(axis=0), :, range(2)].T
    assert_allclose(found, best + mean, atol=1e-6)


def test_small_areas_are_refused_as_controls_only_if_they_determine_the_attribute(drawn):
    _, noise, *_ = drawn
    area = np.arange(1000) % 300
    name = pd.Series(area).astype(str)
    with pytest.raises(DeterminedError, match="determine"):
        assess_conditional_dependence(noise, np.sin(area), given=name)
    # Both calls are accepted: the controls don't determine the attribute.
    assess_conditional_dependence(noise, np.sin(area) + noise, given=name)
    assess_conditional_dependence(noise, np.sin(area), given=area % 7, groups=area)


def test_a_price_determined_by_the_controls_has_no_conditional_dependence(drawn):
    c, a, _ = drawn
    found = assess_conditional_dependence(np.ones(1000), a, given=c)
    assert (found.statistic, found.p_value, found.size) == (0.0, 1.0, 0.0)


@pytest.mark.variant
@pytest.mark.parametrize("kind", ["policies", "weighted"])
def test_the_conditional_test_rarely_rejects_when_both_variables_depend_only_on_the_controls(kind):
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        policy = np.repeat(np.arange(80), 5) if kind == "policies" else np.arange(400)
        c, a, b = rng.normal(size=(3, policy[-1] + 1))[:, policy]
        u, more = c + a, {"sample_weight": np.exp(0.7 * b)}
        if kind == "policies":
            u, more = u + 0.3 * rng.normal(size=400), {"groups": policy}
        found = assess_conditional_dependence(u, c + b, given=c, n_draws=199, random_state=seed, **more)
        alarms += found.p_value <= 0.05
    assert alarms <= 6, "at 5 % a false alarm more is met once in 70 times"
