"""Pictures of a data set before any model: distributions, and the target by sensitive quantile."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.figures.theme import Theme, escaped, faded, new_figure

#: More dots than this are a blot, and slow in the browser: a random sample is drawn instead.
DOTS = 1500


def distribution_figure(values: NDArray[np.float64], *, role: str, label: str, theme: Theme) -> go.Figure:
    """Histogram of one column; `label` is its axis title, with the unit."""
    figure = new_figure(
        title=f"Distribution of the {role}",
        subtitle=f"{len(values):,} rows, mean {values.mean():.4g}, "
        f"from {values.min():.4g} to {values.max():.4g}",
        x=label,
        y="Rows",
        theme=theme,
        height=300,
    )
    counts, edges = np.histogram(values, bins=min(40, max(10, int(len(values) ** 0.5))))
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=counts,
        width=np.diff(edges),
        marker={"color": faded(theme.quiet, 0.75), "line": {"width": 0}},
        customdata=np.column_stack([edges[:-1], edges[1:]]),
        hovertemplate="%{customdata[0]:.4~g} to %{customdata[1]:.4~g}: %{y:,} rows<extra></extra>",
    )
    return figure


def link_figure(
    s: NDArray[np.float64],
    y: NDArray[np.float64],
    profile: pd.DataFrame,
    *,
    sensitive: str,
    target: str,
    theme: Theme,
) -> go.Figure:
    """Every row as a dot and the target's average by sensitive quantile as a line.

    Parameters
    ----------
    s, y
        (n,) arrays.
    profile
        Columns ``s_mean``, ``mean``, ``n``.
    sensitive, target
        Axis titles, with units.
    """
    shown = np.arange(len(y))
    if len(y) > DOTS:
        shown = np.sort(np.random.default_rng(0).choice(len(y), DOTS, replace=False))
    dots = f"{len(shown):,} rows" if len(shown) == len(y) else f"{len(shown):,} of {len(y):,} rows, at random"
    figure = new_figure(
        title="How the target follows the sensitive attribute",
        subtitle=f"dots: {dots}; line: group averages",
        x=sensitive,
        y=target,
        theme=theme,
    )
    figure.add_scattergl(
        x=s[shown],
        y=y[shown],
        mode="markers",
        marker={"color": theme.quiet, "size": 4, "opacity": 0.35},
        hoverinfo="skip",
        name="rows",
    )
    figure.add_scatter(
        x=profile["s_mean"],
        y=profile["mean"],
        mode="lines+markers",
        line={"color": theme.text, "width": 2.5},
        marker={"size": 7},
        customdata=profile[["n"]],
        name="average by group",
        hovertemplate=f"{escaped(sensitive)} %{{x:.4~g}}<br>average %{{y:.4~g}}"
        "<br>%{customdata[0]:.0f} rows<extra></extra>",
    )
    return figure
