"""Simulated studies, scenes in which an estimator fails, and properties of their patterns."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, rankdata

from fairdash.dependence import exact
from fairdash.dependence.exact import gaussian
from fairdash.dependence.patterns import PATTERNS
from fairdash.errors import OptionError
from fairdash.lab import SCENES, SHAPES, Example, Progress, Scene, scene_estimates, truth_of
from fairdash.lab.estimates import is_detected, learned_curves, measure_pairs, values_of
from fairdash.lab.scene import NO_LINK, POINTS
from fairdash.lab.studies import power_study
from fairdash.lab.truth import (
    bound_crossing,
    hgr2,
    information,
    mi_crossing,
    middle,
    printed_threshold,
    upper,
)
from fairdash.utils.records import from_plain, to_plain
from tests.tiers import few

QUICK = ["pearson", "hgr_kde", "hgr_spline"]


def last(study: Iterator[Progress]) -> Progress:
    fractions = []
    for progress in study:
        fractions.append(progress.fraction)
    assert (fractions, fractions[-1]) == (sorted(fractions), pytest.approx(1.0))
    return progress


def example(id: str) -> Example:
    return next(each for each in SCENES if each.id == id)


def read(id: str) -> pd.DataFrame:
    return scene_estimates(example(id).scene).set_index("id")


def seen(table: pd.DataFrame, id: str) -> bool:
    return is_detected(id, table.loc[id, "value"], table.loc[id, "floor_q95"])


def test_simulated_data_sets_of_different_noise_levels_use_the_same_random_draws() -> None:
    quiet, loud = Scene(noise=1.0).draw(), Scene(noise=3.0).draw()
    assert np.array_equal(quiet[0], loud[0])
    shape = Scene().shape
    assert np.allclose(3 * (quiet[1] - shape(quiet[0])), loud[1] - shape(loud[0]))


def test_custom_points_define_a_piecewise_linear_curve_and_invalid_simulations_are_refused() -> None:
    scene = Scene(pattern=POINTS, points=((-10, 0), (0, 5), (10, 0)))
    assert scene.named([-5.0, 0.0, 5.0]).tolist() == [2.5, 5.0, 2.5]
    assert from_plain(Scene, to_plain(scene)) == scene
    with pytest.raises(OptionError):
        Scene(pattern=POINTS).named  # noqa: B018 (asking for it is the test)
    for options in ({"pattern": "spiral"}, {"n": 3}, {"noise": -1.0}, {"noise": float("nan")}, {"ties": 1.0}):
        with pytest.raises(OptionError):
            Scene(**options)


def test_the_heavy_tails_option_keeps_ranks_and_makes_values_lognormal() -> None:
    scene = Scene(n=1000, ties=0.2, seed=1)
    heavy = replace(scene, heavy_tails=True)
    for plain, mapped in zip(scene.draw(repeats=2), heavy.draw(repeats=2), strict=True):
        assert np.array_equal(rankdata(plain, axis=1), rankdata(mapped, axis=1))
    assert heavy.shape(np.array([7.0])) == scene.shape(np.array([7.0]))
    for x in Scene(pattern=NO_LINK, n=5000, noise=3.0, heavy_tails=True).draw():
        assert kstest(np.log(x[0]), "norm", args=(0, 2)).pvalue > 0.01


#: Scene, mapped to the measures that miss its link, and to one that has at least this value.
UNSEEN = {
    "u_shape": (("pearson", "spearman", "kendall"), "hgr_spline", "value", 0.95),
    "forty_waves": (("hgr_kde", "hgr_kde_scores", "hgr_rdc"), "hgr_spline", "value", 0.3),
    "fast_cosine": (("hgr_kde", "chi2_kde", "hgr_rdc", "kcca"), "hgr_spline", "value", 0.9),
    "ties": (("hgr_rdc",), "hgr_rdc", "published", 0.9),
    "small_groups": (("fairquant",), "fairquant", "value", 1),
}


@pytest.mark.parametrize("scene", UNSEEN)
def test_in_each_simulated_example_the_named_estimators_fail_as_described(scene: str) -> None:
    unseen, id, column, least = UNSEEN[scene]
    table = read(scene)
    assert not any(seen(table, each) for each in unseen)
    assert table.loc[id, column] > least


def test_examples_show_that_chi2_kde_and_cumulative_fairquant_underestimate_dependence() -> None:
    scene = example("strong_link").scene
    assert read("strong_link").loc["chi2_kde", "value"] < 0.3 * truth_of(scene.shape, noise=scene.noise).chi2
    value = read("top_gap")["value"]
    assert value["fairquant_cumulative"] < 0.5 * value["fairquant"]


def test_the_nearest_neighbour_estimate_of_information_grows_with_the_number_of_rows() -> None:
    scenes = (replace(example("no_noise").scene, noise=0.0, n=n) for n in (200, 2000))
    few, many = (scene_estimates(each, ["mi_ksg"])["value"][0] for each in scenes)
    assert many > few + 1.5


def test_learned_functions_follow_the_pattern_and_measures_without_functions_are_omitted() -> None:
    curves = learned_curves(Scene(noise=0.5), ["pearson", "hgr_spline"])
    assert set(curves["id"]) == {"hgr_spline"}
    f = curves[curves["function"] == "f"]
    shape = Scene().shape(f["x"].to_numpy())
    assert abs(np.corrcoef(f["y"], shape)[0, 1]) > 0.95


def test_at_most_two_estimators_detect_dependence_in_pure_noise() -> None:
    table = read("pure_noise")
    assert sum(seen(table, id) for id in table.index) <= 2


def test_chi2_and_mine_from_one_joint_training_equal_those_from_two_trainings() -> None:
    u, v = Scene(n=60).draw(repeats=3)
    v[1] = 1.0  # one constant pair among the pairs that are measured together
    found = {
        (id, evaluation): values
        for _, id, evaluation, values in measure_pairs(["chi2_nn", "pearson", "mi_mine"], u, v)
        if values is not None
    }
    assert len(found) == 5
    for (id, evaluation), values in found.items():
        assert np.array_equal(values, values_of(id, u, v, evaluation=evaluation))


def test_power_falls_with_noise_to_the_false_alarm_rate() -> None:
    scene = Scene(pattern="parabola", n=100)
    table = last(power_study(scene, noises=(0.5, 200.0), repeats=40, ids=QUICK)).tables["power"]
    rate = table.set_index(["id", "noise"])["rate"]
    assert rate["hgr_spline", 0.5] == 1
    assert rate["hgr_spline", 200.0] < 0.25
    assert rate["pearson", 0.5] < 0.3
    assert ((table["low"] <= table["rate"] + 1e-9) & (table["rate"] <= table["high"] + 1e-9)).all()


def test_false_alarms_of_the_power_study_are_five_percent() -> None:
    options = {"noises": (1.0,) * 4, "repeats": 150, "ids": ["pearson"]}
    table = last(power_study(Scene(pattern=NO_LINK, n=50), **options)).tables["power"]
    assert table["rate"].mean() == pytest.approx(0.05, abs=0.03)


def smooth(id: str) -> bool:
    return SHAPES[id].kind == "smooth"


@pytest.mark.parametrize("id", few(SHAPES, "cosine", "step", "top_jump", "none"))
def test_the_correlation_of_optimal_transformations_equals_the_exact_hgr(id: str) -> None:
    truth = truth_of(SHAPES[id], noise=2.0)
    assert truth.hgr == exact.pattern_hgr(SHAPES[id], noise=2.0).value
    u, v = Scene(pattern=id, n=200_000, noise=2.0).draw()
    f, g = np.interp(u[0], truth.u, truth.f), np.interp(v[0], truth.v, truth.g)
    if truth.hgr == 0:
        assert not f.any()
        return
    # The page's grid of u is coarse for steps and for forty waves.
    assert np.corrcoef(f, g)[0, 1] == pytest.approx(truth.hgr, abs=0.005 if smooth(id) else 0.03)


#: Pattern of two levels, mapped to the share of the upper level and to both levels.
CHANNELS = {"step": (0.5, 5.0, -5.0), "top_jump": (0.05, 10.0, 0.0)}


@pytest.mark.parametrize("noise", few([0.5, 1.0, 1.5, 2.0, 4.0, 9.0], 1.0, 4.0))
@pytest.mark.parametrize("id", CHANNELS)
def test_hgr_chi2_and_mi_of_a_two_level_pattern_equal_those_of_a_noisy_channel(id: str, noise: float) -> None:
    share, *levels = CHANNELS[id]
    v = np.linspace(-5 - 12 * noise, 10 + 12 * noise, 400_001)
    parts = [np.exp(-0.5 * ((v - level) / noise) ** 2) for level in levels]
    parts = [part / part.sum() for part in parts]
    mean = share * parts[0] + (1 - share) * parts[1]
    ratios = [np.divide(part, mean, out=np.ones_like(v), where=mean > 0) for part in parts]
    chi2, mi = -1.0, 0.0
    for weight, part, ratio in zip((share, 1 - share), parts, ratios, strict=True):
        chi2 += weight * (part * ratio).sum()
        mi += weight * (part * np.log(np.where(part > 0, ratio, 1))).sum()
    truth = truth_of(PATTERNS[id], noise=noise)
    # One bit determines U, so HGR² equals χ².
    assert truth.hgr**2 == pytest.approx(chi2, abs=1e-4)
    assert (truth.chi2, truth.mi) == (pytest.approx(chi2, abs=1e-4), pytest.approx(mi, abs=1e-4))


def test_only_patterns_with_few_values_have_finite_information_without_noise() -> None:
    assert math.isinf(truth_of(PATTERNS["cosine"], noise=0.0).mi)
    step = truth_of(PATTERNS["step"], noise=0.0)
    assert (step.hgr, step.chi2) == (1.0, 1.0)
    assert step.mi == pytest.approx(math.log(2))


def test_the_option_ties_sets_a_share_of_rows_to_zero_and_the_exact_value_accounts_for_ties() -> None:
    scene = Scene(ties=0.5, n=200_000, pattern="parabola")
    u, v = scene.draw()
    assert np.mean(u == 0) == pytest.approx(0.5, abs=0.01)
    truth = truth_of(scene.shape, noise=scene.noise)
    # f depends only on F(U), and for the parabola F has the order of |U|
    f = np.interp(np.abs(u[0]), (np.maximum(truth.u, 0) - 5).clip(0) * 2, truth.f)
    g = np.interp(v[0], truth.v, truth.g)
    assert np.corrcoef(f, g)[0, 1] == pytest.approx(truth.hgr, abs=0.01)


def test_the_middle_term_of_the_bound_is_hgr_squared_in_bits_and_below_hgr_squared_in_nats() -> None:
    chi2 = np.geomspace(1e-6, 1e3, 200)
    bits, nats = (middle(information(chi2, base)) for base in ("bits", "nats"))
    assert np.allclose(bits, hgr2(chi2), rtol=1e-9)
    assert (bits < chi2).all()
    assert (nats < hgr2(chi2)).all()
    truth = gaussian(0.7)
    chi2 = np.array(truth.chi2)
    assert float(information(chi2, "nats")) == pytest.approx(truth.mi)
    assert float(hgr2(chi2)) == pytest.approx(truth.hgr**2)


def test_the_stated_thresholds_are_the_intersections_of_the_bounds() -> None:
    assert printed_threshold() == pytest.approx(-0.3458, abs=1e-4)
    assert bound_crossing("nats") == pytest.approx(0.3181, abs=1e-4)
    assert bound_crossing("bits") == pytest.approx((math.sqrt(5) - 1) / 2)
    for base, at in (("nats", bound_crossing("nats")), ("bits", bound_crossing("bits"))):
        assert float(upper(np.array(at), base)) == pytest.approx(at)
    assert math.sqrt(mi_crossing("bits")) == pytest.approx(math.sqrt(0.5))
    assert math.sqrt(mi_crossing("nats")) == pytest.approx(0.8926, abs=1e-4)
