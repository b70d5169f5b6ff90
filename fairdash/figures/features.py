"""Which features a model leans on, beside another one."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.parts import note
from fairdash.figures.theme import Theme, escaped, new_figure

MOST_FEATURES = 12


def features_figure(
    importance: pd.DataFrame, *, axis: str, a_name: str, b_name: str, subtitle: str, theme: Theme
) -> go.Figure:
    """The features that count most for either model, two dots a feature.

    Parameters
    ----------
    importance
        Columns ``feature``, ``a``, ``b``.
    axis
        What they say, with its unit.
    """
    weight = importance[["a", "b"]].abs().max(axis=1)
    shown = importance.loc[weight.nlargest(MOST_FEATURES).index].sort_values("a")
    figure = new_figure(
        title="Which features lost weight",
        subtitle=subtitle,
        x=axis,
        y="",
        theme=theme,
        height=110 + 26 * len(shown),
    )
    names = [escaped(name) for name in shown["feature"]]
    for (_, row), name in zip(shown.iterrows(), names, strict=True):
        figure.add_scatter(
            x=[row["a"], row["b"]],
            y=[name, name],
            mode="lines",
            line={"color": theme.grid, "width": 3},
            hoverinfo="skip",
            name="change",
        )
    for column, name, colour, symbol in (
        ("a", a_name, theme.standard, "diamond"),
        ("b", b_name, theme.chosen, "circle"),
    ):
        figure.add_scatter(
            x=shown[column],
            y=names,
            mode="markers",
            name=name,
            marker={"color": colour, "size": 10, "symbol": symbol},
            hovertemplate=f"<b>%{{y}}</b><br>{escaped(name)}: %{{x:.4f}}<extra></extra>",
        )
        top = shown.iloc[-1]
        bold = f"<b>{escaped(name)}</b>"
        figure.add_annotation(note(bold, x=top[column], y=names[-1], yshift=16, colour=colour))
    return figure
