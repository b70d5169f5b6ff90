"""The front: test error against dependence, all methods together, references beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.evaluation import pareto_efficient, trained_points
from fairdash.figures.labels import HEIGHT, WIDTHS, Axes, Box, Label, placed, shares
from fairdash.figures.parts import line_across, note
from fairdash.figures.theme import OTHERS, REFERENCE, Theme, escaped, faded, figure_of, new_figure
from fairdash.tariff.naming import FAIR_TARIFF, title_of
from fairdash.training.baselines import BASELINES, LINEAR, MEAN, PRICE, TREES
from fairdash.training.methods import METHODS
from fairdash.training.references import REFERENCES

SYMBOLS = ("square", "triangle-up", "triangle-down", "cross", "x", "star")
DASHES = ("dash", "dashdot", "longdash", "dot", "longdashdot", "dash")
BEATEN = "#9aa1aa"
#: What stands in the noise floor's band, in two lines.
FLOOR_NOTE = ("noise floor: left of its edge", "this measure shows no link")
#: Marks of the baselines, in the order in which they are drawn.
_OF_BASELINES = {
    MEAN: "circle-open",
    LINEAR: "diamond-open",
    TREES: "triangle-up-open",
    PRICE: "square-open",
}
#: Share of the plot's height at which that begins.
_FLOOR_NOTE_AT = 0.01


def front_without_marks(
    test: pd.DataFrame,
    single: pd.DataFrame,
    *,
    error: str,
    error_title: str,
    measure: str,
    measure_title: str,
    method: str,
    references: pd.DataFrame | None,
    baselines: pd.DataFrame | None = None,
    least_error: tuple[float, float] = (math.nan, math.nan),
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Mean test error against a measure of dependence, a line a method, trained weights as its points.

    All of it stays as it is while a slider moves; see :func:`with_marks`.

    Parameters
    ----------
    test, single
        Means over the splits and single splits of :func:`fairdash.evaluation.assess_curve`, test rows.
    error, error_title, measure, measure_title
        Columns along y and x, and their axis titles.
    method
        The method in view: drawn in full, with standard errors and single splits.
    references
        Means of prices that use the sensitive attribute, test rows.
    baselines
        Means of :data:`fairdash.training.baselines.BASELINES` and of tariffs, test rows.
    least_error
        The least mean squared error of predictions that are independent of the sensitive attribute and may
        use it, and its standard error; NaN if they are not known.
    """
    figure = new_figure(
        title="What fairness costs", subtitle=subtitle, x=measure_title, y=error_title, theme=theme
    )
    trained = trained_points(test, standard_of=method)
    best = pareto_efficient(trained[error], trained[measure])
    if references is not None and len(references):
        _references(figure, references, error=error, measure=measure)
    level, level_se = least_error if error == "mse" else (math.nan, math.nan)
    if math.isfinite(level):
        figure.add_shape(line_across(level, colour=REFERENCE, dash="dash"), layer="below")
    if baselines is not None and len(baselines):
        _baselines(figure, baselines, error=error, measure=measure, theme=theme)
    others = [each for each in test["method"].unique() if each != method]
    for k, other in enumerate(others):
        _path(
            figure,
            test[test["method"] == other],
            trained[best & (trained["method"] == other)],
            trained[~best & (trained["method"] == other)],
            error=error,
            measure=measure,
            colour=OTHERS[k % len(OTHERS)],
            symbol=SYMBOLS[k % len(SYMBOLS)],
            dash=DASHES[k % len(DASHES)],
            theme=theme,
        )
    splits = single[(single["method"] == method) & (single["share"] == 0)]
    _splits(figure, splits, error, measure, theme)
    own = test[test["method"] == method]
    _path(
        figure,
        own,
        trained[best & (trained["method"] == method)],
        trained[~best & (trained["method"] == method)],
        error=error,
        measure=measure,
        colour=theme.chosen,
        symbol="circle",
        dash="solid",
        theme=theme,
        with_errors=True,
    )
    heights = [
        test[error],
        own[error] + own[f"{error}_se"].fillna(0),
        own[error] - own[f"{error}_se"].fillna(0),
    ]
    heights += [splits[error], pd.Series([level])]
    across = [test[measure]]
    if references is not None and len(references) and error in references:
        heights.append(references[error])
        across.append(references[measure])
    if baselines is not None and len(baselines):
        heights.append(baselines[error])
        across.append(baselines[measure])
    axes = fit_axes(figure, pd.concat(across), pd.concat(heights))
    words = _names_of_paths(test, theme, error=error, measure=measure)
    if references is not None:
        words += _names_of_references(references, error=error, measure=measure)
    if baselines is not None and len(baselines):
        words += _names_of_baselines(baselines, theme, error=error, measure=measure)
    if math.isfinite(level):
        words.insert(0, _name_of_least_error(level, level_se, x=axes[0][1], theme=theme))
    # Their places depend on the marks.
    figure.update_layout(
        meta={"labels": [asdict(each) for each in words], "path": own[[measure, error]].to_numpy().tolist()}
    )
    return figure


