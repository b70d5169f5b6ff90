"""The lesson's pictures: noise learned by heart, who pays, and a cloud on its way to a line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.parts import band, corner_note, line_across, line_up, note
from fairdash.figures.theme import REFERENCE, Theme, figure_of, new_figure
from fairdash.simulations.lesson.duel import FROZEN_AT

Array = NDArray[Any]

_TALL = 520
#: Of text; plotly's own is smaller.
_SIZE = 14
#: Pixels from line to line of a legend, which must do for enlarged text.
_LINE = 25


def moving(figures: Sequence[go.Figure]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The first of these figures as plain values, and what differs in the others, as the stage moves it.

    Parameters
    ----------
    figures
        The same figure in each state: the same traces, notes and shapes, as many points in each. Traces move,
        and how far up shapes reach.
    """
    plain = [_plain(figure) for figure in figures]
    moves = []
    for kind, states, properties in (
        ("trace", [each["data"] for each in plain], ("x", "y")),
        ("shape", [each["layout"].get("shapes", []) for each in plain], ("y1",)),
    ):
        for part, _ in enumerate(states[0]):
            found = {name: [state[part][name] for state in states] for name in properties}
            moved = {name: each for name, each in found.items() if any(one != each[0] for one in each)}
            if moved:
                moves.append({"kind": kind, "part": part, **moved})
    return plain[0], moves


def _plain(figure: go.Figure) -> dict[str, Any]:
    plain = figure.to_dict()
    plain["layout"].pop("template", None)
    # Lists, and no more digits than a picture shows: they are sent to the browser.
    for trace, own in zip(plain["data"], figure.data, strict=True):
        for name in ("x", "y"):
            values = np.asarray(own[name], dtype=float).round(4)
            trace[name] = [None if np.isnan(each) else each for each in values.tolist()]
    return plain


@cache
def _frame(title: str, subtitle: str, x: str, y: str, theme: Theme) -> dict[str, Any]:
    figure = new_figure(title=title, subtitle=subtitle, x=x, y=y, theme=theme, height=_TALL)
    layout: dict[str, Any] = figure.update_layout(font_size=_SIZE).layout.to_plotly_json()
    return layout


def _in_one_piece(
    frame: dict[str, Any],
    traces: Sequence[dict[str, Any]],
    *,
    across: list[float],
    up: list[float],
    **layout: Any,
) -> go.Figure:
    """A figure of a game that has many: plotly takes ten times as long to add to one."""
    axes = {"xaxis": frame["xaxis"] | {"range": across}, "yaxis": frame["yaxis"] | {"range": up}}
    return figure_of([{"type": "scatter"} | each for each in traces], frame | axes | layout)


def _legend(lines: Sequence[tuple[str, str, str]], theme: Theme) -> list[dict[str, Any]]:
    """Words, colour and glyph of each line; the words in the colour of text, so that they can be read."""
    return [
        corner_note(text, x=0.02, y=1, xshift=shift, yshift=-_LINE * k, colour=colour, size=_SIZE)
        for k, (words, own, glyph) in enumerate(lines)
        for text, colour, shift in ((glyph, own, 0), (words, theme.text, 22))
    ]


def noise_figure(readings: pd.DataFrame, *, steps: int, answered: bool, theme: Theme) -> go.Figure:
    """What an adversary reads on its own rows and on new ones against its steps, as far as it has come.

    Parameters
    ----------
    readings
        As :func:`fairdash.simulations.lesson.noise.readings` gives them.
    steps
        How far it has come; the lines of what it would read later are faint.
    answered
        Whether to show what gives the answer: new rows, and shuffled ones.
    """
    figure = new_figure(
        title="What the adversary reads",
        subtitle="what follows is dotted",
        x="Steps of training (logarithmic)",
        y="Correlation",
        theme=theme,
        height=_TALL,
    )
    # The stage knows no logarithmic axis.
    x, names = np.log10(readings["steps"]), [f"{each:,}" for each in readings["steps"]]
    lines = [("own", "rows it has learned", theme.chosen, "circle")]
    words = [("rows it has learned", theme.chosen, "●")]
    if answered:
        lines.append(("new", "new rows", REFERENCE, "diamond"))
        words.append(("new rows", REFERENCE, "◆"))
        words.append(("the same rows shuffled, lowest to highest", theme.quiet, "■"))
        low, high = readings["low"], readings["high"]
        figure.add_trace(band(x, low, high, colour=theme.quiet, name="shuffled", opacity=0.25))
    there = readings["steps"] <= steps
    for column, name, colour, symbol in lines:
        figure.add_scatter(
            x=x, y=readings[column], mode="lines", line={"color": colour, "width": 1, "dash": "dot"},
            hoverinfo="skip", name=f"{name}, later",
        )  # fmt: skip
        figure.add_scatter(
            x=x, y=readings[column].where(there), mode="lines+markers", text=names,
            line={"color": colour, "width": 4}, marker={"symbol": symbol, "size": 11, "color": colour},
            hovertemplate=f"{name}, %{{text}} steps: %{{y:.3f}}<extra></extra>", name=name,
        )  # fmt: skip
    figure.update_layout(
        annotations=_legend(words, theme),
        shapes=[line_across(0, colour=theme.quiet)],
        xaxis={"range": [x.min() - 0.1, x.max() + 0.1], "tickvals": list(x), "ticktext": names},
        yaxis={"range": [-0.4, 1.25]},
        font_size=_SIZE,
    )
    return figure


