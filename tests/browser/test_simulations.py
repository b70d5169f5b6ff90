"""The pages of simulations in a real browser: a slider moved, a scene opened, a phone's width, a deep
link."""

from __future__ import annotations

import re

import pytest

from fairdash.lab import Scene, scene_estimates, truth_of
from tests.browser.steps import drag_slider
from tests.serving import until

pytestmark = pytest.mark.browser


def shown(page, url: str):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(url)
    page.get_by_test_id("stMain").get_by_role("heading", level=1).wait_for()
    page.locator(".js-plotly-plot, .stage .main-svg").first.wait_for()
    return page


def answer(page) -> str:
    said = page.get_by_test_id("stMarkdownContainer")
    return said.filter(has_text=re.compile("exact maximal|HGR² = ")).last.inner_text()


def stage(page) -> dict:
    """Where the pictures are, as the browser draws them."""
    return page.locator(".stage").evaluate(
        """each => ({at: each.stage.at, target: each.stage.target,
            noise: Number(each.stage.data.slider.stops[each.stage.at]),
            v: [...each.stage.figures[0].traces[0].y], bars: [...each.stage.figures[1].traces[1].x],
            exact: each.stage.figures[1].traces[2].x[0]})"""
    )


def at_rest(page) -> dict:
    until(lambda: (now := stage(page))["at"] == now["target"])
    return stage(page)


def test_rows_and_readings_follow_the_hand_and_the_server_hears_of_the_end(page) -> None:
    shown(page, "/patterns?n=200&noise=1")
    said, begun = answer(page), stage(page)
    assert begun["noise"] == 1
    drag_slider(page, page.get_by_role("slider", name="Noise, σ"), to=0.7)
    held = at_rest(page)
    scene = Scene(n=200, noise=held["noise"])
    assert held["noise"] > 5
    assert held["v"] == pytest.approx(scene.draw()[1][0], rel=1e-3, abs=1e-3)
    read = scene_estimates(scene, ["hgr_kde", "hgr_spline", "pearson"])["value"].abs()
    assert [held["bars"][k] for k in (0, 2, 3)] == pytest.approx(list(read), abs=1e-4)
    assert held["exact"] == pytest.approx(truth_of(scene.shape, noise=scene.noise).hgr, abs=1e-4)
    page.wait_for_timeout(500)
    assert answer(page) == said, "the hand has not let go"
    page.mouse.up()
    page.wait_for_url(re.compile(rf"noise={held['noise']:g}(&|$)"))
    until(lambda: f"{held['exact']:.2f}" in answer(page))
    after = at_rest(page)
    assert (after["at"], after["v"]) == (held["at"], pytest.approx(held["v"], abs=1e-3))
