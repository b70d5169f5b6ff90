"""The Runs page in a browser: by keyboard, away as a file and back in, and on a phone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fairdash.runs.store import Run
from tests.browser.conftest import SCREENSHOTS, owner_of
from tests.browser.steps import come_to_rest, violations
from tests.runs.finished import PLAN, finished

pytestmark = pytest.mark.browser


@pytest.fixture
def runs(person: str) -> list[Run]:
    plans = PLAN, replace(PLAN, methods=("standard", "hgr_spline"))
    found = [finished(plan, owner=owner_of(person)) for plan in plans]
    for run, name in zip(found, ("first try", "splines"), strict=True):
        run.rename(name)
    return found


def test_a_run_is_chosen_by_keyboard_taken_away_deleted_and_brought_in(
    page: Page, runs: list[Run], tmp_path: Path
) -> None:
    page.goto("/runs")
    box = page.get_by_role("checkbox", name="first try")
    box.focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("first try")
    expect(page).to_have_url(re.compile(rf"run={runs[0].id}"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Export (zip)").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_role("checkbox")).to_have_count(1)
    assert not runs[0].folder.exists()
    page.get_by_text("Import a run").click()
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("The run was imported")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"run={runs[0].id}"))
    page.reload()
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("first try")


def test_two_runs_on_one_front_on_a_phone(page: Page, runs: list[Run]) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/runs")
    for name in ("first try", "splines"):
        page.get_by_text(name, exact=True).first.click()
        # Which is A follows from which was chosen first: a busy server must not hear of both at once.
        come_to_rest(page)
    plot = page.locator(".js-plotly-plot")
    expect(plot).to_be_visible()
    names = plot.evaluate(
        "plot => plot._fullData.filter(each => each.mode == 'markers').map(each => each.name)"
    )
    assert names == ["A: Fair linear network", "B: Fair spline network"]
    main = page.get_by_test_id("stMain")
    assert main.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert violations(page) == []
    SCREENSHOTS.mkdir(exist_ok=True)
    plot.screenshot(path=SCREENSHOTS / "runs-390.png")