def straight_figure(x: Array, y: Array, *, theme: Theme) -> go.Figure:
    """A cloud on its way from (u, v) to (f(u), g(v)), standardised, and the line of its slope."""
    figure = new_figure(
        title="The cloud", subtitle="each dot a policy, in standard deviations; line: its slope",
        x="age, bent by f", y="price, bent by g", theme=theme, height=_TALL,
    )  # fmt: skip
    slope = float((x * y).mean())
    figure.add_scatter(
        x=x.round(3), y=y.round(3), mode="markers", name="rows",
        marker={"color": theme.chosen, "size": 7}, opacity=0.6,
    )  # fmt: skip
    figure.add_scatter(
        x=[-3, 3],
        y=[-3 * slope, 3 * slope],
        mode="lines",
        line={"color": REFERENCE, "width": 4},
        name="slope",
    )
    figure.update_layout(xaxis_range=[-3.2, 3.2], yaxis_range=[-3.2, 3.2], font_size=_SIZE)
    return figure


def duel_curve_figure(curve: pd.DataFrame, *, average: float, theme: Theme) -> go.Figure:
    """Average price by age, and what the adversary makes of age, on the same axis of its own.

    Parameters
    ----------
    curve
        As :func:`fairdash.simulations.lesson.duel.by_age` gives it.
    average
        The average price, which a wholly fair model charges everyone.
    """
    sign = 1 if curve["g"].corr(curve["price"]) >= 0 else -1
    lines = (
        (average + 30 * sign * curve["g"], "g", theme.quiet, "dash", "square"),
        (curve["price"], "price", theme.chosen, "solid", "diamond"),
    )
    traces = [
        {
            "x": curve["age"].to_numpy(), "y": y.to_numpy(), "mode": "lines+markers", "name": name,
            "line": {"color": colour, "width": 3, "dash": dash},
            "marker": {"symbol": symbol, "size": 9, "color": colour},
            "hovertemplate": f"{name}, %{{x:.0f}} years: %{{y:.0f}}<extra></extra>",
        }
        for y, name, colour, dash, symbol in lines
    ]  # fmt: skip
    return _in_one_piece(
        _frame("Average price by age", "blue: price; dashed: g, as seen", "Age (years)", "Price (€)", theme),
        traces,
        across=[float(curve["age"].min() - 1), float(curve["age"].max() + 1)],
        # The mean of a fifteenth of standardised values is at most √14: all of g has room.
        up=[110, 345],
        shapes=[line_across(average, colour=theme.quiet)],
    )


def duel_path_figure(
    states: pd.DataFrame, *, step: int, frozen: bool, answered: bool, theme: Theme
) -> go.Figure:
    """What the adversary reads, what a fresh estimator reads, and the error, as far as the game has come.

    Parameters
    ----------
    states
        As :func:`fairdash.simulations.lesson.duel.states` gives them.
    step
        How far it has come.
    frozen
        Whether to mark where the adversary stops learning.
    answered
        Whether to show what follows.
    """
    there = states["step"].to_numpy() <= step
    lines = (
        ("j", "J, as the adversary reads", theme.chosen, "circle", "●"),
        ("fresh", "HGR, read afresh", REFERENCE, "diamond", "◆"),
        ("mse", "error", theme.standard, "square", "■"),
    )
    steps, traces = states["step"].to_numpy(), []
    for column, name, colour, symbol, _ in lines:
        later, past = (states[column].where(each).to_numpy() for each in (there | answered, there))
        traces += [
            {
                "x": steps, "y": later, "mode": "lines", "name": f"{name}, later",
                "line": {"color": colour, "width": 1, "dash": "dot"},
            },
            {"x": steps, "y": past, "mode": "lines", "name": name, "line": {"color": colour, "width": 3}},
            {
                "x": steps[there][-1:], "y": past[there][-1:], "mode": "markers", "name": f"{name}, now",
                "hovertemplate": f"{name}, step %{{x}}: %{{y:.2f}}<extra></extra>",
                "marker": {"color": colour, "symbol": symbol, "size": 12},
            },
        ]  # fmt: skip
    # There in every state, or the stage could not move it.
    mark = line_up(FROZEN_AT, colour=theme.quiet, top=0.8 if frozen else 0.0)
    return _in_one_piece(
        _frame("The game", "what follows is dotted", "Steps", "Value", theme),
        traces,
        across=[-10, int(steps.max()) + 10],
        up=[-0.65, 1.65],
        annotations=_legend([(name, colour, glyph) for _, name, colour, _, glyph in lines], theme),
        shapes=[mark, line_across(0, colour=theme.quiet)],
    )


