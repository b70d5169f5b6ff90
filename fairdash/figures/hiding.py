"""Where dependence hides: the functions f and g under which two variables are most alike."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.dependence import LearnedFunctions
from fairdash.figures.parts import note
from fairdash.figures.theme import Theme, new_figure

#: Enough for a smooth line; more only make the page heavier.
MOST_POINTS = 150


def transformation_figure(
    curves: dict[str, LearnedFunctions],
    *,
    of_sensitive: bool,
    title: str,
    axis: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """One function of two models, as lines: f over what is audited, or g over the sensitive attribute.

    Parameters
    ----------
    curves
        Name of a model to its functions: first what it is compared with, then the chosen one.
    of_sensitive
        Draw g over the sensitive attribute; else f over predictions or residuals.
    title, axis, subtitle
        In plain text; the axis with its unit.
    """
    figure = new_figure(
        title=title,
        subtitle=subtitle,
        x=axis,
        y="Standard deviations from the mean",
        theme=theme,
        height=340,
    )
    for (name, functions), colour, dash in zip(
        curves.items(), (theme.standard, theme.chosen), ("dash", "solid"), strict=False
    ):
        x, y = (functions.v, functions.g) if of_sensitive else (functions.u, functions.f)
        keep = _spread_out(x)
        figure.add_scatter(
            x=x[keep],
            y=y[keep],
            mode="lines",
            name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"{name}: %{{x:.4~g}} counts as %{{y:.2f}}<extra></extra>",
        )
        end_x, end_y = float(x[keep][-1]), float(y[keep][-1])
        above = {"xanchor": "right", "yshift": 12}
        figure.add_annotation(note(f"<b>{name}</b>", x=end_x, y=end_y, colour=colour) | above)
    return figure


def _spread_out(x: NDArray[np.float64]) -> NDArray[np.intp]:
    """Sorted rows: at most MOST_POINTS of different values, the ends among them."""
    first = np.unique(x, return_index=True)[1]
    places = np.linspace(0, len(first) - 1, min(MOST_POINTS, len(first)))
    return first[places.round().astype(int)]
