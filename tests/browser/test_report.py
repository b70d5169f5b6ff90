"""The report in a browser without a network: it draws every figure, requests nothing, and can be printed."""

import json
import re
from functools import cache

import pytest

from fairdash.views.reports.report import render_report
from tests.browser.steps import take_picture, violations
from tests.tiers import few
from tests.views.reports.making import CLOSING, EVIL, make_comparison, make_dataset

pytestmark = pytest.mark.browser

#: Width between the margins of a sheet of A4, in CSS pixels.
A4 = 680
PLOTS = ["front", "profile-demographic_parity", "profile-equalized_residuals", "spread", "transfers", "objectives", "features"]  # fmt: skip


@cache
def rendered(**names):
    dataset = make_dataset(**names)
    found = make_comparison(dataset, lam=2.0, importance=True)
    return render_report(found, run_id="0123456789ab", created="2026-01-02T03:04:05+00:00", dataset=dataset)


def write(tmp_path, **names):
    path = tmp_path / "report.html"
    path.write_bytes(rendered(**names))
    return path


@pytest.fixture
def opened(browser):
    """Open a file in an offline browser, and check that it makes no request and reports no error."""
    contexts, asked, complaints = [], [], []

    def open_at(path, width):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_function(
            "count => document.querySelectorAll('.js-plotly-plot .main-svg').length >= count", arg=len(PLOTS)
        )
        page.wait_for_timeout(300)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == len(contexts), "it loaded more than itself"
    assert not complaints, complaints


@pytest.mark.parametrize("width", few([1440, 390], 390))
def test_report_figures_are_drawn_from_data_in_the_file_and_follow_the_slider(opened, tmp_path, width):
    page = opened(write(tmp_path), width)
    drawn = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.plot')].map(plot => {
            const area = plot.getBoundingClientRect();
            const svg = plot.querySelector('.main-svg').getBoundingClientRect();
            const shapes = [...plot.querySelectorAll('.trace path, .trace text, .point path, .points path')];
            const inside = shapes.filter(each => {
                const box = each.getBoundingClientRect();
                return box.width + box.height > 0 && box.left < svg.right && box.right > svg.left;
            });
            return [plot.id, {
                traces: plot._fullData.length, shapes: inside.length, width: svg.width, room: area.width,
            }];
        }))"""
    )
    assert list(drawn) == PLOTS
    for id, plot in drawn.items():
        given = json.loads(page.locator(f"#{id}-data").text_content())
        assert plot["traces"] == len(given["data"]), id
        assert plot["shapes"] >= 4, id
        assert plot["width"] == pytest.approx(plot["room"], abs=1), id
        assert plot["width"] <= A4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    take_picture(page, f"report-{width}", full_page=True)
    slider, value = page.get_by_role("slider", name="Weight of fairness"), page.locator(".card .value").first
    before = value.inner_text()
    stops = page.locator("#stage .stage").evaluate("each => each.stage.data.slider.stops")
    assert page.locator("#stage output").inner_text() == "λ = 2"
    slider.focus()
    slider.press("Home")
    page.wait_for_function(
        "() => document.querySelector('#stage').shadowRoot.querySelector('.stage').stage.at === 0"
    )
    assert page.locator("#stage output").inner_text() == f"λ = {stops[0]}"
    given = page.locator("#stage .stage").evaluate("each => each.stage.data.cards[0].values")
    assert value.inner_text() == given[0] != before
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
    page.emulate_media(media="print")
    assert page.locator("#stage").is_hidden()


@pytest.mark.variant
def test_the_printed_report_fits_on_a4_pages(opened, tmp_path):
    page = opened(write(tmp_path), 1440)
    printed = page.pdf(prefer_css_page_size=True, path=tmp_path / "report.pdf")
    assert printed.startswith(b"%PDF")
    # A4 in points.
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    assert {(round(float(w)), round(float(h))) for w, h in boxes} == {(595, 842)}
    assert 4 <= len(boxes) <= 14
    page.emulate_media(media="print")
    page.set_viewport_size({"width": A4, "height": 1000})
    page.wait_for_timeout(300)
    too_wide = page.evaluate(
        """limit => [...document.querySelectorAll('table, .main-svg, dl')]
            .filter(each => each.getBoundingClientRect().right > limit + 0.5)
            .map(each => each.outerHTML.slice(0, 80))""",
        A4,
    )
    assert not too_wide
    assert page.locator(".modebar").first.is_hidden()


@pytest.mark.parametrize("name", few([EVIL + CLOSING, "n" * 300], EVIL + CLOSING), ids=["script", "long"])
def test_a_column_name_with_markup_runs_no_script_in_the_report(opened, tmp_path, name):
    page = opened(write(tmp_path, sensitive=name, target=f"y {name}", title=name), 390)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, .plot img").count() == 0
    assert " ".join(name.split()) in " ".join(page.locator("h1").inner_text().split())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # An axis title of the front is drawn as text.
    assert name[:12] in page.locator("#front .xtitle").text_content()
