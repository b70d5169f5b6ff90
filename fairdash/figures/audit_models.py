"""What models have found of a price, drawn: what carries the attribute, and five premiums along it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.parts import line_across
from fairdash.figures.theme import OTHERS, REFERENCE, Theme, escaped, new_figure

if TYPE_CHECKING:
    from fairdash.figures.audit_view import AuditView

#: Features that are drawn, the largest first.
MOST_BARS = 12
#: Rows beyond the curve's range.
_TAILS = ("below", "above")


def draw_drivers(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """Shares of the price's variance that follow s, a bar a feature, with intervals."""
    shown = table.head(MOST_BARS)
    figure = new_figure(
        title=title,
        subtitle=f"Together {100 * table['share'].sum():.1f} % of its variance follows "
        f"{view.names['sensitive']}; 95 % intervals; below 0: works against the others",
        x=f"per cent of the variance of {view.names['price']}",
        y="",
        theme=theme,
        height=150 + 34 * len(shown),
    )
    value = 100 * shown["share"]
    figure.add_bar(
        x=value,
        y=[_short(each) for each in shown["feature"]],
        orientation="h",
        marker={"color": theme.chosen, "opacity": 0.75},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": 100 * shown["ci_high"] - value,
            "arrayminus": value - 100 * shown["ci_low"],
            "color": theme.text,
        },
        hovertemplate="%{y}: %{x:.2f} %<extra></extra>",
    )
    return figure.update_yaxes(autorange="reversed", ticks="", type="category")


def draw_premiums(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """The mean of each premium along s, and of the price."""
    figure = new_figure(
        title=title,
        subtitle="Means, at the level of today's price; markers: all rows beyond the 5th and 95th percentile",
        x=view.names["sensitive"],
        y=view.names["price"],
        theme=theme,
        height=460,
    )
    for name, (title_of, colour, dash, symbol) in _lines(theme).items():
        curve = table[table["premium"] == name]
        inner, tails = curve[~curve["kind"].isin(_TAILS)], curve[curve["kind"].isin(_TAILS)]
        figure.add_scatter(
            x=inner["at"],
            y=inner["value"],
            mode="lines",
            name=title_of,
            legendgroup=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"{title_of}, at %{{x:,.4g}}: %{{y:,.4g}}<extra></extra>",
        )
        figure.add_scatter(
            x=tails["at"],
            y=tails["value"],
            mode="markers",
            name=title_of,
            legendgroup=name,
            showlegend=False,
            marker={"color": colour, "size": 8, "symbol": symbol},
            hovertemplate=f"{title_of}, rows beyond, at %{{x:,.4g}}: %{{y:,.4g}}<extra></extra>",
        )
    figure.add_shape(line_across(view.mean_price, colour=theme.grid, dash="solid"))
    return figure.update_layout(showlegend=True, legend={"orientation": "h", "y": -0.2, "x": 0})


def _lines(theme: Theme) -> dict[str, tuple[str, str, str, str]]:
    """Premium to title, colour, dash and marker: told apart without colour, too."""
    return {
        "price": ("Today's price", theme.text, "dot", "circle-open"),
        "best_estimate": ("Best estimate", theme.standard, "solid", "circle"),
        "unaware": ("Unaware", OTHERS[1], "dash", "square"),
        "aware": ("Aware", theme.chosen, "solid", "diamond"),
        "hyperaware": ("Hyperaware", OTHERS[0], "dashdot", "triangle-up"),
        "corrective": ("Corrective", REFERENCE, "longdash", "x"),
    }


def draw_differences(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """What each of three differences is over policies: 5 to 95 %, 25 to 75 %, and the median."""
    figure = new_figure(
        title=title,
        subtitle="Thin: 90 of 100 policies, thick: half of them, dot: the middle one",
        x="per cent of the mean price",
        y="",
        theme=theme,
        height=150 + 50 * len(table),
    )
    quantiles = 100 * table.filter(regex=r"^q\d+$") / view.mean_price
    # In two lines, so that a narrow screen has room for the bars.
    for k, name in enumerate(table["what"].str.replace(" less ", " less<br>", n=1)):
        for low, high, width in (("q05", "q95", 3), ("q25", "q75", 11)):
            figure.add_scatter(
                x=[quantiles[low].iloc[k], quantiles[high].iloc[k]],
                y=[name, name],
                mode="lines",
                line={"color": theme.chosen, "width": width},
                hovertemplate=f"{name}: %{{x:.1f}} %<extra></extra>",
            )
        figure.add_scatter(
            x=[quantiles["q50"].iloc[k]],
            y=[name],
            mode="markers",
            marker={"color": theme.standard, "size": 11, "line": {"color": theme.text, "width": 1}},
            hovertemplate=f"{name}, the middle policy: %{{x:.1f}} %<extra></extra>",
        )
    return figure.update_yaxes(autorange="reversed", ticks="", type="category")


def _short(name: object) -> str:
    text = str(name)
    return escaped(text if len(text) <= 24 else f"{text[:23]}…")
