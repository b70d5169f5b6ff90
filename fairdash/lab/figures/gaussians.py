"""Figures for the bivariate normal: HGR², χ² and mutual information along ρ, and the supplement's bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fairdash.lab.figures.simulations import coloured, mark_of, quantity_colour, short_name
from fairdash.lab.truth import hgr2, information, middle, upper
from fairdash.views.figures.parts import Values, corner_note, limits, line, line_up, note
from fairdash.views.figures.theme import Theme, new_figure

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
    """Draw the three quantities against ρ, exact as lines and estimated as points.

    Parameters
    ----------
    exact
        As :func:`fairdash.lab.truth.exact_curves` gives it.
    estimates
        ``id``, ``rho``, ``mean``, ``min``, ``max``: in the units of the lines (HGR squared).
    ids
        Estimators to draw.
    base
        "nats" or "bits", of mutual information.
    rho
        Value of ρ to mark.
    """
    words: Values = {"title": "HGR², χ², mutual information", "subtitle": subtitle, "x": "Correlation ρ"}
    figure = new_figure(**words, y=f"Value (mutual information in {base})", theme=theme, height=480)
    # Name, column, colour, short name, and where along ρ that stands.
    right, left = {"xanchor": "left"}, {"xanchor": "right"}
    lines = (
        ("HGR² = ρ²", "hgr2", "hgr", "HGR²", 0.95, right | {"yanchor": "middle", "xshift": 6}),
        ("χ² = ρ²/(1 − ρ²)", "chi2", "chi2", "χ²", 0.80, left | {"yanchor": "bottom", "xshift": -6}),
        (
            "mutual information",
            "mi" if base == "nats" else "mi_bits",
            "mi",
            "mutual information",
            0.62,
            right | {"yanchor": "top", "yshift": -4},
        ),
    )
    notes = []
    for name, column, quantity, text, at, place in lines:
        shown, colour = exact[exact[column] <= TOP * 1.05], quantity_colour(quantity, theme)
        look: Values = {
            "colour": colour,
            "width": 4,
            "opacity": 0.7,
            "hover": f"{name} at ρ = %{{x:.2f}}: %{{y:.3f}}",
        }
        figure.add_trace(line(shown["rho"], shown[column], name=name, **look))
        value = float(np.interp(at, exact["rho"], exact[column]))
        label = coloured(f"<b>{text}</b>", colour)
        notes.append(note(label, x=at, y=min(value, TOP), colour=theme.text) | place)
    for id in ids:
        points = estimates[(estimates["id"] == id) & (estimates["mean"] <= TOP)]
        if points.empty:
            continue
        mark, name, reach = mark_of(id, theme), estimate_name(id), points[["min", "max"]]
        means = mark.line(
            points["rho"],
            points["mean"],
            name=name,
            size=8,
            width=1.5,
            error_y=limits(points["mean"], *reach.to_numpy().T, colour=mark.colour, thickness=1, width=0),
            customdata=reach.to_numpy(),
            hover=f"<b>{name}</b> at ρ = %{{x:.2f}}: %{{y:.3f}}"
            "<br>%{customdata[0]:.3f} to %{customdata[1]:.3f}",
        )
        figure.add_trace(means)
    key = "<br>".join(mark_of(id, theme).before(estimate_name(id)) for id in ids)
    notes.append(corner_note(key, x=0.02, y=0.98, colour=theme.text))
    return figure.update_layout(
        annotations=notes,
        shapes=[line_up(rho, colour=theme.quiet)],
        xaxis={"range": [-0.02, 1.09], "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1]},
        yaxis={"range": [-0.1, TOP]},
    )


def inequality_figure(*, base: str, printed: float, crossing: float, theme: Theme) -> go.Figure:
    """Draw the three terms of the supplement's inequality against χ², for the bivariate normal.

    Parameters
    ----------
    base
        "nats" or "bits".
    printed, crossing
        The threshold as printed, and where the bound really crosses χ².
    """
    words: Values = {"title": f"The inequality's terms, I in {base}", "x": "χ²", "y": "Value"}
    subtitle = "of the bivariate normal: each is a function of χ²"
    figure = new_figure(**words, subtitle=subtitle, theme=theme, height=460)
    x = np.linspace(0.0, 1.5, 301)
    hgr, chi2, mi = (quantity_colour(each, theme) for each in ("hgr", "chi2", "mi"))
    lines = (
        ("χ²", x, chi2, "solid", 4),
        ("HGR²", hgr2(x), hgr, "solid", 6),
        ("1 − 2^(−2I)", middle(information(x, base)), mi, "solid", 2.5),
        ("the same with log(1 + χ²) for I", upper(x, base), theme.text, "dash", 2.5),
    )
    for name, y, colour, dash, width in lines:
        look: Values = {"colour": colour, "width": width, "dash": dash, "opacity": 0.7 if width > 4 else 1.0}
        figure.add_trace(line(x, y, name=name, hover=f"{name} at χ² = %{{x:.3f}}: %{{y:.3f}}", **look))
    names = "<br>".join(coloured(name, colour) for name, _, colour, *_ in lines)
    marks = f"{crossing:.3f}: the dashed line crosses χ²<br>{printed:.3f}: threshold t as printed"
    beside = {"x": max(printed, crossing) + 0.02, "y": 0.01, "yanchor": "bottom", "xref": "x"}
    key = corner_note(names, x=0.02, y=0.98, colour=theme.text)
    places = ((printed, theme.quiet), (crossing, theme.text))
    return figure.update_layout(
        annotations=[key, corner_note(marks, colour=theme.text) | beside],
        shapes=[line_up(at, top=0.62, colour=colour) for at, colour in places],
        xaxis={"range": [0, 1.5]},
        yaxis={"range": [0, 1.5]},
    )


def estimate_name(id: str) -> str:
    """Return an estimator's name beside HGR²: the square, for an estimator of HGR."""
    return f"{short_name(id)}²" if id.startswith("hgr_") else short_name(id)
