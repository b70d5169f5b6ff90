"""The bivariate normal: HGR², χ² and mutual information along ρ, and the supplement's inequality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.parts import corner_note, line_up, note
from fairdash.figures.simulations import coloured, mark_of, quantity_colour, short_name
from fairdash.figures.theme import Theme, new_figure
from fairdash.simulations.supplement import hgr2, information, middle, upper

Array = NDArray[np.float64]

#: χ² has no upper end; the axis has.
TOP = 3.0


def along_rho_figure(
    exact: pd.DataFrame,
    estimates: pd.DataFrame,
    *,
    ids: Sequence[str],
    base: str,
    rho: float,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """The three quantities against ρ, true as lines and estimated as points.

    Parameters
    ----------
    exact
        As :func:`fairdash.simulations.gaussians.exact_curves` gives it.
    estimates
        ``id``, ``rho``, ``mean``, ``min``, ``max``: in the units of the lines (HGR squared).
    ids
        Estimators to draw.
    base
        "nats" or "bits", of mutual information.
    rho
        Which ρ is marked.
    """
    figure = new_figure(
        title="HGR², χ², mutual information",
        subtitle=subtitle,
        x="Correlation ρ",
        y=f"Value (mutual information in {base})",
        theme=theme,
        height=480,
    )
    hgr, chi2, mi = (quantity_colour(each, theme) for each in ("hgr", "chi2", "mi"))
    lines = (
        ("HGR² = ρ²", "hgr2", hgr, "solid"),
        ("χ² = ρ²/(1 − ρ²)", "chi2", chi2, "solid"),
        ("mutual information", "mi" if base == "nats" else "mi_bits", mi, "solid"),
    )
    traces: list[Any] = []
    notes = []
    for name, column, colour, dash in lines:
        shown = exact[exact[column] <= TOP * 1.05]
        traces.append(
            go.Scatter(
                x=shown["rho"],
                y=shown[column],
                mode="lines",
                line={"color": colour, "width": 4, "dash": dash},
                opacity=0.7,
                name=name,
                hovertemplate=f"{name} at ρ = %{{x:.2f}}: %{{y:.3f}}<extra></extra>",
            )
        )
    for id in ids:
        points = estimates[estimates["id"] == id]
        points = points[points["mean"] <= TOP]
        if points.empty:
            continue
        mark = mark_of(id, theme)
        name = estimate_name(id)
        y = points["mean"].to_numpy()
        traces.append(
            go.Scatter(
                x=points["rho"],
                y=y,
                error_y={
                    "symmetric": False,
                    "array": points["max"].to_numpy() - y,
                    "arrayminus": y - points["min"].to_numpy(),
                    "color": mark.colour,
                    "thickness": 1,
                    "width": 0,
                },
                **mark.line(size=8, width=1.5),
                customdata=points[["min", "max"]].to_numpy(),
                name=name,
                hovertemplate=f"<b>{name}</b> at ρ = %{{x:.2f}}: %{{y:.3f}}"
                "<br>%{customdata[0]:.3f} to %{customdata[1]:.3f}<extra></extra>",
            )
        )
    figure.add_traces(traces)
    for at, column, text, colour, place in (
        (0.80, "chi2", "χ²", chi2, {"xanchor": "right", "yanchor": "bottom", "xshift": -6}),
        (0.95, "hgr2", "HGR²", hgr, {"xanchor": "left", "yanchor": "middle", "xshift": 6}),
        (0.62, lines[2][1], "mutual information", mi, {"xanchor": "left", "yanchor": "top", "yshift": -4}),
    ):
        value = float(np.interp(at, exact["rho"], exact[column]))
        label = coloured(f"<b>{text}</b>", colour)
        notes.append(note(label, x=at, y=min(value, TOP), colour=theme.text) | place)
    key = "<br>".join(mark_of(id, theme).before(estimate_name(id)) for id in ids)
    notes.append(corner_note(key, x=0.02, y=0.98, colour=theme.text))
    figure.update_layout(
        annotations=notes,
        shapes=[line_up(rho, colour=theme.quiet)],
        xaxis={"range": [-0.02, 1.09], "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1]},
        yaxis={"range": [-0.1, TOP]},
    )
    return figure


def inequality_figure(
    *, base: str, printed: float, crossing: float, theme: Theme, height: int = 460
) -> go.Figure:
    """The three terms of the supplement's inequality against χ², all of them of the bivariate normal.

    Parameters
    ----------
    base
        "nats" or "bits".
    printed, crossing
        The threshold as printed, and where the bound really crosses χ².
    """
    figure = new_figure(
        title=f"The inequality's terms, I in {base}",
        subtitle="of the bivariate normal: each is a function of χ²",
        x="χ²",
        y="Value",
        theme=theme,
        height=height,
    )
    x = np.linspace(0.0, 1.5, 301)
    hgr, chi2, mi = (quantity_colour(each, theme) for each in ("hgr", "chi2", "mi"))
    lines = (
        ("χ²", x, chi2, "solid", 4),
        ("HGR²", hgr2(x), hgr, "solid", 6),
        ("1 − 2^(−2I)", middle(information(x, base)), mi, "solid", 2.5),
        ("the same with log(1 + χ²) for I", upper(x, base), theme.text, "dash", 2.5),
    )
    figure.add_traces(
        [
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                line={"color": colour, "width": width, "dash": dash},
                opacity=0.7 if width > 4 else 1.0,
                name=name,
                hovertemplate=f"{name} at χ² = %{{x:.3f}}: %{{y:.3f}}<extra></extra>",
            )
            for name, y, colour, dash, width in lines
        ]
    )
    names = "<br>".join(coloured(name, colour) for name, _, colour, *_ in lines)
    marks = f"{crossing:.3f}: the dashed line crosses χ²<br>{printed:.3f}: threshold t as printed"
    beside = {"x": max(printed, crossing) + 0.02, "y": 0.01, "yanchor": "bottom", "xref": "x"}
    places = ((printed, theme.quiet), (crossing, theme.text))
    figure.update_layout(
        annotations=[
            corner_note(names, x=0.02, y=0.98, colour=theme.text),
            corner_note(marks, colour=theme.text) | beside,
        ],
        shapes=[line_up(at, top=0.62, colour=colour) for at, colour in places],
        xaxis={"range": [0, 1.5]},
        yaxis={"range": [0, 1.5]},
    )
    return figure


def estimate_name(id: str) -> str:
    """How an estimate is called beside HGR²: the square of an estimator of HGR."""
    return f"{short_name(id)}²" if id.startswith("hgr_") else short_name(id)
