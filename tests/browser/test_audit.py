"""The audit in a browser: the example, its report opened offline, and a table of one's own."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fairdash.auditing.plan import QUESTIONS
from tests.auditing.test_model import onnx_bytes
from tests.browser.steps import choose, come_to_rest, take_picture, take_screenshots, violations
from tests.ui.test_audit_page import policies

pytestmark = pytest.mark.browser


def taken(page: Page, folder: Path) -> Path:
    """The evidence, unpacked."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Evidence (zip)").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(folder)
    return folder


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
        assert (
            page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 1
        )
        assert violations(page) == []
        take_picture(page, f"audit-report-{width}", full_page=width == 1440)
        assert complaints == []
        context.close()


def to_the_form(page: Page, path: Path) -> None:
    """Upload a table where its audit is asked for: price and attribute are all that must be chosen."""
    policies(450).rename(columns={"<b>premium</b>": "premium"}).to_csv(path, index=False)
    page.goto("/audit")
    page.get_by_role("button", name="Audit a table of your own").click()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Audit this price").wait_for()
    choose(page, "Price, or prediction", "premium")
    choose(page, "Sensitive attribute", "age")
    come_to_rest(page)


@pytest.mark.variant
def test_a_model_s_file_is_audited(page: Page, tmp_path: Path) -> None:
    (tmp_path / "price.onnx").write_bytes(onnx_bytes(n=2))
    to_the_form(page, tmp_path / "policies.csv")
    page.get_by_text("Audit a model's file").click()
    page.get_by_text("50MB per file").wait_for()
    page.locator("input[type=file]").last.set_input_files(tmp_path / "price.onnx")
    choose(page, "Input columns of the model", "age")
    page.keyboard.press("Escape")
    come_to_rest(page)
    assert violations(page) == []
    take_screenshots(page, "audit-model-form")
    page.get_by_role("button", name="Audit this price").click()
    expect(page.get_by_text("11. What does the model do?")).to_be_visible(timeout=120_000)
    assert "flips.csv" in [each.name for each in taken(page, tmp_path / "evidence").iterdir()]
    come_to_rest(page)
    page.get_by_text("11. What does the model do?").click()
    expect(page.get_by_text("If only “age” changes from its lowest to its highest value")).to_be_visible()
    take_screenshots(page, "audit-model")


def test_a_table_of_one_s_own_from_the_file_to_the_evidence(
    page: Page, browser: Browser, tmp_path: Path
) -> None:
    to_the_form(page, tmp_path / "policies.csv")
    assert violations(page) == []
    take_screenshots(page, "audit-form")
    page.get_by_role("button", name="Audit this price").click()
    expect(page.get_by_role("heading", name=re.compile("Independence: "))).to_be_visible(timeout=120_000)
    for number, title in ((each.number, each.title) for each in QUESTIONS.values()):
        if number <= 6:
            expect(page.get_by_text(f"{number}. {title}")).to_be_visible()
    come_to_rest(page)
    assert violations(page) == []
    take_screenshots(page, "audit")
    folder = taken(page, tmp_path / "evidence")
    assert {"audit.json", "plan.json", "curve.csv", "verdicts.csv"} <= {
        each.name for each in folder.iterdir()
    }
    assert "Written down" in (folder / "report.html").read_text(encoding="utf-8")
    opens_offline(folder / "report.html", browser, title="Does “premium” follow “age”?")
    page.reload()
    expect(page).to_have_url(re.compile("audit="))
    expect(page.get_by_text("1. Does the price follow it?")).to_be_visible()
