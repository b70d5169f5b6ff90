"""The page on the paper in a real browser: parts opened by a click, links, a phone's width."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from tests.browser.steps import come_to_rest

pytestmark = pytest.mark.browser


def fits_a_phone(page) -> None:
    """Nothing scrolls sideways at 390 pixels, once the page has settled."""
    main = "document.querySelector('[data-testid=stMain]')"
    until = time.monotonic() + 10
    while not page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth"):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_the_paper_is_read_part_by_part(page) -> None:
    page.goto("/paper")
    page.get_by_text("fairness values are at or below").first.wait_for()
    page.get_by_text("Table: every value").click()
    page.get_by_test_id("stDataFrame").first.wait_for()
    page.get_by_text("Fig. 3: the networks").click()
    # Table 1 has two.
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    notes = page.evaluate(
        "document.querySelector('.js-plotly-plot').layout.annotations.map(each => each.text)"
    )
    assert any("h<sub>φ</sub>(X)" in note for note in notes)
    link = page.url
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(link)
    page.locator(".js-plotly-plot").wait_for()
    fits_a_phone(page)


def test_the_household_by_residuals_and_from_the_surface_alone(page) -> None:
    page.goto("/paper")
    page.get_by_text("Fig. 4: household prices").click()
    page.get_by_text("Average price by age").first.wait_for()
    page.get_by_text("Equalized residuals", exact=True).click()
    page.get_by_text("The standard network's residuals have an HGR of").wait_for()
    come_to_rest(page)
    # Once at rest; while the page is drawn anew the chart before is still there, fading.
    expect(page.get_by_text("Average residual by age")).to_have_count(1)
    page.get_by_text("the surface alone", exact=True).click()
    page.get_by_text("With the surface alone").wait_for()
    come_to_rest(page)
    expect(page.get_by_text("Average residual by age")).to_have_count(1)
    assert "objective=equalized_residuals" in page.url
    assert "reading=household_surface" in page.url
    page.reload()
    page.get_by_text("With the surface alone").wait_for()
    page.set_viewport_size({"width": 390, "height": 900})
    fits_a_phone(page)
