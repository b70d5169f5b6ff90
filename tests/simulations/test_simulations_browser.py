"""The pages of simulations in a real browser: a slider moved, a scene opened, a phone's width, a deep link."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from tests.serving import served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app, served for this module."""
    with served(tmp_path_factory.mktemp("simulations") / "home") as url:
        yield url


def shown(browser, url: str, *, width: int = 1440):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(60_000)
    page.goto(url)
    page.get_by_test_id("stMain").get_by_role("heading", level=1).wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    return page


def answer(page) -> str:
    return (
        page.get_by_test_id("stMarkdownContainer")
        .filter(has_text=re.compile("exact maximal|HGR² = "))
        .last.inner_text()
    )


def wait_until(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_deep_link_opens_its_scene_and_a_slider_moves_it(browser, address: str) -> None:
    page = shown(browser, f"{address}/patterns?pattern=parabola&noise=0.5&draw=3")
    assert "Pearson" in answer(page)
    assert "0.99" in answer(page)
    slider = page.get_by_role("slider", name="Noise, σ")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    wait_until(lambda: "noise=3" in page.url)
    wait_until(lambda: "0.73" in answer(page))
    page.close()


def test_one_click_shows_an_estimator_fail(browser, address: str) -> None:
    page = shown(browser, f"{address}/patterns")
    page.get_by_role("button", name="HGR_KDE: a fast cosine").click()
    page.get_by_text("Ten waves are finer").wait_for()
    assert "pattern=fast_cosine" in page.url
    page.close()


def test_the_noise_axis_follows_by_itself(browser, address: str) -> None:
    page = shown(browser, f"{address}/patterns?n=50")
    page.get_by_text("Root mean squared error").or_(
        page.get_by_text("Errors against the exact value")
    ).first.wait_for(timeout=300_000)  # after the scene's own study, in a process of low priority
    titles = page.evaluate(
        "Array.from(document.querySelectorAll('.js-plotly-plot')).map(gd => gd.layout.title.text)"
    )
    assert any("whole noise axis" in title for title in titles)
    page.close()


@pytest.mark.parametrize("path", ["patterns", "gaussians"])
def test_nothing_scrolls_sideways_on_a_phone(browser, address: str, path: str) -> None:
    page = shown(browser, f"{address}/{path}", width=390)
    main = "document.querySelector('[data-testid=stMain]')"
    wait_until(lambda: page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth"), 10)
    page.close()


def test_gaussians_in_bits(browser, address: str) -> None:
    page = shown(browser, f"{address}/gaussians?rho=0.9&base=bits")
    assert "1.198 bits" in answer(page)
    page.get_by_text("There is no threshold").wait_for()
    page.close()
