"""The guided visit in a browser: on every page it names, by keys, over a reload, and left at any time."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from fairdash.ui.home import STEPS
from tests.browser.steps import come_to_rest, fits, violations

pytestmark = pytest.mark.browser


def test_a_visit_goes_from_page_to_page_by_keys_is_kept_and_is_left(page: Page) -> None:
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
    # It follows to other pages, and Escape leaves it.
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
