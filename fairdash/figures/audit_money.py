"""Whose money, how sure, and two prices: what an audit has found of these, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.audit_view import AuditFigure, AuditView
from fairdash.figures.parts import line_across, line_up
from fairdash.figures.theme import OTHERS, REFERENCE, Theme, escaped, new_figure

_AT_ONCE = "limits hold for all at once in 95 % of samples"
_BASES = {"mean price": "above the mean price", "earned": "above what is earned"}


def money_along_s(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """Amounts per unit of exposure in bands of s, a series a base."""
    figure = new_figure(
        title=title,
        subtitle=f"Per unit of exposure, in bands of about equal exposure; {_AT_ONCE}",
        x=view.names["sensitive"],
        y="a unit",
        theme=theme,
    )
    series = table.assign(base="") if "base" not in table else table
    colours = (theme.chosen, theme.standard)
    for colour, symbol, (base, part) in zip(
        colours, ("circle", "diamond"), series.groupby("base", sort=False), strict=False
    ):
        _with_limits(
            figure, (part["low"] + part["high"]) / 2, part["per_head"],
            part["per_head_low"], part["per_head_high"],
            name=_BASES.get(str(base), "change"), colour=colour, symbol=symbol,
        )  # fmt: skip
    figure.update_layout(showlegend="base" in table, legend={"orientation": "h", "y": -0.25})
    return figure.add_shape(line_across(0.0, colour=theme.quiet))


def segments(table: pd.DataFrame, title: str, _: AuditView, theme: Theme) -> go.Figure:
    """A line a segment, in their order."""
    figure = new_figure(
        title=title,
        subtitle=f"Per unit of exposure; in order of what is shown at the least; {_AT_ONCE}",
        x="a unit",
        y="",
        theme=theme,
        height=140 + 26 * len(table),
    )
    labels = [
        escaped(f"{each.s_low:,.4g} to {each.s_high:,.4g} · {each.column} {each.level}"[:60])
        for each in table.itertuples()
    ]
    _with_limits(
        figure, table["per_head"], pd.Series(labels), table["per_head_low"], table["per_head_high"],
        name="a unit", colour=theme.chosen, symbol="circle", across=True,
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", ticks="")
    return figure.add_shape(line_up(0.0, colour=theme.quiet))


def missing_by_price(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """The share of rows without s, by price."""
    figure = new_figure(
        title=title,
        subtitle="Bands of about equal exposure; these rows are left out",
        x=view.names["price"],
        y="share of the exposure",
        theme=theme,
    )
    figure.add_scatter(
        x=(table["low"] + table["high"]) / 2,
        y=table["share"],
        mode="lines+markers",
        name="share",
        line={"color": theme.chosen, "width": 2},
    )
    return figure.update_yaxes(rangemode="tozero", tickformat=".1%")


def reliability(table: pd.DataFrame, title: str, _: AuditView, theme: Theme) -> go.Figure:
    """The direction gap at stated reliabilities."""
    figure = new_figure(
        title=title,
        subtitle="Per cent of the mean price, 95 % intervals; 1: as it was measured",
        x="reliability",
        y="% of the mean price",
        theme=theme,
    )
    value, low, high = (100 * table[name] for name in ("value", "ci_low", "ci_high"))
    _with_limits(
        figure, table["reliability"], value, low, high, name="gap", colour=theme.chosen, symbol="circle"
    )
    figure.update_xaxes(autorange="reversed")
    return figure.add_shape(line_across(0.0, colour=theme.quiet))


def reliability_curve(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """The price's curve at stated reliabilities."""
    figure = new_figure(
        title=title,
        subtitle="Without errors of the attribute, at stated reliabilities; hover for 95 % intervals",
        x=view.names["sensitive"],
        y=view.names["price"],
        theme=theme,
    )
    colours = (theme.chosen, theme.standard, REFERENCE, OTHERS[0], OTHERS[1])
    for k, (name, part) in enumerate(table.groupby("reliability", sort=False)):
        figure.add_scatter(
            x=part["at"],
            y=part["value"],
            mode="lines",
            name=f"{name:g}",
            line={"color": colours[k % len(colours)], "width": 2, "dash": "solid" if k == 0 else "dash"},
            customdata=part[["low", "high"]],
            hovertemplate="at %{x:,.4g}: %{y:,.4g}<br>95 %: %{customdata[0]:,.4g} to %{customdata[1]:,.4g}",
        )
    return figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": -0.25, "title": {"text": "reliability"}}
    )


