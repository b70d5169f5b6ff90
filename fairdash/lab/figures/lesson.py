"""Figures of the lesson: transformations, memorised noise, adversarial training, and the cost of fairness."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.lab.figures.simulations import GLYPHS
from fairdash.lab.lesson import FROZEN_AT, PEOPLE
from fairdash.views.figures.parts import (
    Values,
    band,
    corner_note,
    dots,
    errors,
    floor_rect,
    line,
    line_across,
    line_up,
    note,
    plain,
)
from fairdash.views.figures.theme import REFERENCE, Theme, figure_of, new_figure

Array = NDArray[Any]

_TALL = 520
#: Height of a line of text. It is larger than plotly's default.
_SIZE = 14
_DOTTED = "dotted: later steps"
_CLOUD = "each dot is a policy, in standard deviations; line: regression line"
_COSTS = "each point is a weight λ, ± one standard error; grey: noise floor"
#: Distance between the lines of a legend, in pixels. It is also enough for enlarged text.
_LINE = 25


def animation(figures: Sequence[go.Figure]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the first figure as plain values and, for an animation, how the other figures differ from it.

    Parameters
    ----------
    figures
        The same picture in each state of the animation; all figures have the same traces, notes and shapes,
        with the same numbers of points. The animation moves traces and notes, and changes the heights of
        shapes.
    """
    specs = [plain(figure, digits=5) for figure in figures]
    moves = []
    for kind, state_rows, properties in (
        ("trace", [figure["data"] for figure in specs], ("x", "y")),
        ("note", [figure["layout"].get("annotations", []) for figure in specs], ("x", "y")),
        ("shape", [figure["layout"].get("shapes", []) for figure in specs], ("y1",)),
    ):
        for part, _ in enumerate(state_rows[0]):
            by_name = {name: [state[part][name] for state in state_rows] for name in properties}
            animated = {name: row for name, row in by_name.items() if any(value != row[0] for value in row)}
            if animated:
                moves.append({"kind": kind, "part": part, **animated})
    return specs[0], moves


@cache
def _frame(title: str, subtitle: str, x: str, y: str, theme: Theme) -> dict[str, Any]:
    figure = new_figure(title=title, subtitle=subtitle, x=x, y=y, theme=theme, height=_TALL)
    layout: dict[str, Any] = figure.update_layout(font_size=_SIZE).layout.to_plotly_json()
    return layout


def _picture(
    words: tuple[str, str, str, str],
    traces: Sequence[dict[str, Any]],
    *,
    x_axis: Sequence[float],
    up: Sequence[float],
    theme: Theme,
    ticks: dict[str, Any] | None = None,
    **layout: Any,
) -> go.Figure:
    """Build a figure in one call; adding traces to an existing plotly figure takes ten times as long.

    Parameters
    ----------
    words
        Title, subtitle and titles of both axes.
    x_axis, up
        Ranges of the horizontal and the vertical axis.
    ticks
        Ticks of the horizontal axis.
    """
    frame = _frame(*words, theme)
    # The axes are converted to plain values, because the browser receives them as JSON.
    axes = {
        "xaxis": frame["xaxis"] | {"range": [float(end) for end in x_axis]} | (ticks or {}),
        "yaxis": frame["yaxis"] | {"range": [float(end) for end in up]},
    }
    return figure_of(traces, frame | axes | layout)


def _legend(lines: Sequence[tuple[str, str, str, str]], theme: Theme) -> list[dict[str, Any]]:
    """Return a legend for `lines` (column, name, colour, symbol), with names in the text colour."""
    return [
        corner_note(text, x=0.02, y=1, xshift=shift, yshift=-_LINE * k, colour=colour, size=_SIZE)
        for k, (_, words, line_colour, symbol) in enumerate(lines)
        for text, colour, shift in ((GLYPHS.get(symbol, "●"), line_colour, 0), (words, theme.text, 22))
    ]


def noise_figure(readings: pd.DataFrame, *, steps: int, answered: bool, theme: Theme) -> go.Figure:
    """Draw the dependence that the adversary reports, on its training rows and on new rows, by training step.

    Parameters
    ----------
    readings
        Values as returned by :func:`fairdash.lab.lesson.noise_readings`.
    steps
        Last step whose values have the full colour; later values are faint.
    answered
        True also shows the values on new and on shuffled rows, which answer the question of the page.
    """
    x, names = readings["steps"], [f"{step:,}" for step in readings["steps"]]
    lines = [("own", "training rows", theme.chosen, "circle")]
    traces, shuffled = [], []
    if answered:
        lines.append(("new", "new rows", REFERENCE, "diamond"))
        shuffled = [("", "shuffled rows, lowest to highest", theme.quiet, "square")]
        low, high = readings["low"], readings["high"]
        traces.append(band(x, low, high, colour=theme.quiet, name="shuffled", opacity=0.25))
    is_past = readings["steps"] <= steps
    for column, name, colour, symbol in lines:
        style: Values = {"colour": colour, "symbol": symbol, "size": 11, "width": 4, "text": names}
        values, hover = readings[column], f"{name}, %{{text}} steps: %{{y:.3f}}"
        traces += [
            line(x, values, name=f"{name}, later", colour=colour, width=1, dash="dot", hover=""),
            line(x, values.where(is_past), name=name, hover=hover, **style),
        ]
    return _picture(
        ("What the adversary reports", _DOTTED, "Steps of training (logarithmic)", "Correlation"),
        traces,
        x_axis=[np.log10(x.min()) - 0.1, np.log10(x.max()) + 0.1],
        up=[-0.4, 1.25],
        ticks={"type": "log", "tickvals": x.tolist(), "ticktext": names},
        annotations=_legend([*lines, *shuffled], theme),
        shapes=[line_across(0, colour=theme.quiet)],
        theme=theme,
    )


