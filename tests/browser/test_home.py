"""The home page in a browser: a curve that moves, its sentence, both widths, no barrier."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.steps import chart, come_to_rest, take_screenshots, violations
from tests.tiers import few

pytestmark = pytest.mark.browser


def spread(values: list[float]) -> float:
    return max(values) - min(values)


@pytest.mark.parametrize("scheme", few(["light", "dark"], "dark"))
def test_the_curve_flattens_under_the_slider(page: Page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto("/")
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("End")
    page.get_by_text("At λ = 5 ").wait_for()
    come_to_rest(page)
    drawn = chart(page, "Average price by age")
    assert spread(drawn["λ = 5"]["y"]) < 0.5 * spread(drawn["standard model"]["y"])
    take_screenshots(page, f"home-{scheme}")
    assert violations(page) == []