def with_marks(base: Mapping[str, Any], marks: Sequence[Label], *, edge: float, theme: Theme) -> go.Figure:
    """The front with points to point out.

    Parameters
    ----------
    base
        The figure of :func:`front_without_marks` as plain values, ``.to_plotly_json()``; it is not changed.
    marks
        The points, hollow if they are blends.
    edge
        Where the noise floor ends.
    """
    floor, words_of_floor = floor_band(edge, theme)
    layout = dict(base["layout"])
    layout["shapes"] = [*layout.get("shapes", ()), floor]
    axes = (tuple(layout["xaxis"]["range"]), tuple(layout["yaxis"]["range"]))
    words = layout.pop("meta")
    labels = placed(
        [*marks, *(Label(**each) for each in words["labels"])],
        axes=axes,
        taken=[room_of_floor_note(axes)],
        points=words["path"],
        theme=theme,
    )
    layout["annotations"] = [*layout.get("annotations", ()), words_of_floor, *labels]
    # In one piece: plotly takes several times as long to add to a figure as to begin with this.
    return figure_of([*base["data"], *(_point(mark, theme) for mark in marks)], layout)


def _names_of_paths(test: pd.DataFrame, theme: Theme, *, error: str, measure: str) -> list[Label]:
    """Each method's name at the fair end of its path."""
    ends = test.sort_values("lam").groupby("method", sort=False).tail(1).sort_values(error)
    return [
        _label(end[measure], end[error], METHODS[str(end["method"])].title, theme.quiet)
        for _, end in ends.iterrows()
    ]


