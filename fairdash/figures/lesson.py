"""The lesson's pictures: noise learned by heart, who pays, and a cloud on its way to a line."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.parts import band, corner_note, line_across, line_up, note
from fairdash.figures.simulations import coloured
from fairdash.figures.theme import REFERENCE, Theme, new_figure

Array = NDArray[Any]

_TALL = 520
#: Milliseconds a frame is shown.
_FRAME = 60


def noise_figure(
    readings: pd.DataFrame, *, steps: int, answered: bool, subtitle: str, theme: Theme
) -> go.Figure:
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
        subtitle=subtitle,
        x="Steps of training (logarithmic)",
        y="Correlation",
        theme=theme,
        height=_TALL,
    )
    x = readings["steps"]
    lines = [("own", "rows it has learned", theme.chosen, "circle")]
    words = [coloured("rows it has learned", theme.chosen)]
    if answered:
        lines.append(("new", "new rows", REFERENCE, "diamond"))
        words.append(coloured("new rows", REFERENCE, "◆"))
        words.append(coloured("the same rows shuffled, lowest to highest", theme.quiet, "■"))
        low, high = readings["low"], readings["high"]
        figure.add_trace(band(x, low, high, colour=theme.quiet, name="shuffled", opacity=0.25))
    here = readings[readings["steps"] <= steps]
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
    figure.update_layout(
        annotations=[corner_note("<br>".join(words), x=0.02, y=0.98, colour=theme.text, size=14)],
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
                "type": "buttons", "buttons": [play], "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom",
                "showactive": False, "font": {"color": "#1c2430"}, "bgcolor": "#ffffff",
            }
        ],
    )  # fmt: skip
    return figure


def _cloud(x: Array, y: Array, *, theme: Theme) -> list[go.Scatter]:
    slope = float((x * y).mean())
    return [
        go.Scatter(
            x=x.round(3), y=y.round(3), mode="markers",
            marker={"color": theme.chosen, "size": 7, "opacity": 0.6},
            hoverinfo="skip", name="rows",
        ),
        go.Scatter(
            x=[-3, 3], y=[-3 * slope, 3 * slope], mode="lines", line={"color": REFERENCE, "width": 4},
            hoverinfo="skip", name="slope",
        ),
    ]  # fmt: skip


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
            line={"color": colour, "width": 3, "dash": dash}, marker={"symbol": symbol, "size": 9},
            hovertemplate=f"{name}, %{{x:.0f}} years: %{{y:.0f}}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(shapes=[line_across(average, colour=theme.quiet)])
    figure.update_yaxes(range=[120, 320])
    return figure


def duel_path_figure(states: pd.DataFrame, *, step: int, frozen_at: int | None, theme: Theme) -> go.Figure:
    """What the adversary reads, what a fresh estimator reads, and the error, as far as the game has come.

    Parameters
    ----------
    states
        As :func:`fairdash.lesson.duel.states` gives them.
    step
        How far it has come.
    frozen_at
        Where the adversary stops learning; None if it goes on.
    """
    figure = new_figure(
        title="The game", subtitle="what follows is dotted", x="Steps", y="Value", theme=theme, height=_TALL
    )
    here = states[states["step"] <= step]
    lines = (
        ("j", "J, as the adversary reads", theme.chosen, "circle", "●"),
        ("fresh", "HGR, read afresh", REFERENCE, "diamond", "◆"),
        ("mse", "error", theme.standard, "square", "■"),
    )
    for column, name, colour, symbol, _ in lines:
        figure.add_scatter(
            x=states["step"], y=states[column], mode="lines", name=f"{name}, later", hoverinfo="skip",
            line={"color": colour, "width": 1, "dash": "dot"},
        )  # fmt: skip
        figure.add_scatter(
            x=here["step"], y=here[column], mode="lines", name=name, line={"color": colour, "width": 3},
            hovertemplate=f"{name}, step %{{x}}: %{{y:.2f}}<extra></extra>",
        )  # fmt: skip
        figure.add_scatter(
            x=here["step"][-1:], y=here[column][-1:], mode="markers", name=f"{name}, now", hoverinfo="skip",
            marker={"color": colour, "symbol": symbol, "size": 12},
        )  # fmt: skip
    words = "<br>".join(coloured(name, colour, glyph) for _, name, colour, _, glyph in lines)
    marks = [] if frozen_at is None else [line_up(frozen_at, colour=theme.quiet)]
    figure.update_layout(
        annotations=[corner_note(words, x=0.98, y=0.98, xanchor="right", colour=theme.text, size=14)],
        shapes=[*marks, line_across(0, colour=theme.quiet)],
        yaxis={"range": [-0.65, 1.45]},
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
        if rows is None:
            continue
        figure.add_scatter(
            x=rows["age"], y=rows[column], mode="lines+markers", name=name, customdata=rows["n"],
            line={"color": colour, "width": 3}, marker={"symbol": symbol, "size": 9},
            hovertemplate=f"{name}, %{{x}} years: %{{y:.0f}} € (%{{customdata}} rows)<extra></extra>",
        )  # fmt: skip
    shapes = [line_up(age, colour=theme.quiet) for age in ages]
    figure.update_layout(shapes=[*shapes, line_across(0, colour=theme.quiet)] if residual else shapes)
    figure.update_yaxes(range=[-60, 80] if residual else [130, 260])
    return figure