def straight_figure(x: Array, y: Array, *, theme: Theme) -> go.Figure:
    """Draw standardised rows, moved part of the way from (u, v) to (f(u), g(v)), and their regression line.

    The first rows belong to the two people in :data:`fairdash.lab.lesson.PEOPLE`.
    """
    slope = float((x * y).mean())
    style: Values = {"colour": theme.chosen, "size": 7, "opacity": 0.6}
    people: Values = {"colour": theme.standard, "size": 14, "symbol": "diamond"}
    return _picture(
        ("The cloud", _CLOUD, "f(age)", "g(price)"),
        [
            dots(x.round(3), y.round(3), name="rows", **style),
            line([-3, 3], [-3 * slope, 3 * slope], name="slope", colour=REFERENCE, width=4),
            dots(x[: len(PEOPLE)].round(3), y[: len(PEOPLE)].round(3), name="Ada and Ben", **people),
        ],
        x_axis=[-3.2, 3.2],
        up=[-3.2, 3.2],
        annotations=[
            note(name, x=float(a), y=float(b), yshift=20, colour=theme.text, size=_SIZE, bgcolor=theme.veil)
            for name, a, b in zip(PEOPLE, x.round(3), y.round(3), strict=False)
        ],
        theme=theme,
    )


def duel_curve_figure(curve: pd.DataFrame, *, average: float, theme: Theme) -> go.Figure:
    """Draw the average price by age, and the adversary's function g of age.

    Parameters
    ----------
    curve
        Curve as returned by :func:`fairdash.lab.lesson.duel_by_age`.
    average
        Average price; a perfectly fair model charges everyone this price.
    """
    sign = 1 if curve["g"].corr(curve["price"]) >= 0 else -1
    lines = (
        (average + 30 * sign * curve["g"], "g", theme.quiet, "dash", "square"),
        (curve["price"], "price", theme.chosen, "solid", "diamond"),
    )
    traces = [
        line(
            curve["age"],
            y,
            name=name,
            colour=colour,
            width=3,
            dash=dash,
            symbol=symbol,
            size=9,
            hover=f"{name}, %{{x:.0f}} years: %{{y:.0f}}",
        )
        for y, name, colour, dash, symbol in lines
    ]
    return _picture(
        (
            "Average price by age",
            "blue: price; dashed: the adversary's function g",
            "Age (years)",
            "Price (€)",
        ),
        traces,
        x_axis=[float(curve["age"].min() - 1), float(curve["age"].max() + 1)],
        # g is averaged over fifteen groups of rows. The mean of such a group of standardised values is at
        # most √14, so this axis contains all of g.
        up=[110, 345],
        shapes=[line_across(average, colour=theme.quiet), *_lines_of_people(theme)],
        annotations=_names_of_people(theme),
        theme=theme,
    )


def _lines_of_people(theme: Theme) -> list[Values]:
    return [line_up(age, colour=theme.quiet) for age in PEOPLE.values()]


def _names_of_people(theme: Theme) -> list[Values]:
    anchor: Values = {"y": 1, "yref": "paper", "xanchor": "left", "yanchor": "top", "xshift": 6}
    words = {f"{name}, {age}": age for name, age in PEOPLE.items()}
    return [note(label, x=age, colour=theme.text, size=_SIZE, **anchor) for label, age in words.items()]


def duel_path_figure(
    states: pd.DataFrame, *, step: int, frozen: bool, answered: bool, theme: Theme
) -> go.Figure:
    """Draw the adversary's value, a new estimator's value and the error by step of adversarial training.

    Parameters
    ----------
    states
        States as returned by :func:`fairdash.lab.lesson.duel_states`.
    step
        Last step that is drawn in full colour.
    frozen
        True marks the step at which the adversary stops learning.
    answered
        True shows later steps.
    """
    is_past = states["step"].to_numpy() <= step
    lines = (
        ("j", "the adversary's value, J", theme.chosen, "circle"),
        ("fresh", "HGR by a new estimator", REFERENCE, "diamond"),
        ("mse", "error", theme.standard, "square"),
    )
    steps, traces = states["step"].to_numpy(), []
    for column, name, colour, symbol in lines:
        later, past = (states[column].where(mask).to_numpy() for mask in (is_past | answered, is_past))
        current_point: Values = {"symbol": symbol, "size": 12, "hover": f"{name}, step %{{x}}: %{{y:.2f}}"}
        traces += [
            line(steps, later, name=f"{name}, later", colour=colour, width=1, dash="dot"),
            line(steps, past, name=name, colour=colour, width=3),
            dots(
                steps[is_past][-1:], past[is_past][-1:], name=f"{name}, now", colour=colour, **current_point
            ),
        ]
    # The mark is drawn in every frame, because the animation can only move traces that all frames have.
    mark = line_up(FROZEN_AT, colour=theme.quiet, top=0.8 if frozen else 0.0)
    return _picture(
        ("The game", _DOTTED, "Steps", "Value"),
        traces,
        x_axis=[-10, int(steps.max()) + 10],
        up=[-0.65, 2.05],
        annotations=_legend(lines, theme),
        shapes=[mark, line_across(0, colour=theme.quiet)],
        theme=theme,
    )