def _names_of_references(references: pd.DataFrame, *, error: str, measure: str) -> list[Label]:
    found = []
    for id, reference in REFERENCES.items():
        rows = references[references["method"] == id].sort_values("lam")
        if rows.empty or error not in rows:
            continue
        middle = rows.iloc[len(rows) // 2]
        text = "uses s: barycentre" if reference.is_curve else "uses s: discrimination-free"
        found.append(_label(middle[measure], middle[error], text, REFERENCE))
    return found


def _names_of_baselines(baselines: pd.DataFrame, theme: Theme, *, error: str, measure: str) -> list[Label]:
    linear = "ridge" if error == "mse" else "GLM"
    texts = {MEAN: "average", LINEAR: linear, TREES: "trees", PRICE: "existing price"}
    found = [
        _label(row[measure], row[error], texts[str(row["method"])], theme.text)
        for _, row in baselines[baselines["method"] != FAIR_TARIFF].iterrows()
    ]
    tariffs = baselines[baselines["method"] == FAIR_TARIFF].sort_values("lam")
    for _, row in tariffs.tail(1).iterrows():
        found.append(_label(row[measure], row[error], "fair tariff", theme.text))
    return found


def _name_of_least_error(level: float, error: float, *, x: float, theme: Theme) -> Label:
    """What is written on the line of :attr:`fairdash.reports.fronts.Front.least_error`."""
    beside = f" ± {error:.2g}" if math.isfinite(error) else ""
    return _label(x, level, f"least error of independence: {level:.3g}{beside}", theme.quiet)


def room_of_floor_note(axes: Axes) -> Box:
    """What :data:`FLOOR_NOTE` takes above the lower axis, as wide as its longer line."""
    width, height = _label(0, 0, max(FLOOR_NOTE, key=len), "").extent
    left = shares([(0.0, axes[1][0])], axes)[0, 0] * WIDTHS
    bottom = _FLOOR_NOTE_AT * HEIGHT
    return left, bottom, left + width, bottom + 2 * height


def _label(x: float, y: float, text: str, colour: str) -> Label:
    return Label(x=float(x), y=float(y), text=text, colour=colour)


def floor_band(edge: float, theme: Theme) -> tuple[dict[str, Any], dict[str, Any]]:
    """The noise floor's band and what is written in it."""
    band = {
        "type": "rect",
        "x0": 0,
        "x1": edge,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "fillcolor": theme.floor,
        "line": {"width": 0},
        "layer": "below",
    }
    below = {"yref": "paper", "xanchor": "left", "yanchor": "bottom", "align": "left"}
    return band, note("<br>".join(FLOOR_NOTE), x=0, y=_FLOOR_NOTE_AT, colour=theme.quiet, size=11) | below


def _path(
    figure: go.Figure,
    path: pd.DataFrame,
    best: pd.DataFrame,
    beaten: pd.DataFrame,
    *,
    error: str,
    measure: str,
    colour: str,
    symbol: str,
    dash: str,
    theme: Theme,
    with_errors: bool = False,
) -> None:
    """A method's line through all its stops, and its trained points."""
    name = METHODS[path["method"].iloc[0]].title
    path = path.sort_values("lam")
    figure.add_scatter(
        x=path[measure],
        y=path[error],
        mode="lines",
        line={"color": colour, "width": 2.5 if with_errors else 1.5, "dash": dash},
        name=f"{name}: path",
        hoverinfo="skip",
    )
    for rows, fill, what in ((best, colour, ""), (beaten, BEATEN, ", beaten by another point")):
        if rows.empty:
            continue
        bars = {}
        if with_errors:
            for axis, column in (("error_x", measure), ("error_y", error)):
                bars[axis] = {
                    "type": "data",
                    "array": rows[f"{column}_se"].fillna(0.0),
                    "color": faded(colour, 0.35),
                    "thickness": 1,
                    "width": 0,
                }
        figure.add_scatter(
            x=rows[measure],
            y=rows[error],
            mode="markers",
            marker={
                "size": 9 if with_errors else 7,
                "color": fill,
                "symbol": symbol,
                "line": {"width": 1, "color": colour if what else theme.text},
            },
            name=f"{name}{what}",
            customdata=rows[["lam", "n_splits", f"{measure}_floor", f"{measure}_se", f"{error}_se"]],
            hovertemplate=f"<b>{name}, λ = %{{customdata[0]:g}}</b>{what}"
            "<br>mean of %{customdata[1]} splits"
            "<br>dependence %{x:.3f} ± %{customdata[3]:.3f} (floor %{customdata[2]:.3f})"
            "<br>error %{y:.3f} ± %{customdata[4]:.3f}<extra></extra>",
            **bars,
        )


def _splits(figure: go.Figure, rows: pd.DataFrame, error: str, measure: str, theme: Theme) -> None:
    for own, colour, symbol in (
        (rows[rows["lam"] > 0], theme.chosen, "circle"),
        (rows[rows["lam"] == 0], theme.standard, "diamond"),
    ):
        figure.add_scatter(
            x=own[measure],
            y=own[error],
            mode="markers",
            marker={"color": faded(colour, 0.25), "size": 5, "symbol": symbol},
            name="single splits",
            customdata=own[["lam", "split"]],
            hovertemplate="λ = %{customdata[0]:g}, split %{customdata[1]}"
            "<br>dependence %{x:.3f}, error %{y:.3f}<extra></extra>",
        )


def _references(figure: go.Figure, references: pd.DataFrame, *, error: str, measure: str) -> None:
    """Prices that use s: a dashed curve and single points, never joined with the methods."""
    for id, reference in REFERENCES.items():
        rows = references[references["method"] == id].sort_values("lam")
        if rows.empty or error not in rows:
            continue
        figure.add_scatter(
            x=rows[measure],
            y=rows[error],
            mode="lines+markers" if reference.is_curve else "markers",
            line={"color": REFERENCE, "width": 1.5, "dash": "dot"},
            marker={"color": REFERENCE, "size": 5 if reference.is_curve else 10, "symbol": "star"},
            name=reference.title,
            customdata=rows[["lam"]],
            hovertemplate=f"<b>{reference.title}</b>"
            + ("<br>strength %{customdata[0]:.0%}" if reference.is_curve else "")
            + "<br>dependence %{x:.3f}, error %{y:.3f}<extra></extra>",
        )


def _baselines(figure: go.Figure, baselines: pd.DataFrame, *, error: str, measure: str, theme: Theme) -> None:
    """The average, the linear benchmark, trees and an existing price: open marks; tariffs on a line."""
    for id, symbol in _OF_BASELINES.items():
        rows = baselines[baselines["method"] == id]
        figure.add_scatter(
            x=rows[measure],
            y=rows[error],
            mode="markers",
            marker={"color": theme.text, "size": 9, "symbol": symbol},
            name=BASELINES[id],
            hovertemplate=f"<b>{BASELINES[id]}</b><br>dependence %{{x:.3f}}, error %{{y:.3f}}<extra></extra>",
        )
    tariffs = baselines[baselines["method"] == FAIR_TARIFF].sort_values("lam")
    if len(tariffs):
        figure.add_scatter(
            x=tariffs[measure],
            y=tariffs[error],
            mode="lines+markers",
            line={"color": theme.text, "width": 1, "dash": "dot"},
            marker={"color": theme.text, "size": 8, "symbol": "hexagon-open"},
            name="Fair tariff",
            text=[title_of(lam) for lam in tariffs["lam"]],
            hovertemplate="<b>%{text}</b><br>dependence %{x:.3f}, error %{y:.3f}<extra></extra>",
        )


def _point(mark: Label, theme: Theme) -> dict[str, Any]:
    """A large dot; hollow for a blend."""
    return {
        "type": "scatter",
        "x": [mark.x],
        "y": [mark.y],
        "mode": "markers",
        "marker": {
            "size": 16,
            "color": theme.veil if mark.is_hollow else mark.colour,
            "symbol": mark.symbol,
            "line": {"width": 3, "color": mark.colour if mark.is_hollow else "white"},
        },
        "name": escaped(mark.text),
        "hoverinfo": "skip",
    }


def fit_axes(figure: go.Figure, across: pd.Series, heights: pd.Series) -> Axes:
    """From zero, unless held-out figures fall below it, to a little beyond the furthest mean; all of y."""
    # A corrected value is exactly 0 where nothing shows above noise; all of them may be.
    far = float(across.max()) or 0.1
    x = (min(float(across.min()), 0.0) - 0.04 * far, 1.12 * far)
    low, high = float(heights.min()), float(heights.max())
    room = 0.08 * (high - low) or 0.08 * abs(high) or 0.5
    axes = (x, (low - room, high + room))
    figure.update_xaxes(range=list(axes[0]))
    figure.update_yaxes(range=list(axes[1]))
    return axes
