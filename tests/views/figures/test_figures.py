"""Figures and exports: names are plain text, drawn values equal the given ones, and labels do not overlap."""

from __future__ import annotations

import io
import json
import math
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from fairdash.evaluation import (
    assess_curve,
    assess_predictions,
    common_grid,
    densities,
    quantile_profile,
    summarise_splits,
    transfers_by_group,
    wide,
)
from fairdash.training.methods import METHODS
from fairdash.training.splits import random_splits
from fairdash.utils.safe_csv import safe_csv
from fairdash.utils.text import span
from fairdash.views.blocks import Picture
from fairdash.views.figures.comparison import objectives_figure
from fairdash.views.figures.data import distribution_figure, link_figure, training_curves_figure
from fairdash.views.figures.front import front_without_marks, runs_front_figure, with_marks
from fairdash.views.figures.groups import profile_figure, spread_figure, transfers_figure
from fairdash.views.figures.labels import _NEAR, HEIGHT, WIDTHS, Label, placed, shares
from fairdash.views.figures.parts import dots, plain
from fairdash.views.figures.theme import DARK, LIGHT, new_figure, theme_of
from tests.evaluation.test_assessment import _assessed
from tests.ui.conftest import numbers
from tests.views.figures.rows import rows_of

EVIL = '<img src=x onerror="alert(1)"><a href="javascript:alert(1)">x</a>'


def front_figure(test, single, *, marks, error, measure, theme, references=None, **words):
    """The front with marks; the mapping gives the label for each marked λ of the fair models."""
    of = {error, measure, "mse"}
    words["baselines"] = rows_of(words.get("baselines"), *of)
    figure = front_without_marks(
        rows_of(test, *of), rows_of(single, *of), error=error, measure=measure, theme=theme,
        references=rows_of(references, *of), **words,
    )  # fmt: skip
    rows = test.set_index("lam")
    labels = [
        Label(x=rows.loc[lam, measure], y=rows.loc[lam, error], text=text, colour="#000000", symbol="circle")
        for lam, text in marks.items()
    ]
    edge = rows.loc[list(marks)[-1], f"{measure}_edge"]
    return with_marks(figure.to_plotly_json(), labels, edge=edge, theme=theme)


@cache
def _all_figures(name=EVIL):
    """Averages by group, a front, a distribution and a link, with all names equal to this one."""
    dataset, splits, members, predictions, _ = _assessed()
    s = dataset.sensitive["age"].to_numpy()
    y = dataset.target.to_numpy()
    profiles = [quantile_profile(predictions[k::2][:3], s, splits) for k in range(2)]
    profile = profile_figure(
        *profiles, chosen_name="λ = 1", audited="prediction", sensitive=name, level=name, reference=1.0,
        reference_name=name, subtitle=name, theme=LIGHT,
    )  # fmt: skip
    options = {"objective": "demographic_parity"}
    table = assess_predictions(dataset, predictions, members, splits, n_permutations=30, **options)
    path = assess_curve(dataset, predictions, table, members, splits, **options)
    test = path[path["part"] == "test"]
    references = wide(summarise_splits(table))
    references = references[references["part"] == "test"].assign(method="barycentre")
    means = wide(summarise_splits(test, test_to_train=0.25))
    front = front_figure(
        means, wide(test), error="mse", error_title=name, measure="hgr_kde",
        measure_title=name, method="hgr_nn", references=references, least_error=(0.3, 0.02), subtitle=name, theme=DARK,
        marks={0.0: "standard model", 1.0: name},
    )  # fmt: skip
    distribution = distribution_figure(y, role="target", label=name, theme=LIGHT)
    return (
        profile, front, distribution,
        link_figure(s, y, profiles[0], sensitive=name, target=name, theme=LIGHT),
    )  # fmt: skip


