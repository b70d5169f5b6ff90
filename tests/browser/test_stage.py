"""The code that draws interactive figures, on a page without a server: values, axes, marks, texts."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from fairdash.views.figures.stage import d3_script, stage_script, stage_style

pytestmark = pytest.mark.browser

FONT = {"size": 14, "color": "#1c2430"}
AXIS = {"range": [0, 10], "gridcolor": "#ddd", "title": {"text": "axis"}}
LINE = {"type": "scatter", "mode": "lines", "name": "line", "line": {"color": "#0072b2", "width": 2}}
DOTS = {"type": "scatter", "mode": "markers", "name": "dots"}
MARKER = {"color": "#0072b2", "symbol": "circle", "size": 8}


@pytest.fixture(scope="module")
def browser_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 800, "height": 900})
    page.set_content(f"<style>{stage_style()}</style><body><div class='stage'></div></body>")
    page.add_script_tag(
        content=f"(() => {{ {stage_script()}\nObject.assign(window, {{mount, formatted}}); }})()"
    )
    yield page
    page.close()


@pytest.fixture
def page(browser_page: Page) -> Iterator[Page]:
    """The page, opened again; any error that it reports fails the test."""
    complaints: list[str] = []
    browser_page.on("console", lambda message: complaints.append(message.text))
    browser_page.on("pageerror", lambda error: complaints.append(str(error)))
    browser_page.evaluate("() => { document.body.innerHTML = '<div class=stage></div>'; window.told = []; }")
    yield browser_page
    assert complaints == []


def show(page: Page, traces: list[dict], *, moves: list[dict] | None = None, **given: Any) -> None:
    """Show one figure; `given` are parts of the data, or axes and notes of its layout."""
    layout: dict[str, Any] = {"font": FONT, "title": {"text": "<b>A picture</b>"}}
    layout |= {"xaxis": AXIS | given.pop("x", {}), "yaxis": AXIS | given.pop("y", {})}
    layout |= {name: given.pop(name, []) for name in ("shapes", "annotations")}
    slider = {"label": "Weight", "symbol": "w", "help": "", "stops": ["0", "1", "2"], "ticks": [], "at": 0}
    figure = {"spec": {"data": traces, "layout": layout}, "alt": "a picture", "name": "p", "form": "svg"}
    data = {"slider": slider, "figures": [figure], "moves": [{"figure": 0} | each for each in moves or []],
            "cards": [], "table": None} | given  # fmt: skip
    page.evaluate(
        "data => mount({data, parentElement: document.body, setTriggerValue: (name, at) => told.push(at)})",
        data,
    )


def of_figure(page: Page, found: str, given: object = None) -> Any:
    """Evaluate a JavaScript expression of the figure and of the given arguments."""
    return page.evaluate(
        f"given => {{ const {{figures: [figure]}} = document.querySelector('.stage').stage; return {found}; }}",
        given,
    )


def ticks(page: Page, axis: int) -> list[str]:
    """Labels at the ticks of an axis: 0 is the x-axis, 1 the y-axis."""
    return of_figure(page, "figure.axes[given].selectAll('text').nodes().map(each => each.textContent)", axis)


def drawn(page: Page, part: str, name: str = "d", trace: int = 0) -> list[str | None]:
    """An attribute of all drawn elements of a trace, such as points or boxes."""
    nodes = "figure.parts.trace[given[2]][given[0]].nodes()"
    return of_figure(page, f"{nodes}.map(each => each.getAttribute(given[1]))", [part, name, trace])


@pytest.mark.parametrize(
    ("value", "format", "words"),
    [
        (1028.0, ",.4~f", "1,028"), (0.028, ".4f", "0.0280"), (2953412.25, ",.4~r", "2,953,000"),
        (123456.0, ".3~g", "123000"), (0.5, "g", "0.5"), (0.331, ".0%", "33\u00a0%"), (12.0, ".0f", "12"),
        (None, ".2f", "–"), (float("nan"), ".2f", "–"), (-0.001, ".2f", "0.00"), (-3.26, ".1f", "−3.3"),
    ],
)  # fmt: skip
def test_numbers_are_formatted_as_the_template_specifies(page, value, format, words):
    assert page.evaluate("([value, format]) => formatted(value, format)", [value, format]) == words


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ({"range": [1028, 1028.004]}, ["1,028.000", "1,028.001", "1,028.002", "1,028.003", "1,028.004"]),
        ({"range": [0, 0.004]}, ["0.000", "0.001", "0.002", "0.003", "0.004"]),
        ({"range": [-1000, 1000]}, ["−1,000", "−500", "0", "500", "1,000"]),
        ({"range": [0, 1], "tickformat": ".0%"}, ["0\u00a0%", "20\u00a0%", "40\u00a0%", "60\u00a0%", "80\u00a0%", "100\u00a0%"]),
        ({"range": [0, 10], "tickvals": [0, 2.5], "tickformat": ".1f"}, ["0.0", "2.5"]),
        ({"type": "log", "range": [-1, 4]}, ["0.1", "1", "10", "100", "1,000", "10,000"]),
    ],
    ids=["thousands", "small", "minus", "percent", "given", "log"],
)  # fmt: skip
def test_ticks_are_round_and_written_in_full(page, axis, words):
    show(page, [], x=axis)
    told = [each for each in ticks(page, 0) if each]
    assert [each for each in told if each in words] == words
    assert len(told) <= 8


def test_missing_values_are_not_drawn_as_zero(page):
    gone = {"x": [1, 2, None, 4], "y": [5, None, 5, 5]}
    bars = {"error_y": {"array": [1, 1, 1, None], "color": "#555"}}
    show(
        page,
        [LINE | gone, DOTS | {"marker": MARKER} | gone | bars, {"type": "bar", "orientation": "h", "width": 0.5, "marker": MARKER, "x": [None, 4], "y": [1, 2]}],
        shapes=[{"type": "line", "x0": None, "x1": 3, "y0": 0, "y1": 1, "line": {"color": "#555"}}],
        annotations=[{"x": None, "y": 2, "text": "gone", "showarrow": False, "font": FONT}],
    )  # fmt: skip
    (path,) = drawn(page, "line")
    assert path.count("M") == 2
    assert "NaN" not in page.evaluate("() => document.querySelector('svg').outerHTML")
    assert drawn(page, "marks", "visibility", 1) == ["visible", "hidden", "hidden", "visible"]
    assert [float(each) > 0 for each in drawn(page, "boxes", "width", 2)] == [False, True]
    (bar,) = of_figure(page, "figure.parts.trace[1].bars.map(each => each[3].attr('d'))")
    assert bar.count("M") == 1
    assert not page.get_by_text("gone").is_visible()


def test_values_are_interpolated_between_frames_unless_one_is_missing(page):
    moves = [{"kind": "trace", "part": 0, "y": [[0, 4], [10, None], [0, 0]]}]
    show(page, [LINE | {"x": [1, 2], "y": [0, 0]}], moves=moves)
    for at, y in ((0.25, [2.5, 4]), (0.75, [7.5, None]), (1.75, [2.5, 0])):
        page.evaluate("at => document.querySelector('.stage').stage.place(at)", at)
        assert of_figure(page, "figure.traces[0].y") == y


def test_points_shapes_and_notes_on_a_logarithmic_axis_match_plotly_positions(page):
    # In Plotly, traces and shapes take the value, and notes take its logarithm.
    show(
        page,
        [DOTS | {"marker": MARKER, "x": [1, 10, 0], "y": [5, 5, 5]}],
        x={"type": "log", "range": [0, 2]},
        shapes=[{"type": "line", "x0": 10, "x1": 10, "y0": 0, "y1": 10, "line": {"color": "#555"}}],
        annotations=[{"x": 1, "y": 5, "text": "ten", "showarrow": False, "font": FONT}],
    )
    width = of_figure(page, "figure.width")
    first, second, none = drawn(page, "marks", "transform")
    assert (first.split(",")[0], none) == ("translate(0.0", None)
    assert float(second[10:].split(",")[0]) == pytest.approx(width / 2, abs=0.1)
    shape, note = of_figure(page, "[figure.parts.shape[0].attr('d'), figure.parts.note[0].attr('transform')]")
    assert float(shape[1:].split(",")[0]) == pytest.approx(width / 2, abs=0.1)
    assert float(note[10:].split(",")[0]) == pytest.approx(width / 2, abs=0.1)


def test_bars_and_shapes_are_clipped_at_the_axes(page):
    bar = {"type": "bar", "orientation": "h", "width": 4, "marker": MARKER, "x": [50], "y": [2]}
    edges = {"x0": 0, "x1": 50, "y0": 6, "y1": 9}
    show(page, [bar], shapes=[{"type": "rect", "fillcolor": "#ccc", "line": {"width": 0}} | edges])
    found = page.evaluate(
        """() => {
            const figure = document.querySelector('.stage').stage.figures[0];
            const at = figure.inner.node().getBoundingClientRect(), box = figure.svg.node().getBoundingClientRect();
            const {left, height, width} = figure, tag = (x, share) => document.elementFromPoint(
                box.left + left + x, box.bottom - (box.bottom - box.top) + (share + 0.15) * height)?.tagName;
            return [tag(width / 2, 0.2), tag(width / 2, 0.8), tag(width + 4, 0.2), tag(width + 4, 0.8)];
        }"""
    )
    assert found[:2] == ["path", "rect"]
    assert not {"path", "rect"} & set(found[2:])


def test_arrow_keys_move_the_focus_from_one_data_point_to_the_next(page):
    known = {"customdata": [["b"], ["a"]], "hovertemplate": "%{customdata[0]}<extra></extra>"}
    show(page, [DOTS | {"marker": MARKER, "x": [7, 3], "y": [5, 5]} | known])
    page.locator(".main-svg").first.focus()
    told = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        told.append(page.locator(".tip").inner_text().strip())
    assert told == ["a", "b", "b", "a"]


def test_hovering_over_a_data_point_shows_its_tooltip(page):
    hover = "<b>%{customdata[0]}</b> &amp; co<br>%{x:.1f}, %{customdata[1]:,.4~g}<extra></extra>"
    known = {"customdata": [["a", 12346], ["b", 1]], "hovertemplate": hover}
    show(page, [DOTS | {"marker": MARKER, "x": [5, None], "y": [5, 5]} | known])
    mark, tip = page.locator("svg path[transform]").first.bounding_box(), page.locator(".tip")
    page.mouse.move(mark["x"] + 4, mark["y"] + 4)
    assert tip.locator("div").all_inner_texts() == ["a & co", "5.0, 12,350"]
    assert abs(tip.bounding_box()["y"] - mark["y"]) < 20, "beside the mark, not below the picture"
    page.mouse.move(mark["x"] + 60, mark["y"])
    assert tip.is_hidden()


def test_markup_in_chart_text_is_shown_as_plain_text(page):
    evil = "&lt;img src=x onerror=&quot;window.hacked = 1&quot;&gt;"
    show(page, [], annotations=[{"x": 5, "y": 5, "text": f"<b>{evil}</b>", "showarrow": False, "font": FONT}],
         x={"title": {"text": evil}})  # fmt: skip
    assert page.locator("img").count() == 0
    assert page.locator(".annotation-text").text_content().startswith("<img")
    assert page.evaluate("() => window.hacked") is None


def test_a_key_press_on_the_slider_moves_the_figure_and_reports_one_change(page):
    moves = [{"kind": "trace", "part": 0, "y": [[0, 0], [5, 5], [9, 9]]}]
    show(page, [LINE | {"x": [1, 2], "y": [0, 0]}], moves=moves)
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("End")
    page.wait_for_function("() => document.querySelector('.stage').stage.at === 2")
    assert of_figure(page, "[told, figure.traces[0].y]") == [[2], [9, 9]]
    assert slider.get_attribute("aria-valuetext") == "w = 2"


def test_d3_stays_out_of_the_global_scope_and_keeps_the_licence_notice(page):
    assert page.evaluate("() => [typeof d3, typeof globalThis.d3]") == ["undefined", "undefined"]
    script = d3_script()
    assert "Copyright 2010-2026 Mike Bostock" in script
    assert "Permission to use, copy, modify" in script
    assert "https:" not in script
