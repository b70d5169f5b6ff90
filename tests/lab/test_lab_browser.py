"""The lab pages in a real browser: a slider moved, a scene opened, a phone's width, a deep link."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app, served for this module."""
    port = free_port()
    home = tmp_path_factory.mktemp("home")
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = os.environ | {"FAIRDASH_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health", home / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=20)


def wait_for(url: str, log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the app did not start: {log.read_text()}")


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield one
        one.close()


def shown(browser, url: str, *, width: int = 1440):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(60_000)
    page.goto(url)
    page.get_by_test_id("stMain").get_by_role("heading", level=1).wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    return page


def answer(page) -> str:
    return page.get_by_test_id("stMain").get_by_test_id("stMarkdownContainer").nth(1).inner_text()


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
    ).first.wait_for()
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
