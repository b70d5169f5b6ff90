"""What moves with the hand: every stop's figures are those of the library, and only stops are released at."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from benchmarks.home_curve import THEMES, picture
from fairdash.figures.stage import stage_script, stage_style
from fairdash.reports.stage import four_numbers, stops_of
from fairdash.training.methods import ModelKey
from fairdash.ui.home import KEY, sentence
from tests.ui.conftest import numbers, open_page, stage, words
from tests.ui.test_tradeoff import compared

#: What browsers are given at most, with script and styles.
MOST_BYTES = 600_000


@pytest.mark.parametrize(
    ("objective", "a"),
    [("demographic_parity", ModelKey("standard", 0.0)), ("equalized_residuals", ModelKey("hgr_nn", 4.0))],
)
def test_each_stop_shows_what_the_comparison_finds_there(finished_run, objective, a):
    found = replace(compared(finished_run, 1.0, a=a), objective=objective)
    stops = stops_of(found)
    for k, point in enumerate(stops.points):
        here = replace(found, b=point)
        profile = here.profile(point)
        for name in ("mean", "low", "high"):
            assert np.allclose(getattr(stops, name)[k], profile[name]), (name, point)
        cards = four_numbers(here)
        assert stops.values[k] == tuple(card[1] for card in cards)
        assert stops.below[k] == tuple(card[2] for card in cards)


def test_what_moves_stands_at_the_chosen_stop_as_the_figures_say_and_is_small(finished_run):
    data = stage(open_page("tradeoff", run=finished_run.id, lam="2.3"))
    own = len((stage_script() + stage_style()).encode())
    for each in (data, stage(open_page("home"))):
        assert own + len(json.dumps(each)) < MOST_BYTES
    at = data["slider"]["at"]
    for move in data["moves"]:
        if move["kind"] != "trace":
            continue
        trace = data["figures"][move["figure"]]["spec"]["data"][move["part"]]
        assert numbers(trace["y"]) == pytest.approx(np.array(move["y"][at]), rel=1e-4)
        assert move.get("name", [trace["name"]] * 99)[at] == trace["name"]


def test_an_address_between_two_stops_shows_the_middle_one(finished_run):
    data = stage(open_page("tradeoff", run=finished_run.id, lam="1.234567"))
    assert data["slider"]["stops"][data["slider"]["at"]] == "1"


@pytest.fixture
def curve():
    return json.loads(files("fairdash.ui").joinpath("home_curve.json").read_text(encoding="utf-8"))


def test_home_says_what_its_numbers_say(curve):
    at = open_page("home")
    assert sentence(curve, stage(at)["slider"]["at"]) in words(at)
    end = len(curve["lam"]) - 1
    at.session_state[KEY("at")] = end
    at = at.run()
    assert stage(at)["slider"]["at"] == end
    apart, before = (max(curve["mean"][k]) - min(curve["mean"][k]) for k in (end, 0))
    old, new = curve["rmse"][0], curve["rmse"][end]
    error = f"the root mean squared error grows from {old:.1f} € to {new:.1f} €"
    assert f"differ by {apart:.0f} € across ages instead of {before:.0f} €, {error}" in words(at)
    link = "no longer finds a link" if curve["p"][end] > 0.05 else "still finds a link"
    assert link in words(at)
    assert apart < before / 2, "what the page is about"


@pytest.mark.parametrize("name", list(THEMES))
def test_the_picture_of_home_is_made_of_its_numbers(curve, name):
    assert json.loads(json.dumps(picture(curve, THEMES[name]))) == curve[name]