def test_figure_values_are_exported_as_json_without_nan():
    nan = [[np.float64("nan")]]
    points = dots([1.0, float("nan")], np.array([2.0, np.nan]), name="a", colour="#000", customdata=nan)
    (trace,) = plain(go.Figure(data=[points]))["data"]
    assert json.loads(json.dumps(trace, allow_nan=False))["y"] == [2.0, None]


def test_names_in_figures_never_become_html_and_figures_are_valid_plotly():
    for figure in _all_figures():
        assert_names_are_text(figure)
        assert go.Figure(figure.to_dict()).to_dict() == figure.to_dict()


def test_the_front_figure_shows_all_splits_the_curve_of_means_and_the_marked_models():
    figure = _all_figures("x")[1]
    faint = [trace for trace in figure.data if trace.name == "single splits"]
    assert [len(numbers(trace.x)) for trace in faint] == [3, 3]
    (chosen,) = [trace for trace in figure.data if trace.name == "x"]
    (path,) = [trace for trace in figure.data if trace.name == "Fair HGR network: path"]
    assert len(numbers(path.x)) == 6
    assert (chosen.x[0], chosen.y[0]) == (numbers(path.x)[-1], numbers(path.y)[-1])
    of_fair = [trace for trace in figure.data if trace.name.startswith("Fair HGR network")]
    trained = [len(numbers(trace.x)) for trace in of_fair if trace.error_x.array is not None]
    assert sum(trained) == 2, "blends have no mark of their own"
    texts = {each.text for each in figure.layout.annotations}
    assert "lowest error under independence: 0.3 ± 0.02" in texts


def test_the_front_figure_shows_only_dominated_points_in_grey():
    columns = {"method": "hgr_nn", "lam": [0.0, 1.0, 2.0, 3.0], "share": 0.0, "n_splits": 2}
    columns |= {"mse": [0.3, 0.4, 0.5, 0.6], "hgr_kde": [0.9, 0.5, 0.6, 0.2]}
    columns |= {f"{c}{end}": 0.01 for c in ("mse", "hgr_kde") for end in ("_se", "_floor", "_edge")}
    test = pd.DataFrame(columns)
    figure = front_figure(
        test, test.assign(split=0), error="mse", error_title="error", measure="hgr_kde", measure_title="HGR",
        method="hgr_nn", marks={0.0: "standard model"}, subtitle="", theme=LIGHT,
    )  # fmt: skip
    (dominated,) = [trace for trace in figure.data if trace.name.endswith("dominated by another model")]
    (best,) = [trace for trace in figure.data if trace.name == "Fair HGR network"]
    assert (numbers(dominated.y).tolist(), numbers(best.y).tolist()) == ([0.5], [0.3, 0.4, 0.6])


def test_the_error_axis_of_the_front_fits_the_models_and_shows_distant_baselines_at_its_edge():
    columns = {"method": "hgr_nn", "lam": [0.0, 1.0], "share": 0.0, "n_splits": 2, "split": 0}
    columns |= {"mse": [0.04, 0.09], "rmse": [20.0, 30.0], "hgr_kde": [0.9, 0.05]}
    columns |= {f"{c}{end}": 0.1 for c in ("rmse", "hgr_kde") for end in ("_se", "_floor", "_edge")}
    test = pd.DataFrame(columns)
    besides = {"method": ["mean", "trees"], "lam": 0.0, "rmse": [100.0, 25.0], "hgr_kde": [0.0, 0.8]}
    figure = front_figure(
        test, test, error="rmse", error_title="error", measure="hgr_kde", measure_title="HGR", unit="€",
        method="hgr_nn", marks={0.0: "standard model"}, of_average=100.0, baselines=pd.DataFrame(besides),
        noise_at=(0.05, 30.0), subtitle="", theme=LIGHT,
    )  # fmt: skip
    low, high = figure.layout.yaxis.range
    assert 15 < low < 20 < 30 < high < 35
    (mean,) = [trace for trace in figure.data if trace.name == "Average of the training rows"]
    assert 30 < mean.y[0] < high
    assert mean.customdata[0][0] == "100 € (100.0 % of the average's error)"
    names = {each.text: each for each in figure.layout.annotations}
    assert names["↑ average: 100 €"].y == mean.y[0]
    assert "trees" in names
    noise = names["beyond this point λ removes only noise"]
    assert (noise.x, noise.y) == (0.05, 30.0)


