"""Labels of the front in a browser: none overlaps another label or is cut off, at any width and position."""

import itertools
import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page

from fairdash.views.figures.front import front_without_marks, with_marks
from fairdash.views.figures.labels import Label
from fairdash.views.figures.parts import plain
from fairdash.views.figures.stage import stage_script, stage_style
from fairdash.views.figures.theme import DARK, LIGHT, OTHERS
from tests.tiers import few
from tests.views.figures.rows import rows_of

pytestmark = pytest.mark.browser

FAIR = ("hgr_spline", "chi2_kde", "hgr_nn", "pearson")
#: Widths of the chart: on a phone, next to the profile on a wide screen, in a report, alone on a wide screen.
WIDTHS = (326, 358, 530, 900)
#: Bounding boxes of all text in a chart: labels first, then titles.
BOXES = """drawn => {
    const box = (each, kind) => {
        const {left, top, right, bottom} = each.getBoundingClientRect();
        return {text: each.textContent, kind, left, top, right, bottom};
    };
    const found = selector => [...drawn.querySelectorAll(selector)];
    return {
        // A stage writes its titles above the drawing.
        frame: box(drawn.matches('figure') ? drawn : drawn.querySelector('.main-svg'), 'frame'),
        boxes: [...found('.annotation-text').map(each => box(each, 'label')),
            ...found('.gtitle, .gtitle-subtitle, .xtitle, .ytitle').map(each => box(each, 'title'))],
    };
}"""


def wrong(found: dict, *, titles: bool = True) -> list[str]:
    """Labels that are cut off or overlap."""
    frame, boxes = found["frame"], [each for each in found["boxes"] if titles or each["kind"] == "label"]
    inwards = {"left": 1, "top": 1, "right": -1, "bottom": -1}
    cut = [
        f"“{each['text']}” is cut"
        for each in boxes
        if any(sign * (each[side] - frame[side]) < -0.5 for side, sign in inwards.items())
    ]
    over = [
        f"“{a['text']}” lies on “{b['text']}”"
        for a, b in itertools.combinations(boxes, 2)
        if min(a["right"], b["right"]) - max(a["left"], b["left"]) > 0.5
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 0.5
    ]
    return cut + over


def path(method: object, lam: object, dependence: object, error: object) -> pd.DataFrame:
    return pd.DataFrame({"method": method, "lam": lam, "hgr_kde": dependence, "mse": error})


def tables(seed: int, *, bunched: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Four simulated sequences of models with references; `bunched` if all of them end at the same point."""
    rng = np.random.default_rng(seed)
    lams, paths = np.array([0.0, 0.5, 1.0, 2.0, 5.0]), []
    end, top = rng.uniform(0.05, 0.15), rng.uniform(0.45, 0.9)
    for method in FAIR:
        own_end = end if bunched else rng.uniform(0.03, 0.5) * top
        x = np.linspace(top, own_end, 5)
        grown = rng.uniform(0.01, 0.05) if bunched else rng.uniform(0.02, 0.4)
        paths.append(path(method, lams, x, 0.4 + grown * (1 - x / top)))
    test = pd.concat(paths, ignore_index=True).assign(share=0.0, n_splits=5, split=0)
    x = np.linspace(top, end, 5)
    low = path("barycentre", np.linspace(0, 1, 5), x, 0.4 + 0.1 * (1 - x / top))
    references = pd.concat([low, path("discrimination_free", [0.0], [0.8 * top], [0.42])], ignore_index=True)
    ends = {f"{name}{end}": 0.01 for name in ("mse", "hgr_kde") for end in ("_se", "_floor", "_edge")}
    return test.assign(**ends), references.assign(**ends)


def drawn(seed: int, *, bunched: bool, chosen: float, theme) -> str:
    test, references = tables(seed, bunched=bunched)
    of = ("mse", "hgr_kde")
    shown = rows_of(test, *of)
    methods = ["mean", "linear", "trees", "fair_tariff", "fair_tariff"]
    baselines = path(methods, [0.0] * 4 + [3.0], [0.0, 0.6, 0.58, 0.61, 0.2], [1.05, 0.41, 0.405, 0.4, 0.6])
    figure = front_without_marks(
        shown, shown, error="mse", error_title="Test MSE ÷ MSE of the average", measure="hgr_kde",
        measure_title="HGR_KDE between prediction and age", method=FAIR[0], references=rows_of(references, *of),
        baselines=rows_of(baselines, *of), least_error=(0.45, 0.02), noise_at=tuple(test.loc[4, ["hgr_kde", "mse"]]),
        subtitle="399 test rows, mean of 5 random splits", theme=theme,
    )  # fmt: skip
    marks = [
        Label(x=row["hgr_kde"], y=row["mse"], text=text, colour=colour, symbol=symbol)
        for method, lam, text, colour, symbol in (
            (FAIR[0], 0.0, "standard model", theme.standard, "diamond"),
            (FAIR[1], 2.0, "A: λ = 2", OTHERS[0], "square"),
            (FAIR[0], chosen, f"chosen: λ = {chosen:g}", theme.chosen, "circle"),
        )
        for row in (test[(test["method"] == method) & (test["lam"] == lam)].iloc[0],)
    ]
    return json.dumps(plain(with_marks(figure.to_plotly_json(), marks, edge=0.01, theme=theme)))


@pytest.fixture(scope="module")
def empty(browser: Browser) -> Iterator[Page]:
    """A page with space for one chart, and the code that draws it: plotly.js and the app's component."""
    from plotly.offline import get_plotlyjs

    page = browser.new_page()
    page.set_content(f"<style>{stage_style()}</style><body style='margin:0'><div id=chart></div></body>")
    page.add_script_tag(content=get_plotlyjs())
    page.add_script_tag(content=f"(() => {{ {stage_script()}\nObject.assign(window, {{mount}}); }})()")
    yield page
    page.close()


DRAWN = {
    "plotly": """async ([figure, width]) => {
        const {data, layout} = JSON.parse(figure), drawn = document.getElementById('chart');
        await Plotly.newPlot(drawn, data, {...layout, width});
        return (BOXES)(drawn);
    }""",
    "stage": """([figure, width]) => {
        document.body.innerHTML = `<div class=stage style="width: ${width}px"></div>`;
        const slider = {label: '', symbol: '', help: '', stops: ['0', '1'], ticks: [], at: 0};
        const figures = [{spec: JSON.parse(figure), alt: '', name: 'p', form: 'svg'}];
        mount({data: {slider, figures, moves: [], cards: [], table: null}, parentElement: document.body,
            setTriggerValue: () => {}});
        return (BOXES)(document.querySelector('figure'));
    }""",
}


@pytest.mark.parametrize("by", DRAWN)
@pytest.mark.parametrize("bunched", few([False, True], True))
@pytest.mark.parametrize("seed", few(range(3), 0))
def test_charts_of_simulated_fronts_are_legible_at_any_width(empty: Page, seed: int, bunched: bool, by: str):
    faults = {}
    empty.evaluate("() => { document.body.innerHTML = '<div id=chart></div>'; }")
    for width, chosen in itertools.product(WIDTHS, (0.5, 5.0)):
        figure = drawn(seed, bunched=bunched, chosen=chosen, theme=DARK if bunched else LIGHT)
        found = empty.evaluate(DRAWN[by].replace("BOXES", BOXES), [figure, width])
        assert len([each for each in found["boxes"] if each["kind"] == "label"]) == 16
        if problems := wrong(found):
            faults[width, chosen] = problems
    assert not faults
