"""Published values beside ours: a dot plot, a lane a method, with the noise floors as bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.theme import Theme, new_figure

#: Marker of a method, wherever its colour says something else.
MARKERS: Mapping[str, str] = {
    "standard": "circle",
    "hgr_nn": "diamond",
    "chi2_nn": "triangle-up",
    "chi2_kde": "square",
    "mine": "triangle-down",
    "hgr_spline": "star",
    "cca_spline": "hexagon",
}
#: Height of a lane in pixels, lanes that a chart has room for, lanes between two measures; the legend's room.
_LANE, _LANES, _GAP = 17, 26, 0.8
_LEGEND = 120
#: Where an axis of powers begins: published values have three digits.
_SMALLEST = 0.001


def dots_figure(
    values: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    names: Mapping[str, str],
    title: str,
    subtitle: str,
    x: str,
    log: bool = False,
    theme: Theme,
) -> go.Figure:
    """A group of lanes a measure, a lane a method: published hollow, ours full, joined by a line.

    Parameters
    ----------
    values
        ``measure``, ``method``, ``paper`` (NaN where nothing is published), ``ours``, ``error`` (its standard
        error) and ``floor_q95``, below which 95 % of independent data read (NaN for an error).
    titles, names
        What measures and methods are called; they are drawn in this order.
    log
        Whether the axis is one of powers, from 0.001: what is less stands at its left edge.
    """
    low = _SMALLEST if log else 0.0
    table, ticks = _lanes(values, list(titles), list(names))
    for name in ("paper", "ours", "floor_q95"):
        table[name] = table[name].clip(lower=low)
    height = 110 + _LEGEND + _LANE * _LANES
    figure = new_figure(title=title, subtitle=subtitle, x=x, y="", theme=theme, height=height)
    figure.add_traces(
        [_floors(table, low, theme), _joins(table, theme)]
        + [
            trace
            for method, rows in table.groupby("method", sort=False)
            for trace in _dots(rows, method=str(method), name=names[str(method)], low=low, theme=theme)
        ]
    )
    right = float(table[["paper", "ours", "floor_q95"]].max().max())
    across: dict[str, Any] = {"range": [0, max(1.0, right) * 1.04]}
    if log:
        powers = (0.001, 0.01, 0.1, 1.0)
        labels = ["≤ .001", *(f"{each:g}".removeprefix("0") for each in powers[1:])]
        across = {"type": "log", "range": [-3.08, 0.1], "tickvals": powers, "ticktext": labels}
    figure.update_layout(
        barmode="overlay",
        showlegend=True,
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
        margin={"b": _LEGEND},
        xaxis=across,
        yaxis={
            "autorange": "reversed",
            "tickvals": list(ticks.values()),
            "ticktext": [f"<b>{titles[measure]}</b>" for measure in ticks],
            "showgrid": False,
            "ticks": "",
        },
    )
    return figure


def _lanes(
    values: pd.DataFrame, measures: Sequence[str], methods: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, float]]:
    """The rows to draw with their place from the top, in lanes; and the middle of each measure's."""
    parts, ticks, place = [], {}, 0.0
    for measure in measures:
        rows = values[values["measure"] == measure].set_index("method")
        rows = rows.loc[[method for method in methods if method in rows.index]].reset_index()
        rows["place"] = place + rows.index.to_numpy(dtype=float)
        ticks[measure] = float(rows["place"].mean())
        place += len(rows) + _GAP
        parts.append(rows)
    return pd.concat(parts, ignore_index=True), ticks


def _floors(table: pd.DataFrame, low: float, theme: Theme) -> go.Bar:
    rows = table.dropna(subset=["floor_q95"])
    return go.Bar(
        x=rows["floor_q95"] - low,
        y=rows["place"],
        base=low,
        width=1.0,
        orientation="h",
        marker={"color": theme.floor, "line": {"width": 0}},
        hoverinfo="skip",
        name="noise floor",
    )


def _joins(table: pd.DataFrame, theme: Theme) -> go.Scatter:
    """Lines from the published value to ours; where nothing is published there is none."""
    rows = table.dropna(subset=["paper"])
    x = [value for row in rows.itertuples() for value in (row.paper, row.ours, None)]
    y = [value for row in rows.itertuples() for value in (row.place, row.place, None)]
    return go.Scatter(
        x=x, y=y, mode="lines", line={"color": theme.quiet, "width": 1}, hoverinfo="skip", showlegend=False,
        name="difference",
    )  # fmt: skip


def _dots(rows: pd.DataFrame, *, method: str, name: str, low: float, theme: Theme) -> list[go.Scatter]:
    colour = theme.standard if method == "standard" else theme.chosen
    symbol = MARKERS[method]
    two = 2 * rows["error"]
    ours = go.Scatter(
        x=rows["ours"],
        y=rows["place"],
        mode="markers",
        marker={"symbol": symbol, "size": 10, "color": colour},
        error_x={
            "symmetric": False,
            "array": two,
            "arrayminus": two.clip(upper=rows["ours"] - low),
            "color": colour,
            "thickness": 1,
            "width": 0,
        },
        customdata=rows[["error", "floor_q95"]].fillna(0.0),
        hovertemplate=f"<b>{name}</b>, ours: %{{x:.3f}} ± %{{customdata[0]:.3f}}"
        "<br>noise floor: 95 % below %{customdata[1]:.3f}<extra></extra>",
        name=name,
    )
    published = rows.dropna(subset=["paper"])
    return [
        ours,
        go.Scatter(
            x=published["paper"],
            y=published["place"],
            mode="markers",
            marker={"symbol": f"{symbol}-open", "size": 10, "color": colour, "line": {"width": 2}},
            hovertemplate=f"<b>{name}</b>, the paper: %{{x:.3f}}<extra></extra>",
            showlegend=False,
            name=f"{name}, the paper",
        ),
    ]