def two_prices(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """Numbers of both prices that are shares of the mean price, each pair joined by a line."""
    rows = table[table["ci_low"].notna()]
    figure = new_figure(
        title=title,
        subtitle="Per cent; hover for the difference and its paired 95 % interval",
        x="%",
        y="",
        theme=theme,
        height=160 + 34 * len(rows),
    )
    labels = rows["measure"].str.replace("_", " ")
    for label, low, high in zip(labels, rows["price"], rows["candidate"], strict=True):
        figure.add_scatter(
            x=[100 * low, 100 * high], y=[label, label], mode="lines", hoverinfo="skip", showlegend=False,
            line={"color": theme.quiet, "width": 1},
        )  # fmt: skip
    for role, colour, symbol in (("price", theme.standard, "diamond"), ("candidate", theme.chosen, "circle")):
        figure.add_scatter(
            x=100 * rows[role],
            y=labels,
            mode="markers",
            name=escaped(view.names[role]),
            marker={"color": colour, "symbol": symbol, "size": 10},
            customdata=100 * rows[["difference", "ci_low", "ci_high"]],
            hovertemplate="%{x:.1f} %<br>difference %{customdata[0]:.1f} (%{customdata[1]:.1f} to "
            "%{customdata[2]:.1f})",
        )
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": -0.2})
    return figure.update_yaxes(autorange="reversed", ticks="")


def _with_limits(
    figure: go.Figure,
    x: pd.Series,
    y: pd.Series,
    low: pd.Series,
    high: pd.Series,
    *,
    name: str,
    colour: str,
    symbol: str,
    across: bool = False,
) -> None:
    """Points with their limits as bars; `across` where what has limits is x."""
    value = (x if across else y).to_numpy()
    bars = {
        "type": "data",
        "symmetric": False,
        "array": high.to_numpy() - value,
        "arrayminus": value - low.to_numpy(),
        "color": colour,
    }
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        name=name,
        marker={"color": colour, "symbol": symbol, "size": 8},
        customdata=pd.DataFrame({"value": value, "low": low.to_numpy(), "high": high.to_numpy()}),
        hovertemplate="%{customdata[0]:,.4g} (%{customdata[1]:,.4g} to %{customdata[2]:,.4g})",
        **{"error_x" if across else "error_y": bars},
    )


#: Name of a table to how it is drawn; see :data:`fairdash.figures.audit.FIGURES`.
MONEY_FIGURES: Mapping[str, AuditFigure] = MappingProxyType(
    {
        "money_along_s": AuditFigure(
            title="What is paid above its base, by {sensitive}",
            alt="points with intervals.",
            draw=money_along_s,
        ),
        "segments": AuditFigure(
            title="The segments that are affected most",
            alt="points with intervals, a line a segment.",
            draw=segments,
        ),
        "missing_by_price": AuditFigure(
            title="Rows in which {sensitive} is missing, by {price}",
            alt="a line.",
            draw=missing_by_price,
        ),
        "reliability": AuditFigure(
            title="{price} from the 10th to the 90th percentile of {sensitive}, were it without errors",
            alt="points with intervals.",
            draw=reliability,
        ),
        "reliability_curve": AuditFigure(
            title="Average {price} by {sensitive}, were it without errors",
            alt="a line a reliability.",
            draw=reliability_curve,
        ),
        "two_prices": AuditFigure(
            title="{price} beside {candidate}", alt="pairs of points.", draw=two_prices
        ),
        "change_along_s": AuditFigure(
            title="{candidate} less {price}, by {sensitive}",
            alt="points with intervals.",
            draw=money_along_s,
        ),
        "change_segments": AuditFigure(
            title="Who wins and who loses most: {candidate} less {price}",
            alt="points with intervals, a line a segment.",
            draw=segments,
        ),
    }
)
