"""The lesson's pictures: noise learned by heart, who pays, and a cloud on its way to a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.parts import band, corner_note, line_across, line_up, note
from fairdash.figures.theme import REFERENCE, Theme, new_figure

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
        The same figure in each state: the same traces, notes and shapes, as many points in each.
    """
    plain = [_plain(figure) for figure in figures]
    parts = [("trace", [each["data"] for each in plain], ("x", "y"))] + [
        (kind, [each["layout"].get(name, []) for each in plain], properties)
        for kind, name, properties in (("note", "annotations", ("x", "y")), ("shape", "shapes", ("x1", "y1")))
    ]
    moves = []
    for kind, states, properties in parts:
        for part, _ in enumerate(states[0]):
            found = {name: [state[part].get(name) for state in states] for name in properties}
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
            trace[name] = np.where(np.isnan(values), None, values).tolist()
    return plain


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
        As :func:`fairdash.lesson.noise.readings` gives them.
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
        As :func:`fairdash.lesson.duel.by_age` gives it.
    average
        The average price, which a wholly fair model charges everyone.
    """
    figure = new_figure(
        title="Average price by age",
        subtitle="blue: the predictor; grey, dashed: g, where the adversary looks",
        x="Age (years)",
        y="Price (€)",
        theme=theme,
        height=_TALL,
    )
    sign = 1 if curve["g"].corr(curve["price"]) >= 0 else -1
    for y, name, colour, dash, symbol in (
        (average + 30 * sign * curve["g"], "g", theme.quiet, "dash", "square"),
        (curve["price"], "price", theme.chosen, "solid", "diamond"),
    ):
        figure.add_scatter(
            x=curve["age"], y=y, mode="lines+markers", name=name,
            line={"color": colour, "width": 3, "dash": dash},
            marker={"symbol": symbol, "size": 9, "color": colour},
            hovertemplate=f"{name}, %{{x:.0f}} years: %{{y:.0f}}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(shapes=[line_across(average, colour=theme.quiet)], font_size=_SIZE)
    figure.update_xaxes(range=[curve["age"].min() - 1, curve["age"].max() + 1])
    figure.update_yaxes(range=[120, 320])
    return figure


def duel_path_figure(
    states: pd.DataFrame, *, step: int, frozen_at: int | None, answered: bool, theme: Theme
) -> go.Figure:
    """What the adversary reads, what a fresh estimator reads, and the error, as far as the game has come.

    Parameters
    ----------
    states
        As :func:`fairdash.lesson.duel.states` gives them.
    step
        How far it has come.
    frozen_at
        Where the adversary stops learning; None if it goes on.
    answered
        Whether to show what follows.
    """
    figure = new_figure(
        title="The game", subtitle="what follows is dotted", x="Steps", y="Value", theme=theme, height=_TALL
    )
    there = states["step"] <= step
    here = states[there]
    lines = (
        ("j", "J, as the adversary reads", theme.chosen, "circle", "●"),
        ("fresh", "HGR, read afresh", REFERENCE, "diamond", "◆"),
        ("mse", "error", theme.standard, "square", "■"),
    )
    for column, name, colour, symbol, _ in lines:
        figure.add_scatter(
            x=states["step"], y=states[column].where(there | answered),
            mode="lines", name=f"{name}, later", hoverinfo="skip",
            line={"color": colour, "width": 1, "dash": "dot"},
        )  # fmt: skip
        figure.add_scatter(
            x=states["step"], y=states[column].where(there), mode="lines", name=name,
            line={"color": colour, "width": 3},
        )  # fmt: skip
        figure.add_scatter(
            x=here["step"][-1:], y=here[column][-1:], mode="markers", name=f"{name}, now",
            hovertemplate=f"{name}, step %{{x}}: %{{y:.2f}}<extra></extra>",
            marker={"color": colour, "symbol": symbol, "size": 12},
        )  # fmt: skip
    # There in every state, or the stage could not move it.
    mark = line_up(frozen_at or 0, colour=theme.quiet, top=0.0 if frozen_at is None else 1.0)
    figure.update_layout(
        annotations=_legend([(name, colour, glyph) for _, name, colour, _, glyph in lines], theme),
        shapes=[mark, line_across(0, colour=theme.quiet)],
        xaxis={"range": [-10, states["step"].max() + 10]},
        yaxis={"range": [-0.65, 1.65]},
        font_size=_SIZE,
    )
    return figure


def payers_front_figure(points: pd.DataFrame, *, lam: float, theme: Theme) -> go.Figure:
    """Error against dependence along λ, with the chosen weight and the edge of the noise floor."""
    figure = new_figure(
        title="What it costs", subtitle="each point a weight λ; grey: noise floor", x="HGR, test rows",
        y="Typical error (€)", theme=theme, height=_TALL,
    )  # fmt: skip
    edge = float(points["floor_q95"].mean())
    left = -0.08
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
    beside = {"xanchor": "left", "yanchor": "top", "yref": "paper"}
    words = note("can't be told from none", x=left, y=1, colour=theme.text, size=_SIZE)
    figure.update_layout(annotations=[words | beside], shapes=[floor], font_size=_SIZE)
    figure.update_xaxes(range=[left, 0.55])
    figure.update_yaxes(range=[54, 83])
    return figure


def payers_age_figure(
    standard: pd.DataFrame, chosen: pd.DataFrame | None, *, column: str, ages: tuple[int, int], theme: Theme
) -> go.Figure:
    """Average price or residual by age, of the standard model and the chosen one.

    Parameters
    ----------
    standard, chosen
        As :func:`fairdash.lesson.payers.by_age` gives them; None where nothing is chosen yet.
    column
        "price" or "residual".
    ages
        Whom the scene looks at.
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
    figure.update_yaxes(range=[-60, 80] if residual else [130, 260])
    return figure