def test_training_curves_show_averages_over_all_models_of_the_method_being_trained():
    stack = {"method": "hgr_nn", "lam": 1.0, "epoch": [1, 2], "mse": [1.0, 0.5], "dependence": None}
    curves = pd.concat(map(pd.DataFrame, (stack, stack | {"mse": [0.8, 0.7]})), ignore_index=True)
    (line,) = training_curves_figure(curves, "mse", theme=LIGHT).data
    assert (numbers(line.x).tolist(), numbers(line.y).tolist()) == ([1, 2], [0.9, 0.6])
    assert len(training_curves_figure(curves, "dependence", theme=LIGHT).data) == 1
    later = pd.concat([curves, curves.assign(method="pearson", mse=0.9)])
    figure = training_curves_figure(later, "mse", theme=LIGHT)
    assert [list(line.y) for line in figure.data] == [[0.9, 0.9]]
    assert METHODS["pearson"].title in figure.layout.title.subtitle.text


def test_scatter_plots_of_long_tables_draw_a_sample_and_state_its_size():
    rng = np.random.default_rng(0)
    s = rng.normal(size=5000)
    profile = quantile_profile(s[None], s, random_splits(5000, n_splits=1, random_state=0))
    figure = link_figure(s, s, profile, sensitive="s", target="y", theme=LIGHT)
    assert len(figure.data[0].x) == 1500
    assert "1,500 of 5,000 rows, at random" in figure.layout.title.subtitle.text.replace("<br>", " ")


def _contrast(a, b):
    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted([luminance(a), luminance(b)], reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_is_readable_on_its_background():
    for dark, background in ((False, "#ffffff"), (True, "#12161c")):
        theme = theme_of(dark=dark)
        assert min(_contrast(colour, background) for colour in (theme.text, theme.quiet)) >= 4.5
        assert min(_contrast(colour, background) for colour in (theme.chosen, theme.standard)) >= 3


def test_numbers_exported_to_csv_are_read_back_exactly():
    frame = pd.DataFrame({"x": [-0.1, 1e-300, np.pi], "k": [1, -2, 3], "t": ["a", "=b", None]})
    back = pd.read_csv(io.BytesIO(safe_csv(frame)))
    pd.testing.assert_frame_equal(back[["x", "k"]], frame[["x", "k"]], check_exact=True)
    assert back["t"].tolist()[:2] == ["a", "'=b"]


def test_long_titles_are_wrapped_and_make_the_figure_taller() -> None:
    words = {"x": "x", "y": "y", "theme": LIGHT, "height": 300}
    long = "Bands of about equal exposure, with 95 % intervals. Above 1, claims exceed prices"
    plain, grown = (new_figure(title="Title", subtitle=each, **words).layout for each in ("", long))
    assert grown.title.subtitle.text.count("<br>") == 1
    assert grown.title.subtitle.text.replace("<br>", " ").replace("\N{NO-BREAK SPACE}", " ") == long
    more = grown.height - plain.height
    assert more == grown.margin.t - plain.margin.t > 0
    picture = Picture("a", new_figure(title="Title", subtitle=long, **words), "b")
    assert picture.height == Picture("a", new_figure(title="Title", subtitle="", **words), "b").height
    assert picture.subtitle.replace("\N{NO-BREAK SPACE}", " ") == long


AXES = ((-0.05, 1.05), (-0.1, 1.15))
SHARE = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "middle": 0.5, "top": 1.0}


def crosses(a, b, c, d) -> bool:
    """Return True if the segments ab and cd cross."""

    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


