"""Runs and audits in a browser: by keyboard, to files and back in, on a phone, and offline."""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fairdash.auditing.plan import QUESTIONS
from tests.browser.conftest import owner_of
from tests.browser.steps import choose, come_to_rest, fits, take_picture, take_screenshots, violations
from tests.runs.finished import PLAN, finished
from tests.ui.test_audit_page import policies

pytestmark = pytest.mark.browser


def test_a_run_is_exported_deleted_imported_and_compared_with_another_run(page, person, tmp_path):
    plans = {"first try": PLAN, "splines": replace(PLAN, methods=("standard", "hgr_spline"))}
    found = [finished(plan, owner=owner_of(person)) for plan in plans.values()]
    for run, title in zip(found, plans, strict=True):
        run.rename(title)
    first = found[0]
    page.goto("/runs")
    page.get_by_role("checkbox", name="first try").focus()
    page.keyboard.press("Space")
    name = page.get_by_role("textbox", name="Name", exact=True)
    expect(name).to_have_value("first try")
    expect(page).to_have_url(re.compile(rf"run={first.id}"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Export (zip)").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_role("checkbox")).to_have_count(1)
    assert not first.folder.exists()
    # Until the page is drawn anew the old one's words stand beside the new one's.
    come_to_rest(page)
    page.get_by_text("Import a run").click()
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("The run was imported")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"run={first.id}"))
    page.reload()
    expect(name).to_have_value("first try")

    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/runs")
    for each in plans:
        page.get_by_text(each, exact=True).first.click()
        # Which is A follows from which was chosen first: a busy server must not hear of both at once.
        come_to_rest(page)
    plot = page.locator(".js-plotly-plot")
    expect(plot).to_be_visible()
    markers = "plot => plot._fullData.filter(each => each.mode == 'markers')"
    names = plot.evaluate(f"{markers}.map(each => each.name)")
    assert names == ["A: Fair linear network", "B: Fair spline network"]
    assert fits(page)
    assert violations(page) == []
    take_picture(plot, "runs-390")


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
    """Upload a table where its audit is asked for: price and attribute are all that must be chosen."""
    policies(450).rename(columns={"<b>premium</b>": "premium"}).to_csv(path, index=False)
    page.goto("/audit")
    page.get_by_role("button", name="Audit a table of your own").click()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Audit this price").wait_for()
    choose(page, "Price, or prediction", "premium")
    choose(page, "Sensitive attribute", "age")
    come_to_rest(page)


def test_an_uploaded_table_is_audited_and_the_evidence_report_opens_offline(
    page: Page, browser: Browser, tmp_path: Path
):
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