def payers_front_figure(
    points: pd.DataFrame, *, lam: float, edge: float, around: pd.DataFrame, theme: Theme
) -> go.Figure:
    """Draw error against dependence with a point per λ, the selected λ, and the noise floor.

    Parameters
    ----------
    points
        Points as returned by :func:`fairdash.lab.lesson.payers_points`, or some of them.
    lam
        Selected weight.
    edge
        Upper edge of the noise floor.
    around
        Points of all weights, which the axes must include.
    """
    x_values, y_values = (
        _range_including(around[name] - around[f"{name}_se"], around[name] + around[f"{name}_se"])
        for name in ("hgr", "rmse")
    )
    left = min(x_values[0], -0.02)
    bars: Values = {
        f"error_{axis}": errors(points[f"{name}_se"], colour=theme.quiet, thickness=1, width=0)
        for axis, name in (("x", "hgr"), ("y", "rmse"))
    }
    traces = []
    for rows, name, colour, symbol, size, options in (
        (points, "weights", theme.quiet, "circle", 8, bars),
        (points[points["lam"] == 0], "standard", theme.standard, "circle", 14, {}),
        # The selected point is drawn in every state, because the animation can only move traces that all
        # states have.
        (points[points["lam"] == lam], "chosen", theme.chosen, "diamond", 16, {}),
    ):
        heights = rows["rmse"].where((rows["lam"] > 0) | (name != "chosen"))
        style: Values = {"colour": colour, "width": 1, "symbol": symbol, "size": size}
        words: Values = {"text": [f"{weight:g}" for weight in rows["lam"]]}
        words["hover"] = "λ = %{text}: HGR %{x:.2f}, error %{y:.1f} €"
        traces.append(line(rows["hgr"], heights, name=name, **style, **words, **options))
    label_anchor = {"xanchor": "left", "yanchor": "top", "yref": "paper"}
    return _picture(
        ("What it costs", _COSTS, "HGR, test rows", "Root mean squared error (€)"),
        traces,
        x_axis=[left, x_values[1]],
        up=y_values,
        annotations=[note("no detectable link", x=left, y=1, colour=theme.text, size=_SIZE) | label_anchor],
        shapes=[floor_rect(left, edge, theme)],
        theme=theme,
    )


def _range_including(low: pd.Series, high: pd.Series) -> list[float]:
    """Return the range of an axis that includes all of the values."""
    low_end, high_end = float(low.min()), float(high.max())
    margin = 0.06 * (high_end - low_end)
    return [low_end - margin, high_end + margin]


def payers_age_figure(
    standard: pd.DataFrame, chosen: pd.DataFrame | None, *, column: str, around: pd.DataFrame, theme: Theme
) -> go.Figure:
    """Draw average price or residual by age, for the standard and the selected model.

    Parameters
    ----------
    standard, chosen
        Averages as returned by :func:`fairdash.lab.lesson.payers_by_age`; None if no weight is selected yet.
    column
        Column to draw, "price" or "residual".
    around
        Averages at all weights, which the axes must include.
    """
    residual = column == "residual"
    traces = []
    for rows, name, colour, symbol in (
        (standard, "standard", theme.standard, "circle"),
        (chosen, "chosen", theme.chosen, "diamond"),
    ):
        # The selected model is drawn in every state, because the animation can only move traces that all
        # states have.
        averages = standard.assign(**{column: np.nan}) if rows is None else rows
        style: Values = {"colour": colour, "width": 3, "symbol": symbol, "size": 9}
        style |= {"text": [str(n) for n in averages["n"]]}
        hover = f"{name}, %{{x}} years: %{{y:.0f}} € (%{{text}} rows)"
        traces.append(line(averages["age"], averages[column], name=name, hover=hover, **style))
    words = ("Average price by age", "orange: standard; blue: chosen", "Age (years)", "Price (€)")
    shapes = _lines_of_people(theme)
    if residual:
        words = ("Average error by age", "above 0: the price is too high", "Age (years)", "Price − cost (€)")
        shapes.append(line_across(0, colour=theme.quiet))
    return _picture(
        words,
        traces,
        x_axis=[standard["age"].min() - 1, standard["age"].max() + 1],
        up=_range_including(around[column], around[column]),
        shapes=shapes,
        annotations=_names_of_people(theme),
        theme=theme,
    )
