"""The audit in a browser: from the form to the answers, on a desk and on a phone, readable for all."""

from __future__ import annotations

import re
import zipfile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import chart, come_to_rest, take_screenshots
from tests.browser.test_runs import violations

pytestmark = pytest.mark.browser


def test_a_price_is_audited(page: Page) -> None:
    page.goto("/audit")
    page.get_by_role("button", name="Audit this price").wait_for()
    come_to_rest(page)
    assert violations(page) == []
    page.get_by_role("button", name="Audit this price").click()
    expect(page.get_by_text("Independence: ")).to_be_visible(timeout=90_000)
    expect(page.get_by_text("shown above the threshold").first).to_be_visible()
    # A parabola in age: no correlation, and a wide gap.
    curve = chart(page, "Average Cost by Age")["curve"]
    middle = curve["y"][len(curve["y"]) // 2]
    assert middle > 1.1 * max(curve["y"][0], curve["y"][-1])
    come_to_rest(page)
    assert violations(page) == []
    take_screenshots(page, "audit")
    with page.expect_download() as download:
        page.get_by_role("button", name="Everything (zip)").click()
    with zipfile.ZipFile(download.value.path()) as taken:
        assert {"audit.json", "curve.csv", "verdicts.csv"} <= set(taken.namelist())
    page.reload()
    expect(page).to_have_url(re.compile("audit="))
    expect(page.get_by_text("1. Does the price follow it?")).to_be_visible()
