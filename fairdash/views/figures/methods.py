"""Figure of the bench: the error of methods at equal dependence."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from fairdash.training.methods import DEFAULT_METHOD, STANDARD
from fairdash.views.figures.parts import line, with_legend
from fairdash.views.figures.theme import REFERENCE, Theme, escaped, new_figure

#: Room for a legend of as many methods below the plot.
_HEIGHT = 560


def methods_figure(table: pd.DataFrame, *, title: str, reading: str, theme: Theme) -> go.Figure:
    """Draw the front of each method on one data set, by one reading.

    Parameters
    ----------
    table
        Rows of :func:`fairdash.views.reports.methods.read_methods` for one data set and one reading.
    title, reading
        Names of the data set and of the reading.

    Returns
    -------
    Figure
        Error against the level of dependence, 1 for the standard network. The default stands out, and
        methods that need s for a price are dashed.
    """
    figure = new_figure(
        title=title,
        subtitle=f"dependence by {reading}; dashed: a price needs s",
        x="dependence ÷ the standard network's",
        y="error ÷ the average's",
        theme=theme,
        height=_HEIGHT,
    )
    standard = table[table["method"] == STANDARD]
    own = table[(table["method"] != STANDARD) & (table["comparable"].notna())]
    for method, path in own.groupby("method", sort=False):
        path = pd.concat([standard, path.sort_values("level", ascending=False)])
        is_default, needs_s = method == DEFAULT_METHOD, bool(path["needs_s"].iloc[-1])
        figure.add_trace(
            line(
                path["level"].tolist(),
                path["comparable"].tolist(),
                name=escaped(method),
                colour=theme.chosen if is_default else REFERENCE if needs_s else theme.quiet,
                width=4 if is_default else 1.5,
                dash="dash" if needs_s else "solid",
                hover=f"{escaped(method)}: %{{y:.3f}} at %{{x:.0%}}",
            )
        )
    figure.update_xaxes(tickformat=".0%", tickvals=[0.25, 0.5, 0.75, 1.0])
    return with_legend(figure, y=-0.25, yanchor="top", x=0, xanchor="left")
