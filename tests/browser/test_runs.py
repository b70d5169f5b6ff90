"""An audit in a browser, and its evidence report without a network."""

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fairdash.auditing.plan import QUESTIONS
from tests.browser.steps import choose, come_to_rest, take_picture, take_screenshots, violations
from tests.ui.test_audit_page import policies

pytestmark = pytest.mark.browser


def opens_offline(report: Path, browser: Browser, *, title: str) -> None:
    for width in (1440, 390):
        context = browser.new_context(offline=True, viewport={"width": width, "height": 900})
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))  # noqa: B023
        page.on("console", lambda each: complaints.append(each.text) if each.type == "error" else None)  # noqa: B023
        page.goto(report.as_uri())
        page.wait_for_selector(".plot .main-svg")
        assert page.locator("h1").inner_text().startswith(title)
        assert page.locator(".plot").count() == page.locator(".plot .plot-container").count() > 5
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) <= 1
        assert violations(page) == []
        take_picture(page, f"audit-report-{width}", full_page=width == 1440)
        assert complaints == []
        context.close()


def to_the_form(page: Page, path: Path) -> None:
    """Upload a table on the audit page: only price and attribute must be chosen."""
    policies(450).rename(columns={"<b>premium</b>": "premium"}).to_csv(path, index=False)
    page.goto("/audit")
    page.get_by_role("button", name="Audit a table of your own").click()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Audit this price").wait_for()
    choose(page, "Price, or prediction", "premium")
    choose(page, "Sensitive attribute", "age")
    come_to_rest(page)


def test_an_uploaded_table_is_audited_and_the_evidence_report_opens_offline(page, browser, tmp_path):
    to_the_form(page, tmp_path / "policies.csv")
    assert violations(page) == []
    take_screenshots(page, "audit-form")
    page.get_by_role("button", name="Audit this price").click()
    expect(page.get_by_role("heading", name=re.compile("Independence: "))).to_be_visible(timeout=120_000)
    for each in list(QUESTIONS.values())[:6]:
        expect(page.get_by_text(f"{each.number}. {each.title}")).to_be_visible()
    come_to_rest(page)
    assert violations(page) == []
    take_screenshots(page, "audit")
    with page.expect_download() as download:
        page.get_by_role("button", name="Evidence (zip)").click()
    folder = tmp_path / "evidence"
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(folder)
    names = {each.name for each in folder.iterdir()}
    assert {"audit.json", "plan.json", "curve.csv", "figures.csv"} <= names
    assert "Written down" in (folder / "report.html").read_text(encoding="utf-8")
    opens_offline(folder / "report.html", browser, title="Does “premium” follow “age”?")
    page.reload()
    expect(page).to_have_url(re.compile("audit="))
    expect(page.get_by_text("1. Does the price follow the attribute?")).to_be_visible()
