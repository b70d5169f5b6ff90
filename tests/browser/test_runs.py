"""The Runs page in a browser: by keyboard, away as a file and back in, and two runs on one front on a phone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import owner_of
from tests.browser.steps import come_to_rest, fits, take_picture, violations
from tests.runs.finished import PLAN, finished

pytestmark = pytest.mark.browser


def test_a_run_goes_away_by_keyboard_and_comes_in_and_two_stand_on_one_front(page, person, tmp_path):
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
