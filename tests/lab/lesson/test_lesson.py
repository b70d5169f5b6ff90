"""The lesson's sentences state the library's numbers, and its committed values can be reproduced."""

import re

import numpy as np
import pytest

import fairdash as fd
from benchmarks import lesson as maker
from fairdash.lab import lesson
from fairdash.lab.figures.lesson import payers_front_figure
from fairdash.lab.lesson import SCENES
from fairdash.utils.text import number
from fairdash.views.figures.theme import LIGHT
from tests.serving import ROOT
from tests.tiers import few

CURVES = {
    "hump": lesson.HUMP, "line": lesson.points_of([-8.0, -4.0, 0.0, 4.0, 8.0]),
    "level": lesson.points_of([2.0] * 5), "bent": lesson.points_of([-8.0, -4.0, 6.0, 4.0, 0.0]),
}  # fmt: skip


def numbers(said: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", said.replace("−", "-").replace(",", ""))]


@pytest.mark.parametrize("name", few(CURVES, "hump", "bent"))
def test_lesson_scene_1_states_the_exact_values_of_its_curve(name) -> None:
    points = CURVES[name]
    pearson, hgr = numbers(lesson.curve_sentence(points))[:2]
    shape = lesson.curve_scene(points).named
    assert hgr == round(fd.exact.pattern_hgr(shape, noise=lesson.CURVE_NOISE).value, 2)
    rng = np.random.default_rng(0)
    u = rng.uniform(-10, 10, 200_000)
    v = shape(u) + lesson.CURVE_NOISE * rng.normal(size=len(u))
    assert pearson == pytest.approx(fd.measure("pearson", u, v), abs=0.012)


def test_lesson_scene_1_begins_with_zero_correlation_and_strong_dependence() -> None:
    pearson, hgr = lesson.dials(lesson.HUMP)
    assert abs(pearson) < 1e-9
    assert hgr > 0.9
    assert "can follow age without correlation" in lesson.curve_sentence(lesson.HUMP)
    assert "does not follow age" in lesson.curve_sentence(CURVES["level"])
    assert "nearly straight" in lesson.curve_sentence(CURVES["line"])


def test_lesson_scene_2_transforms_both_variables_until_their_correlation_equals_hgr() -> None:
    u, v = (values[0] for values in lesson.curve_scene(lesson.HUMP).draw())
    assert numbers(lesson.straight_sentence(lesson.HUMP, 0))[0] == round(fd.measure("pearson", u, v), 2)
    slope, _, hgr, ada, ben = numbers(lesson.straight_sentence(lesson.HUMP, 1))
    shape = lesson.curve_scene(lesson.HUMP).named
    assert hgr == round(fd.exact.pattern_hgr(shape, noise=lesson.CURVE_NOISE).value, 2)
    x, y = lesson.straightening_rows(lesson.HUMP, 1)
    assert slope == round(float(np.corrcoef(x, y)[0, 1]), 2)
    assert slope == pytest.approx(hgr, abs=0.05)
    # Ada and Ben are two of the rows, with their ages as given.
    assert [ada, ben] == pytest.approx(x[:2], abs=0.0051)
    begun = lesson.straightening_rows(lesson.HUMP, 0)[0][:2] * u.std() + u.mean()
    assert 40 + 2 * begun == pytest.approx(list(lesson.PEOPLE.values()), abs=0.5)


@pytest.mark.parametrize("state", few([(50, 20), (100, 50), (200, 10)], (50, 20)))
def test_lesson_scene_3_states_the_values_measured_by_the_library(state: tuple[int, int]) -> None:
    n, steps = state
    u, v = lesson.independent_rows(n)
    own, new = (
        fd.measure("hgr_nn", u, v, evaluation=each, random_state=0, n_steps=steps)
        for each in ("in_sample", "cross_fit")
    )
    said = numbers(lesson.noise_sentence(n, steps))[:4]
    assert said == pytest.approx([steps, n, own, new], abs=0.0051)


@pytest.mark.parametrize("frozen", [False, True])
def test_lesson_scene_4_states_penalty_error_and_prices_at_each_training_step(frozen: bool) -> None:
    states = lesson.duel_states(frozen).set_index("step")
    assert list(states.index) == list(lesson.DUEL_STEPS)
    for step in (0, lesson.FROZEN_AT, 400):
        said = numbers(lesson.duel_sentence(frozen, step))
        wanted = states.loc[step, ["j", "fresh", "mse"]].tolist()
        assert said[:4] == pytest.approx([step, *wanted], abs=0.0051)
        prices = lesson.duel_by_age(frozen, step)["price"]
        assert said[4] == round(prices.max() - prices.min())
        assert prices.min() - 1 < said[5] < prices.max() + 1


def test_the_stored_values_of_lesson_scene_4_can_be_reproduced() -> None:
    again, committed = maker.duel(games=(False,), steps=(0, 10))["duel"], lesson.duel_states(False)[:2]
    both = (each.drop(columns="frozen").astype(float) for each in (again, committed))
    np.testing.assert_allclose(*both, atol=1e-4)


def test_lesson_scene_5_states_who_pays_more_and_who_pays_less() -> None:
    after, before = (lesson.payers_by_age("demographic_parity", lam).set_index("age") for lam in (3.0, 0.0))
    said = lesson.payers_sentence("demographic_parity", 3.0)
    assert numbers(said)[1:3] == [30, round(after.loc[30, "price"] - before.loc[30, "price"])]
    point = lesson.payers_points("demographic_parity").set_index("lam").loc[3.0]
    assert [part for part in (f"to {point['rmse']:.1f} €", "€ more", "€ less") if part not in said] == []


@pytest.mark.parametrize("objective", lesson.OBJECTIVES)
def test_lesson_scene_5_draws_the_same_noise_floor_at_every_lambda(objective: str) -> None:
    points, floor = lesson.payers_points(objective), lesson.payers_floor(objective)
    assert points["edge"].min() < floor < points["edge"].max()
    # Before the guess, the figure shows one point with the same floor.
    for shown in (points[:1], points):
        for lam in lesson.payers_lams():
            figure = payers_front_figure(shown, lam=lam, edge=floor, around=points, theme=LIGHT)
            (drawn,) = (each.x1 for each in figure.layout.shapes)
            assert drawn == floor
    for lam, hgr in zip(points["lam"][1:], points["hgr"][1:], strict=True):
        said = lesson.payers_sentence(objective, lam)
        assert f"the noise floor, {number(floor)}:" in said
        assert ("removes only noise" in said) == (hgr <= floor)


def test_the_lesson_texts_state_the_titles_and_numbers_of_the_lesson_scenes() -> None:
    notes, exercises = (lesson.text(name) for name in lesson.TEXTS)
    for scene in SCENES.values():
        assert f"## {scene.title}" in notes
        assert scene.question in (ROOT / "docs" / "lesson.md").read_text(encoding="utf-8")
    solutions = exercises.partition("## Solutions")[2]
    said = [numbers(each) for each in re.split(r"^\d\. ", solutions, flags=re.MULTILINE)[1:]]
    euros = said[0][:5]
    points = lesson.points_of([(each - lesson.MIDDLE) / lesson.UNIT for each in euros])
    pearson, hgr = (lesson.signed(each) for each in lesson.dials(points))
    assert f"correlation is {pearson} and HGR is {hgr}" in " ".join(solutions.split())
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    assert said[1][4:6] == pytest.approx(np.linalg.svd(2 * joint)[1].round(12))
    row = lesson.row_of(lesson.noise_readings(50), "steps", 100)
    assert said[2] == pytest.approx([row[name] for name in ("own", "low", "high", "new")], abs=0.0051)
    end = lesson.duel_states(True).iloc[-1]
    assert said[3] == pytest.approx([end["fresh"], end["j"]], abs=0.0051)
    answer = lesson.payers_sentence("demographic_parity", 3.0)
    assert [euros for euros in said[4] if f" {euros:.0f} € " not in answer] == []
