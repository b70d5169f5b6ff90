"""The page on the paper in a real browser: a part opened by a click, its link, and a phone's width."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.browser


def test_the_paper_is_read_part_by_part(page) -> None:
    page.goto("/paper")
    page.get_by_text("fairness values are at or below").first.wait_for()
    page.get_by_test_id("stDataFrame").wait_for()
    page.get_by_text("Fig. 3: the networks").click()
    page.locator(".js-plotly-plot").wait_for()
    notes = page.evaluate(
        "document.querySelector('.js-plotly-plot').layout.annotations.map(each => each.text)"
    )
    assert any("h<sub>φ</sub>(X)" in note for note in notes)
    link = page.url
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(link)
    page.locator(".js-plotly-plot").wait_for()
    main = "document.querySelector('[data-testid=stMain]')"
    until = time.monotonic() + 10
    while not page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth"):
        assert time.monotonic() < until
        time.sleep(0.1)
