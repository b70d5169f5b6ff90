"""The lesson in a real browser: a guess, a curve dragged and moved by keys, addresses, the lab, a phone, axe."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from fairdash.lesson import curve, duel, noise, payers
from tests.browser.steps import come_to_rest
from tests.serving import served

pytestmark = pytest.mark.browser

#: Streamlit's own list of pages holds headings between its items.
NOT_OURS = {"exclude": [["[data-testid=stSidebarNavItems]"]]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app, served for this module."""
    with served(tmp_path_factory.mktemp("lesson") / "home") as url:
        yield url


def plain(said: str) -> re.Pattern:
    """The first sentence, as the page shows it."""
    return re.compile(re.escape(said.partition(".**")[0].strip("*")))


def guess(page: Page, words: str) -> None:
    page.get_by_text(words, exact=True).click()
    page.get_by_text("Guess first").wait_for(state="detached")


def serious(page: Page) -> list[str]:
    come_to_rest(page)
    found = Axe().run(page, context=NOT_OURS).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]


def test_a_curve_is_guessed_at_dragged_and_moved_by_keys(page: Page) -> None:
    page.goto("/lesson")
    first = page.get_by_role("slider", name="Price at the age of 20")
    first.wait_for()
    expect(page.locator(".value").first).to_have_text("?")
    guess(page, "Only a little")
    page.get_by_text(plain(curve.sentence(curve.HUMP))).wait_for()
    expect(page.locator(".value").first).to_have_text("0.00")
    # By keys: the dials follow in the browser, the sentence on release.
    for _ in range(8):
        first.press("ArrowUp")
    points = curve.points_of([-2.0, 3.0, 6.0, 3.0, -6.0])
    page.get_by_text(plain(curve.sentence(points))).wait_for()
    read = curve.dials(points)
    shown = [float(each.replace("−", "-")) for each in page.locator(".value").all_inner_texts()]
    # Sixty cells in the browser, the library's quadrature in the sentence.
    assert shown == pytest.approx([read.pearson, read.hgr], abs=0.011)
    assert "points=-10:-2" in page.url.replace("%3A", ":").replace("%2C", ",")
    # By hand: the last point up to the middle.
    last = page.get_by_role("slider", name="Price at the age of 60")
    box = last.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"], box["y"] - 60, steps=6)
    page.mouse.up()
    page.wait_for_function("() => !decodeURIComponent(location.search).includes('10:-6')")
    assert serious(page) == []
    page.get_by_role("link", name="Open in the lab").click()
    page.get_by_role("heading", name="Which measure sees the link?").wait_for()
    assert "pattern=points" in page.url


def test_an_address_opens_a_scene_in_its_state(page: Page) -> None:
    page.goto("/lesson?scene=3&n=500&trained=100")
    page.get_by_role("heading", name="An adversary reads").wait_for()
    guess(page, "It depends on rows and steps")
    page.get_by_text(plain(noise.sentence(500, 100))).wait_for()
    page.get_by_role("slider", name="Steps").press("ArrowRight")
    page.get_by_text(plain(noise.sentence(500, 200))).wait_for()
    assert "trained=200" in page.url
    assert serious(page) == []
    page.goto("/lesson?scene=4&step=120&frozen=true")
    guess(page, "It forgets age")
    page.get_by_text(plain(duel.sentence(True, 120))).wait_for()
    assert serious(page) == []
    page.goto("/lesson?scene=5&weight=3&objective=equalized_residuals")
    guess(page, "Everyone a little")
    page.get_by_text(plain(payers.sentence("equalized_residuals", 3.0))).wait_for()
    assert serious(page) == []


def test_the_cloud_is_played_and_fits_a_phone(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 900})
    for scene in ("1", "3", "4", "5", "2"):
        page.goto(f"/lesson?scene={scene}")
        page.get_by_test_id("stMain").get_by_role("heading", level=1).wait_for()
        come_to_rest(page)
        main = "document.querySelector('[data-testid=stMain]')"
        assert page.evaluate(f"{main}.scrollWidth - {main}.clientWidth") <= 1, scene
    slope = "document.querySelector('.js-plotly-plot')._fullData[1].y[1]"
    page.locator(".js-plotly-plot").wait_for()
    before = page.evaluate(slope)
    page.get_by_text("▶ Play").click()
    page.wait_for_function(f"() => {slope} > 2.5")
    assert abs(before) < 0.5
