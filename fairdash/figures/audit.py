"""What an audit has found, drawn: a curve along the sensitive attribute with its band."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.parts import band
from fairdash.figures.theme import Theme, new_figure

#: Points that are the mean of all rows beyond the curve's range.
TAILS = ("below", "above")


def gap_curve(
    curve: pd.DataFrame,
    *,
    title: str,
    subtitle: str,
    x: str,
    y: str,
    level: float,
    max_gap: float,
    theme: Theme,
) -> go.Figure:
    """A curve along s with its simultaneous 95 % band, the two tails beside it, and how wide a gap may be.

    Parameters
    ----------
    curve
        ``at``, ``value``, ``low``, ``high`` and ``kind``: "curve" or "level" within the range; "below" and
        "above" for the mean of the rows beyond it.
    level
        The mean of all rows.
    max_gap
        The threshold δ, in units of y: drawn as a strip of that width about the level.
    """
    figure = new_figure(title=title, subtitle=subtitle, x=x, y=y, theme=theme)
    figure.add_hrect(
        y0=level - max_gap / 2,
        y1=level + max_gap / 2,
        fillcolor=theme.floor,
        line_width=0,
        layer="below",
        label={
            "text": "a gap of this width is the threshold",
            "textposition": "top right",
            "font": {"size": 12, "color": theme.quiet},
        },
    )
    inner, tails = curve[~curve["kind"].isin(TAILS)], curve[curve["kind"].isin(TAILS)]
    if (inner["kind"] == "curve").all():
        figure.add_trace(
            band(
                inner["at"], inner["low"], inner["high"], colour=theme.chosen, opacity=0.18, name="95 % band"
            )
        )
        figure.add_scatter(
            x=inner["at"],
            y=inner["value"],
            mode="lines",
            name="curve",
            line={"color": theme.chosen, "width": 2.5},
            customdata=inner[["low", "high"]],
            hovertemplate=_HOVER,
        )
    else:
        _points(figure, inner, name="level", symbol="circle", colour=theme.chosen)
    _points(figure, tails, name="rows beyond", symbol="diamond", colour=theme.standard)
    figure.update_layout(showlegend=False)
    return figure


_HOVER = "at %{x:,.4g}: %{y:,.4g}<br>95 %: %{customdata[0]:,.4g} to %{customdata[1]:,.4g}<extra></extra>"


def _points(figure: go.Figure, points: pd.DataFrame, *, name: str, symbol: str, colour: str) -> None:
    """Means with their intervals as bars."""
    if points.empty:
        return
    figure.add_scatter(
        x=points["at"],
        y=points["value"],
        mode="markers",
        name=name,
        marker={"color": colour, "size": 9, "symbol": symbol},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": points["high"] - points["value"],
            "arrayminus": points["value"] - points["low"],
            "color": colour,
        },
        customdata=points[["low", "high"]],
        hovertemplate=_HOVER,
    )