@pytest.mark.parametrize("seed", [0, 1])
def test_fifteen_labels_of_a_front_never_overlap_or_cross_at_phone_or_screen_width(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=15))
    points = np.c_[x, (1 - x) ** 2 + rng.normal(0, 0.02, 15)]
    labels = [
        Label(x=x, y=y, text="Fair spline network"[: 8 + k], colour="#000") for k, (x, y) in enumerate(points)
    ]
    notes = placed(labels, axes=AXES, occupied=[], points=points, theme=LIGHT)
    for width in WIDTHS:
        ends = shares(points, AXES) * (width, HEIGHT)
        begins = ends + [(each["ax"], -each["ay"]) for each in notes]
        extents = np.array([each.extent for each in labels])
        low = begins - extents * [(SHARE[each["xanchor"]], SHARE[each["yanchor"]]) for each in notes]
        for j, k in combinations(range(15), 2):
            assert not ((low[j] < low[k] + extents[k]) & (low[k] < low[j] + extents[j])).all()
            if np.hypot(*(begins[j] - ends[j])) > _NEAR and np.hypot(*(begins[k] - ends[k])) > _NEAR:
                assert not crosses(ends[j], begins[j], ends[k], begins[k])


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


def path_of(shift: float, *methods: str) -> pd.DataFrame:
    """Results of one sequence of models per method, each with errors one above the previous method's."""
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
    return {objective: path_of(shift, "hgr_nn", "pearson") for objective, shift in shifts.items()}


def test_bars_of_the_transfers_figure_show_the_change_per_head_of_each_group(moved):
    groups = list(map(span, moved["s_low"], moved["s_high"]))
    figure = transfers_figure(moved, groups=groups, unit="€", theme=LIGHT, **NAMES)
    (bars,) = figure.data
    np.testing.assert_array_equal(bars.y, moved["per_head"])
    assert figure.layout.yaxis.title.text == "Change per head (€)"
    ticks = [text.replace("<br>", " ") for text in figure.layout.xaxis.ticktext]
    assert ticks == groups
    shown = [float(text.replace("−", "-")) for text in bars.text]
    np.testing.assert_allclose(shown, moved["per_head"], atol=0.05)


def test_the_spread_figure_shows_the_densities_of_both_models_in_each_group_on_one_scale(spreads):
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
def test_the_spread_figure_draws_a_constant_model_as_one_line(noise, other):
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


def test_the_panels_for_predictions_and_residuals_show_the_same_models_and_mark_the_chosen_one(both):
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


def assert_names_are_text(figure):
    text = json.dumps(figure.to_plotly_json(), default=str)
    assert [part for part in ("<img", "<a ") if part in text] == []
    assert "&lt;img" in text


VIEW = {"error": "mse", "error_title": "Test error (MSE)", "measure": "hgr_kde", "measure_title": "HGR"}


def test_the_runs_figure_draws_every_method_of_every_run_with_its_own_line_points_and_name() -> None:
    runs = [
        ("A", EVIL, rows_of(path_of(0.0, "hgr_nn", "pearson"), "mse", "hgr_kde"), math.nan),
        ("B", "later", rows_of(path_of(0.05, "hgr_nn"), "mse", "hgr_kde"), math.nan),
    ]
    figure = runs_front_figure(runs, theme=LIGHT, subtitle=EVIL, **VIEW)
    lines, points = ([each for each in figure.data if each.mode == mode] for mode in ("lines", "markers"))
    assert [len(each.x) for each in (*lines, *points)] == [4, 4, 4, 3, 3, 3]
    np.testing.assert_array_equal(points[2].y, path_of(0.05, "hgr_nn").query("share == 0")["mse"])
    looks = {(each.marker.color, each.marker.symbol) for each in points}
    assert len(looks) == len({colour for colour, _ in looks}) == 3
    names = ["A: Fair HGR network", "A: Fair linear network", "B: Fair HGR network"]
    assert [each.name for each in points] == names
    named = {note.text for note in figure.layout.annotations}
    assert named >= set(names)
    (band,) = figure.layout.shapes
    assert band.x1 == pytest.approx(0.15)
    assert_names_are_text(figure)
