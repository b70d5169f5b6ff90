"""Figures of two points and of several runs: what is drawn is what was given, and names are plain text."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from fairdash.evaluation import common_grid, densities, transfers_by_group
from fairdash.training.splits import random_splits
from fairdash.utils.text import span
from fairdash.views.figures.comparison import objectives_figure
from fairdash.views.figures.front import runs_front_figure
from fairdash.views.figures.groups import spread_figure, transfers_figure
from fairdash.views.figures.theme import LIGHT, escaped
from tests.views.figures.rows import rows_of

EVIL = '<img src=x onerror="alert(1)"><a href="javascript:alert(1)">x</a>'
NAMES = {"a_name": "standard model", "b_name": "λ = 1", "sensitive": "age (years)", "subtitle": "n"}
OF_HGR = {"measure": "hgr_kde", "method": "hgr_nn", "error": "mse", "theme": LIGHT}


@pytest.fixture
def moved():
    rng = np.random.default_rng(0)
    s = rng.uniform(18, 90, 1000)
    splits = random_splits(len(s), n_splits=2, random_state=0)
    return transfers_by_group({0: s, 1: s}, {0: s * 0 + 50, 1: s * 0 + 52}, s, splits)


@pytest.fixture
def spreads():
    rng = np.random.default_rng(0)
    s = rng.uniform(size=900)
    u = [s + 0.2 * rng.normal(size=900), rng.normal(size=900)]
    return [densities(each, s, grid=common_grid(*u)) for each in u]


def path(shift: float, *methods: str) -> pd.DataFrame:
    """Test figures of a path of each method; the errors of each are one above those of the last."""
    lams = np.array([0.0, 0.5, 1.0, 2.0])
    own = {"lam": lams, "share": [0, 0.5, 0, 0], "mse": 0.4 + 0.1 * lams, "hgr_kde": 0.7 - 0.3 * lams}
    own |= {
        "mse_se": 0.01, "hgr_kde_se": np.nan, "hgr_kde_floor": 0.1, "hgr_kde_edge": 0.15 + shift,
        "n_splits": 2,
    }  # fmt: skip
    frame = pd.DataFrame(own)
    return pd.concat(
        [frame.assign(method=each, mse=frame["mse"] + shift + k) for k, each in enumerate(methods)]
    )


def tidied(both):
    return {objective: rows_of(frame, "mse", "hgr_kde") for objective, frame in both.items()}


@pytest.fixture
def both():
    shifts = {"demographic_parity": 0.0, "equalized_residuals": 0.05}
    return {objective: path(shift, "hgr_nn", "pearson") for objective, shift in shifts.items()}


def test_bars_are_the_change_a_head_of_each_group(moved):
    figure = transfers_figure(moved, unit="€", theme=LIGHT, **NAMES)
    (bars,) = figure.data
    np.testing.assert_array_equal(bars.y, moved["per_head"])
    assert figure.layout.yaxis.title.text == "Change per head (€)"
    ticks = [text.replace("<br>", " ") for text in figure.layout.xaxis.ticktext]
    assert ticks == list(map(span, moved["s_low"], moved["s_high"]))
    shown = [float(text.replace("−", "-")) for text in bars.text]
    np.testing.assert_allclose(shown, moved["per_head"], atol=0.05)


def test_each_group_has_both_models_densities_on_one_scale(spreads):
    figure = spread_figure(*spreads, audited="prediction", level="Price (€)", theme=LIGHT, **NAMES)
    lines = {trace.name: trace for trace in figure.data if trace.fill == "tonexty"}
    assert len(lines) == 6
    a, b = spreads
    for row, group in enumerate(("low", "middle", "high")):
        heights = [np.asarray(lines[f"{name}, {group}"].y) - row for name in ("standard model", "λ = 1")]
        given = [each.loc[each["group"] == group, "density"].to_numpy() for each in (a, b)]
        np.testing.assert_allclose(heights[0] * given[1].max(), given[0] * heights[1].max(), atol=1e-9)
    dashes = {name.split(",")[0]: line.line.dash for name, line in lines.items()}
    assert dashes == {"standard model": "dash", "λ = 1": "solid"}


@pytest.mark.parametrize(
    ("noise", "other"), [(0.0, "spread"), (5e-9, "constant"), (5e-9, "constant elsewhere")]
)
def test_a_constant_model_is_one_line(noise, other):
    rng = np.random.default_rng(0)
    s = rng.uniform(size=900)
    a = 0.0716 + noise * rng.normal(size=900)
    b = {"spread": 0.07 + 0.02 * rng.normal(size=900), "constant": a, "constant elsewhere": a + 0.05}[other]
    given = [densities(each, s, grid=common_grid(a, b)) for each in (a, b)]
    figure = spread_figure(*given, audited="prediction", level="Price (€)", theme=LIGHT, **NAMES)
    lines = {trace.name: trace for trace in figure.data if trace.fill == "tonexty"}
    for group, row in (("low", 0), ("high", 2)):
        line = lines[f"standard model, {group}"]
        np.testing.assert_allclose(line.x, [0.0716, 0.0716], atol=1e-8)
        assert line.y[0] == row
        curve = lines[f"λ = 1, {group}"]
        if other == "spread":
            assert max(curve.y) - row > 0.4, "the other model's curves keep their height"
        else:
            np.testing.assert_allclose(curve.x, b.mean(), atol=1e-8)
    named = [(note.x, note.xanchor) for note in figure.layout.annotations]
    assert len(set(named)) == 2


def test_both_panels_show_one_path_and_mark_the_same_model(both):
    figure = objectives_figure(tidied(both), chosen_lam=0.5, error_title="Error", subtitle="n", **OF_HGR)
    traces = {trace.name: trace for trace in figure.data}
    for audited, frame in zip(("predictions", "residuals"), both.values(), strict=True):
        own = frame[frame["method"] == "hgr_nn"]
        np.testing.assert_array_equal(traces[f"{audited}: blends"].x, own["hgr_kde"])
        np.testing.assert_array_equal(traces[f"{audited}: trained"].customdata[:, 0], [1.0, 2.0])
        chosen = traces[f"{audited}: λ = 0.5"]
        assert (chosen.x[0], chosen.y[0]) == (own["hgr_kde"].iloc[1], own["mse"].iloc[1])
    assert {trace.xaxis for trace in figure.data} == {"x", "x2"}
    assert [shape.x1 for shape in figure.layout.shapes] == pytest.approx([0.15, 0.20])


def test_a_name_is_shown_as_it_is():
    # plotly shows the entities of quotes as they are written.
    assert escaped("\"a\" & 'b' <c>") == "\"a\" &amp; 'b' &lt;c&gt;"


def test_names_never_become_html(moved, spreads, both):
    names = NAMES | {"sensitive": EVIL, "subtitle": EVIL}
    assert_names_are_text(transfers_figure(moved, unit=EVIL, theme=LIGHT, **names))
    assert_names_are_text(spread_figure(*spreads, audited="prediction", level=EVIL, theme=LIGHT, **names))
    assert_names_are_text(
        objectives_figure(tidied(both), chosen_lam=1, error_title=EVIL, subtitle=EVIL, **OF_HGR)
    )


def assert_names_are_text(figure):
    text = json.dumps(figure.to_plotly_json(), default=str)
    assert "<img" not in text
    assert "<a " not in text
    assert "&lt;img" in text


VIEW = {"error": "mse", "error_title": "Test error (MSE)", "measure": "hgr_kde", "measure_title": "HGR"}


def test_every_method_of_every_run_has_a_line_points_and_a_name_of_its_own() -> None:
    runs = [
        ("A", EVIL, rows_of(path(0.0, "hgr_nn", "pearson"), "mse", "hgr_kde"), math.nan),
        ("B", "later", rows_of(path(0.05, "hgr_nn"), "mse", "hgr_kde"), math.nan),
    ]
    figure = runs_front_figure(runs, theme=LIGHT, subtitle=EVIL, **VIEW)
    lines, points = ([each for each in figure.data if each.mode == mode] for mode in ("lines", "markers"))
    assert [len(each.x) for each in (*lines, *points)] == [4, 4, 4, 3, 3, 3]
    np.testing.assert_array_equal(points[2].y, path(0.05, "hgr_nn").query("share == 0")["mse"])
    looks = {(each.marker.color, each.marker.symbol) for each in points}
    assert len(looks) == len({colour for colour, _ in looks}) == 3
    names = ["A: Fair HGR network", "A: Fair linear network", "B: Fair HGR network"]
    assert [each.name for each in points] == names
    named = {note.text for note in figure.layout.annotations}
    assert named >= set(names)
    (band,) = figure.layout.shapes
    assert band.x1 == pytest.approx(0.15)
    assert_names_are_text(figure)
