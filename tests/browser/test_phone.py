"""Every page on a phone, the tour, and the simulations, in a browser."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from fairdash.lab import Progress, Scene, noise_axis_study, scene_estimates, truth_of
from fairdash.lab.studies import Study, gaussian_study
from fairdash.ui.home import STEPS
from fairdash.ui.pages import PAGES
from tests.browser.steps import come_to_rest, drag_slider, fits, violations
from tests.lab.simulations.test_simulations_pages import IDS, carried_out
from tests.serving import until
from tests.tiers import few

pytestmark = pytest.mark.browser


def make_studies() -> None:
    """Replace the studies of the simulation pages by small ones, so that the pages finish quickly."""
    scene, few_rows = Scene(), {"repeats": 2, "ids": IDS}
    for study, progress in (
        (Study("scene", scene), iter([Progress(1.0, "done", {"readings": scene_estimates(scene, IDS)})])),
        (Study("noise_axis", replace(scene, noise=0.0)), noise_axis_study([Scene(n=50)], **few_rows)),
        (Study("gaussians", Scene(n=2000, seed=0)), gaussian_study(n=50, **few_rows)),
    ):
        carried_out(study, progress)


@pytest.mark.parametrize("scheme", few(["light", "dark"], "dark"))
def test_every_page_fits_a_phone(page: Page, scheme: str) -> None:
    make_studies()
    page.set_default_timeout(240_000)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    for name in PAGES:
        page.goto("/" if name == "home" else f"/{name}")
        page.get_by_test_id("stMain").get_by_role("heading", level=1).first.wait_for()
        come_to_rest(page)
        assert fits(page), name
        assert violations(page) == [], name


def test_the_tour_works_by_keyboard_survives_a_reload_and_can_be_left(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/")
    come_to_rest(page)
    expect(page.get_by_text("Tour, 1 of")).to_have_count(0)
    page.get_by_role("link", name="two-minute tour").press("Enter")
    for place, (name, words) in enumerate(STEPS, 1):
        page.get_by_text(f"Tour, {place} of {len(STEPS)}.").wait_for()
        page.get_by_text(words).wait_for()
        come_to_rest(page)
        path = page.url.partition("?")[0].rpartition("/")[2]
        assert path == ("" if name == "home" else name)
        assert f"visit={place}" in page.url
        assert fits(page)
        if place == 2:
            page.reload()
            page.get_by_text(words).wait_for()
            come_to_rest(page)
            assert violations(page) == []
        if place < len(STEPS):
            page.get_by_role("button", name="Next", exact=True).press("Enter")
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_text("Tour, ")).to_have_count(0)
    assert "visit" not in page.url
    # The tour continues on other pages, and Escape ends it.
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/?visit=3")
    page.get_by_text(STEPS[2][1]).wait_for()
    come_to_rest(page)
    page.get_by_role("link", name="The paper", exact=True).click()
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("button", name="Next", exact=True).wait_for()
    come_to_rest(page)
    page.keyboard.press("Escape")
    expect(page.get_by_text("Tour, ")).to_have_count(0)
    page.wait_for_url(lambda url: "visit" not in url)
    page.goto("/?visit=9")
    page.get_by_role("heading", name="How fair is a price").wait_for()
    come_to_rest(page)
    expect(page.get_by_text("Tour, ")).to_have_count(0)


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
    """The figures, as the browser draws them."""
    return page.locator(".stage").evaluate(
        """each => ({at: each.stage.at, target: each.stage.target,
            noise: Number(each.stage.data.slider.stops[each.stage.at]),
            v: [...each.stage.figures[0].traces[0].y], bars: [...each.stage.figures[1].traces[1].x],
            exact: each.stage.figures[1].traces[2].x[0]})"""
    )


def at_rest(page) -> dict:
    until(lambda: (now := stage(page))["at"] == now["target"])
    return stage(page)


def test_simulated_rows_and_estimates_follow_the_slider_and_the_address_updates_on_release(page) -> None:
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
