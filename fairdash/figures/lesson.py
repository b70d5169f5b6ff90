"""The lesson's pictures: noise learned by heart, who pays, and a cloud on its way to a line."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.parts import corner_note, line_across, line_up, note
from fairdash.figures.simulations import coloured
from fairdash.figures.theme import REFERENCE, Theme, new_figure

Array = NDArray[Any]

_TALL = 520
#: Milliseconds a frame is shown.
_FRAME = 60


def noise_figure(readings: pd.DataFrame, *, steps: int, subtitle: str, theme: Theme) -> go.Figure:
    """What an adversary reads on its own rows and on new ones against its steps, as far as it has come.

    Parameters
    ----------
    readings
        As :func:`fairdash.lesson.noise.readings` gives them.
    steps
        How far it has come; the lines of what it would read later are faint.
    """
    figure = new_figure(
        title="What the adversary reads", subtitle=subtitle, x="Steps of training (logarithmic)", y="Correlation",
        theme=theme, height=_TALL,
    )  # fmt: skip
    x = readings["steps"]
    figure.add_scatter(x=x, y=readings["high"], mode="lines", line={"width": 0}, hoverinfo="skip", name="top")
    figure.add_scatter(
        x=x, y=readings["low"], mode="lines", line={"width": 0}, fill="tonexty", fillcolor=theme.floor,
        hoverinfo="skip", name="shuffled",
    )  # fmt: skip
    here = readings[readings["steps"] <= steps]
    lines = (
        ("own", "rows it has learned", theme.chosen, "circle"),
        ("new", "new rows", REFERENCE, "diamond"),
    )
    for column, name, colour, symbol in lines:
        figure.add_scatter(
            x=x, y=readings[column], mode="lines", line={"color": colour, "width": 1, "dash": "dot"},
            hoverinfo="skip", name=f"{name}, later",
        )  # fmt: skip
        figure.add_scatter(
            x=here["steps"], y=here[column], mode="lines+markers",
            line={"color": colour, "width": 4}, marker={"symbol": symbol, "size": 11},
            hovertemplate=f"{name}, %{{x}} steps: %{{y:.3f}}<extra></extra>", name=name,
        )  # fmt: skip
    words = [coloured(name, colour, glyph) for (_, name, colour, _), glyph in zip(lines, "●◆", strict=True)]
    names = "<br>".join([*words, coloured("shuffled rows, lowest to highest", theme.quiet, "■")])
    figure.update_layout(
        annotations=[corner_note(names, x=0.02, y=0.98, colour=theme.text, size=14)],
        shapes=[line_across(0, colour=theme.quiet)],
        xaxis={"type": "log", "tickvals": list(x), "ticktext": [f"{each:,}" for each in x]},
        yaxis={"range": [-0.4, 1.05]},
    )
    return figure


def straight_figure(clouds: list[tuple[Array, Array]], *, shown: int, theme: Theme) -> go.Figure:
    """A cloud that plotly moves from (u, v) to (f(u), g(v)): play, or the slider beneath.

    Parameters
    ----------
    clouds
        x and y of each frame, standardised.
    shown
        Which frame stands there at first.
    """
    figure = new_figure(
        title="The cloud", subtitle="each dot a policy, in standard deviations; line: its slope",
        x="age, bent by f", y="price, bent by g", theme=theme, height=_TALL,
    )  # fmt: skip
    figure.add_traces(_cloud(*clouds[shown], theme=theme))
    figure.frames = [
        go.Frame(data=_cloud(x, y, theme=theme), name=str(k), traces=[0, 1])
        for k, (x, y) in enumerate(clouds)
    ]
    now = {"frame": {"duration": _FRAME, "redraw": False}, "transition": {"duration": 0}, "mode": "immediate"}
    play = {"label": "▶ Play", "method": "animate", "args": [None, now | {"fromcurrent": False}]}
    figure.update_layout(
        xaxis={"range": [-3.2, 3.2]},
        yaxis={"range": [-3.2, 3.2]},
        updatemenus=[
            {
                "type": "buttons", "buttons": [play], "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom",
                "showactive": False, "font": {"color": "#1c2430"}, "bgcolor": "#ffffff",
            }
        ],
    )  # fmt: skip
    return figure


def _cloud(x: Array, y: Array, *, theme: Theme) -> list[go.Scatter]:
    slope = float((x * y).mean())
    return [
        go.Scatter(
            x=x.round(3), y=y.round(3), mode="markers", marker={"color": theme.chosen, "size": 7, "opacity": 0.6},
            hoverinfo="skip", name="rows",
        ),
        go.Scatter(
            x=[-3, 3], y=[-3 * slope, 3 * slope], mode="lines", line={"color": REFERENCE, "width": 4},
            hoverinfo="skip", name="slope",
        ),
    ]  # fmt: skip


def payers_front_figure(points: pd.DataFrame, *, lam: float, theme: Theme) -> go.Figure:
    """Error against dependence along λ, with the chosen weight and the edge of the noise floor."""
    figure = new_figure(
        title="What it costs", subtitle="each point a weight λ; grey: noise floor", x="HGR, test rows",
        y="Typical error (€)", theme=theme, height=_TALL,
    )  # fmt: skip
    edge = float(points["floor_q95"].mean())
    left = min(0.0, float(points["hgr"].min())) - 0.02
    figure.add_vrect(x0=left, x1=edge, fillcolor=theme.floor, line_width=0, layer="below")
    chosen = points[points["lam"] == lam]
    standard = points[points["lam"] == 0]
    for rows, name, colour, symbol, size in (
        (points, "weights", theme.quiet, "circle", 8),
        (standard, "standard", theme.standard, "circle", 14),
        (chosen[chosen["lam"] > 0], "chosen", theme.chosen, "diamond", 16),
    ):
        figure.add_scatter(
            x=rows["hgr"], y=rows["rmse"], mode="lines+markers", name=name, customdata=rows["lam"],
            line={"color": colour, "width": 1}, marker={"symbol": symbol, "size": size, "color": colour},
            hovertemplate="λ = %{customdata:g}: HGR %{x:.2f}, error %{y:.1f} €<extra></extra>",
        )  # fmt: skip
    beside = {"xanchor": "left", "yanchor": "top", "yref": "paper"}
    figure.add_annotation(note("can't be told from none", x=left, y=1, colour=theme.quiet) | beside)
    figure.update_xaxes(range=[left, float(points["hgr"].max()) * 1.1])
    return figure


def payers_age_figure(
    standard: pd.DataFrame, chosen: pd.DataFrame, *, column: str, ages: tuple[int, int], theme: Theme
) -> go.Figure:
    """Average price or residual by age, of the standard model and the chosen one.

    Parameters
    ----------
    column
        "price" or "residual".
    ages
        Whom the scene looks at.
    """
    residual = column == "residual"
    figure = new_figure(
        title="Average error by age" if residual else "Average price by age",
        subtitle="price − cost: above 0 is charged too much" if residual else "orange: standard; blue: chosen",
        x="Age (years)", y="Price − cost (€)" if residual else "Price (€)", theme=theme, height=_TALL,
    )  # fmt: skip
    lines = (
        (standard, "standard", theme.standard, "circle"),
        (chosen, "chosen", theme.chosen, "diamond"),
    )
    for rows, name, colour, symbol in lines:
        figure.add_scatter(
            x=rows["age"], y=rows[column], mode="lines+markers", name=name, customdata=rows["n"],
            line={"color": colour, "width": 3}, marker={"symbol": symbol, "size": 9},
            hovertemplate=f"{name}, %{{x}} years: %{{y:.0f}} € (%{{customdata}} rows)<extra></extra>",
        )  # fmt: skip
    shapes = [line_up(age, colour=theme.quiet) for age in ages]
    figure.update_layout(shapes=[*shapes, line_across(0, colour=theme.quiet)] if residual else shapes)
    figure.update_yaxes(range=[-60, 80] if residual else [130, 260])
    return figure
