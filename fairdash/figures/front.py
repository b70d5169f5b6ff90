"""The front: test error against dependence, a point a λ."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.theme import Theme, faded, new_figure


def front_figure(
    frame: pd.DataFrame,
    summary: pd.DataFrame,
    *,
    measure: str,
    measure_title: str,
    method: str,
    chosen_lam: float,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Mean test error against a measure of dependence, with every split as a faint dot.

    Parameters
    ----------
    frame, summary
        Test rows of :func:`fairdash.assessment.assess_predictions` and of
        :func:`fairdash.assessment.summarise_splits`.
    measure, measure_title
        Column to draw along x, and its axis title.
    method
        The fair method; ``"standard"`` is drawn beside it.
    chosen_lam
        Which of its λ is marked.
    """
    figure = new_figure(
        title="What fairness costs",
        subtitle=subtitle,
        x=measure_title,
        y="Test error (MSE ÷ variance of the target)",
        theme=theme,
    )
    fair = summary[summary["method"] == method].sort_values("lam")
    standard = summary[summary["method"] == "standard"]
    chosen = fair[fair["lam"] == chosen_lam]
    if len(chosen):
        floor = float(chosen[f"{measure}_floor_q95"].iloc[0])
        figure.add_vrect(x0=0, x1=floor, fillcolor=theme.floor, line_width=0, layer="below")
        figure.add_annotation(
            x=0,
            y=0.01,
            yref="paper",
            text="noise floor: left of its edge<br>nothing is told from independence",
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            align="left",
            font={"color": theme.quiet, "size": 11},
        )
    for rows, colour, symbol in (
        (frame[frame["method"] == method], theme.chosen, "circle"),
        (frame[frame["method"] == "standard"], theme.standard, "diamond"),
    ):
        figure.add_scatter(
            x=rows[measure],
            y=rows["mse"],
            mode="markers",
            marker={"color": faded(colour, 0.3), "size": 6, "symbol": symbol},
            name="single splits",
            customdata=rows[["lam", "split"]],
            hovertemplate="λ = %{customdata[0]:g}, split %{customdata[1]}"
            "<br>dependence %{x:.3f}, error %{y:.3f}<extra></extra>",
        )
    path = pd.concat([standard, fair])
    figure.add_scatter(
        x=path[measure],
        y=path["mse"],
        mode="lines+markers",
        line={"color": theme.chosen, "width": 2},
        marker={"size": 9, "color": theme.chosen},
        name="mean of the splits",
        customdata=path[["lam", "n_splits", f"{measure}_floor"]],
        hovertemplate="<b>λ = %{customdata[0]:g}</b>, mean of %{customdata[1]} splits"
        "<br>dependence %{x:.3f} (floor %{customdata[2]:.3f})<br>error %{y:.3f}<extra></extra>",
    )
    for rows, colour, symbol, label in (
        (standard, theme.standard, "diamond", "standard model"),
        (chosen, theme.chosen, "circle", f"chosen: λ = {chosen_lam:g}"),
    ):
        if len(rows):
            _mark(figure, rows, measure, colour=colour, symbol=symbol, label=label)
    return figure


def _mark(
    figure: go.Figure, rows: pd.DataFrame, measure: str, *, colour: str, symbol: str, label: str
) -> None:
    x, y = float(rows[measure].iloc[0]), float(rows["mse"].iloc[0])
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers",
        marker={"size": 17, "color": colour, "symbol": symbol, "line": {"width": 2, "color": "white"}},
        name=label,
        hoverinfo="skip",
    )
    figure.add_annotation(
        x=x,
        y=y,
        text=f"<b>{label}</b>",
        showarrow=False,
        xanchor="right" if symbol == "diamond" else "left",
        xshift=14,
        yshift=20 if symbol == "diamond" else 10,
        font={"color": colour, "size": 13},
    )
