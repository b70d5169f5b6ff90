"""The studies, and the scenes that show an estimator fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, rankdata

from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.lab import SCENES, SHAPES, Example, Progress, Scene, scene_estimates, truth_of
from fairdash.lab.estimates import is_detected, learned_curves, over_stack, values_of
from fairdash.lab.scene import NO_LINK, POINTS
from fairdash.lab.studies import power_study
from fairdash.utils.records import from_plain, to_plain

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


def test_more_noise_is_more_of_the_same_noise() -> None:
    quiet, loud = Scene(noise=1.0).draw(), Scene(noise=3.0).draw()
    assert np.array_equal(quiet[0], loud[0])
    shape = Scene().shape
    assert np.allclose(3 * (quiet[1] - shape(quiet[0])), loud[1] - shape(loud[0]))


def test_points_make_a_curve() -> None:
    scene = Scene(pattern=POINTS, points=((-10, 0), (0, 5), (10, 0)))
    assert scene.named([-5.0, 0.0, 5.0]).tolist() == [2.5, 5.0, 2.5]
    assert from_plain(Scene, to_plain(scene)) == scene
    with pytest.raises(OptionError):
        Scene(pattern=POINTS).named  # noqa: B018 (asking for it is the test)
    for options in ({"pattern": "spiral"}, {"n": 3}, {"noise": -1.0}, {"noise": float("nan")}, {"ties": 1.0}):
        with pytest.raises(OptionError):
            Scene(**options)


def test_heavy_tails_are_increasing_maps_of_the_same_rows_and_lognormal() -> None:
    scene = Scene(n=1000, ties=0.2, seed=1)
    heavy = replace(scene, heavy_tails=True)
    for plain, mapped in zip(scene.draw(repeats=2), heavy.draw(repeats=2), strict=True):
        assert np.array_equal(rankdata(plain, axis=1), rankdata(mapped, axis=1))
    assert heavy.shape(np.array([7.0])) == scene.shape(np.array([7.0]))
    for x in Scene(pattern=NO_LINK, n=5000, noise=3.0, heavy_tails=True).draw():
        assert kstest(np.log(x[0]), "norm", args=(0, 2)).pvalue > 0.01


#: Scene to the measures that do not see its link, and one that has at least this value.
UNSEEN = {
    "u_shape": (("pearson", "spearman", "kendall"), "hgr_spline", "value", 0.95),
    "fast_cosine": (("hgr_kde", "chi2_kde", "hgr_rdc", "kcca"), "hgr_spline", "value", 0.9),
    "ties": (("hgr_rdc",), "hgr_rdc", "published", 0.9),
    "small_groups": (("fairquant",), "fairquant", "value", 1),
}


@pytest.mark.parametrize("scene", UNSEEN)
def test_a_scene_shows_who_does_not_see_the_link_or_sees_one_that_is_not_there(scene: str) -> None:
    unseen, id, column, least = UNSEEN[scene]
    table = read(scene)
    assert not any(seen(table, each) for each in unseen)
    assert table.loc[id, column] > least


def test_steps_see_half_of_forty_waves_and_splines_none() -> None:
    scene = example("forty_waves").scene
    table = read("forty_waves")
    assert truth_of(scene.shape, noise=scene.noise).hgr > 0.99
    assert not any(seen(table, id) for id in ("hgr_kde", "hgr_kde_scores", "hgr_rdc"))
    assert table.loc["hgr_spline", "published"] < 0.2
    assert seen(table, "hgr_spline")
    assert 0.3 < table.loc["hgr_spline", "value"] < 0.7


def test_chi2_kde_is_far_too_low_on_a_strong_link_and_cumulative_fairquant_dilutes_the_top() -> None:
    scene = example("strong_link").scene
    assert read("strong_link").loc["chi2_kde", "value"] < 0.3 * truth_of(scene.shape, noise=scene.noise).chi2
    value = read("top_gap")["value"]
    assert value["fairquant_cumulative"] < 0.5 * value["fairquant"]


def test_nearest_neighbour_information_grows_with_the_rows() -> None:
    scenes = (replace(example("no_noise").scene, noise=0.0, n=n) for n in (200, 2000))
    few, many = (scene_estimates(each, ["mi_ksg"])["value"][0] for each in scenes)
    assert many > few + 1.5


def test_curves_are_learned_functions_of_the_rows() -> None:
    curves = learned_curves(Scene(noise=0.5), ["pearson", "hgr_spline"])
    assert set(curves["id"]) == {"hgr_spline"}
    f = curves[curves["function"] == "f"]
    shape = Scene().shape(f["x"].to_numpy())
    assert abs(np.corrcoef(f["y"], shape)[0, 1]) > 0.95


def test_no_estimator_finds_more_than_chance_in_pure_noise() -> None:
    table = read("pure_noise")
    assert sum(seen(table, id) for id in table.index) <= 2


@pytest.mark.parametrize("each", SCENES, ids=lambda each: each.id)
def test_scenes_are_of_known_measures_and_controls(each: Example) -> None:
    assert each.measure in REGISTRY or each.measure == "hgr_nn"
    assert each.scene.pattern in SHAPES
    assert each.scene.noise * 4 == int(each.scene.noise * 4)
    assert set(each.also) <= set(REGISTRY) - {each.measure}


def test_one_training_gives_chi2_and_mine_as_two_do() -> None:
    u, v = Scene(n=60).draw(repeats=3)
    v[1] = 1.0  # a constant, of which a stack may hold some
    found = {
        (id, evaluation): values
        for _, id, evaluation, values in over_stack(["chi2_nn", "pearson", "mi_mine"], u, v)
        if values is not None
    }
    assert len(found) == 5
    for (id, evaluation), values in found.items():
        assert np.array_equal(values, values_of(id, u, v, evaluation=evaluation))


def test_power_falls_from_all_to_the_false_alarms() -> None:
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
