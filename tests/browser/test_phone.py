"""Every page with nothing there, as a phone shows it: nothing scrolls sideways, and nobody is kept out."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from fairdash.ui.pages import PAGES
from tests.browser.steps import come_to_rest, violations
from tests.tiers import few

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", few(["light", "dark"], "dark"))
def test_every_page_fits_a_phone(page: Page, scheme: str) -> None:
    # The page of patterns comes to rest when its networks are trained; a busy machine takes its time for it.
    page.set_default_timeout(240_000)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    for name in PAGES:
        page.goto({"home": "/", "patterns": "/patterns?n=50"}.get(name, f"/{name}"))
        main = page.get_by_test_id("stMain")
        main.get_by_role("heading", level=1).first.wait_for()
        come_to_rest(page)
        assert main.evaluate("each => each.scrollWidth - each.clientWidth") <= 1, name
        assert violations(page) == [], name