def payers_front_figure(
    points: pd.DataFrame, *, lam: float, edge: float, around: pd.DataFrame, theme: Theme
) -> go.Figure:
    """Error against dependence along λ, with the chosen weight and the edge of the noise floor.

    Parameters
    ----------
    points
        As :func:`fairdash.simulations.lesson.payers.points` gives them, or some of them.
    lam
        The chosen weight.
    edge
        Where the noise floor ends.
    around
        All points that the axes have to hold.
    """
    figure = new_figure(
        title="What it costs", subtitle="each point a weight λ, ± its standard error; grey: noise floor",
        x="HGR, test rows", y="Root mean squared error (€)", theme=theme, height=_TALL,
    )  # fmt: skip
    across, up = (
        _holding(around[name] - around[f"{name}_se"], around[name] + around[f"{name}_se"])
        for name in ("hgr", "rmse")
    )
    left = min(across[0], -0.02)
    floor = {"type": "rect", "x0": left, "x1": edge, "y0": 0, "y1": 1, "yref": "paper"}
    floor |= {"fillcolor": theme.floor, "line": {"width": 0}, "layer": "below"}
    # There in every state, or the stage could not move it.
    chosen = points[points["lam"] == lam]
    standard = points[points["lam"] == 0]
    for rows, name, colour, symbol, size in (
        (points, "weights", theme.quiet, "circle", 8),
        (standard, "standard", theme.standard, "circle", 14),
        (chosen, "chosen", theme.chosen, "diamond", 16),
    ):
        figure.add_scatter(
            x=rows["hgr"], y=rows["rmse"].where((rows["lam"] > 0) | (name != "chosen")),
            mode="lines+markers", name=name,
            text=[f"{each:g}" for each in rows["lam"]],
            line={"color": colour, "width": 1}, marker={"symbol": symbol, "size": size, "color": colour},
            hovertemplate="λ = %{text}: HGR %{x:.2f}, error %{y:.1f} €<extra></extra>",
        )  # fmt: skip
    bars = {"color": theme.quiet, "thickness": 1, "width": 0}
    figure.data[0].update(
        error_x=bars | {"array": points["hgr_se"].to_numpy()},
        error_y=bars | {"array": points["rmse_se"].to_numpy()},
    )
    beside = {"xanchor": "left", "yanchor": "top", "yref": "paper"}
    words = note("no detectable link", x=left, y=1, colour=theme.text, size=_SIZE)
    figure.update_layout(annotations=[words | beside], shapes=[floor], font_size=_SIZE)
    figure.update_xaxes(range=[left, across[1]])
    figure.update_yaxes(range=up)
    return figure


def _holding(low: pd.Series, high: pd.Series) -> list[float]:
    """The range of an axis on which all of these have room."""
    least, most = float(low.min()), float(high.max())
    room = 0.06 * (most - least)
    return [least - room, most + room]


def payers_age_figure(
    standard: pd.DataFrame,
    chosen: pd.DataFrame | None,
    *,
    column: str,
    ages: tuple[int, int],
    around: pd.DataFrame,
    theme: Theme,
) -> go.Figure:
    """Average price or residual by age, of the standard model and the chosen one.

    Parameters
    ----------
    standard, chosen
        As :func:`fairdash.simulations.lesson.payers.by_age` gives them; None where nothing is chosen yet.
    column
        "price" or "residual".
    ages
        Whom the scene looks at.
    around
        The averages at all weights, which the axes have to hold.
    """
    residual = column == "residual"
    figure = new_figure(
        title="Average error by age" if residual else "Average price by age",
        subtitle="above 0: charged too much" if residual else "orange: standard; blue: chosen",
        x="Age (years)", y="Price − cost (€)" if residual else "Price (€)", theme=theme, height=_TALL,
    )  # fmt: skip
    lines = (
        (standard, "standard", theme.standard, "circle"),
        (chosen, "chosen", theme.chosen, "diamond"),
    )
    for rows, name, colour, symbol in lines:
        # There in every state, or the stage could not move it.
        y = standard[column] * np.nan if rows is None else rows[column]
        rows = standard if rows is None else rows
        figure.add_scatter(
            x=rows["age"], y=y, mode="lines+markers", name=name,
            text=[str(each) for each in rows["n"]],
            line={"color": colour, "width": 3}, marker={"symbol": symbol, "size": 9, "color": colour},
            hovertemplate=f"{name}, %{{x}} years: %{{y:.0f}} € (%{{text}} rows)<extra></extra>",
        )  # fmt: skip
    shapes = [line_up(age, colour=theme.quiet) for age in ages]
    shapes.append(line_across(0, colour=theme.quiet))
    figure.update_layout(shapes=shapes if residual else shapes[:-1], font_size=_SIZE)
    figure.update_xaxes(range=[standard["age"].min() - 1, standard["age"].max() + 1])
    figure.update_yaxes(range=_holding(around[column], around[column]))
    return figure
