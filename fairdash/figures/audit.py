"""What an audit has found, drawn: a figure a table, in one registry that pages and reports loop over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.audit_models import draw_differences, draw_drivers, draw_premiums
from fairdash.figures.audit_money import MONEY_FIGURES
from fairdash.figures.audit_view import AuditFigure, AuditView
from fairdash.figures.parts import band, line_across
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
    max_gap: float | None,
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
        The threshold δ, in units of y: drawn as a strip of that width about the level. Without one, a line.
    """
    figure = new_figure(title=title, subtitle=subtitle, x=x, y=y, theme=theme)
    if max_gap is None:
        figure.add_shape(line_across(level, colour=theme.quiet))
    else:
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


def audit_figure(
    name: str, table: pd.DataFrame, view: AuditView, *, theme: Theme
) -> tuple[go.Figure, str] | None:
    """The figure of a table and what there is to see in it; None where it has none, or no row."""
    if name not in FIGURES or table.empty:
        return None
    title = FIGURES[name].title.format(**view.names)
    return FIGURES[name].draw(table, title, view, theme), f"{title}: {FIGURES[name].alt}"


def _curve(
    role: str = "price", *, about_zero: bool = False
) -> Callable[[pd.DataFrame, str, AuditView, Theme], go.Figure]:
    def draw(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
        names = view.names
        return gap_curve(
            table,
            title=title,
            subtitle="With a 95 % band for smooth curves; diamonds: all rows beyond",
            x=names["sensitive"],
            y=f"{names['outcome']} less {names['price']}" if about_zero else names[role],
            level=0.0 if about_zero else view.mean_price,
            max_gap=view.gap_allowed,
            theme=theme,
        )

    return draw


def _dearest(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    return gap_curve(
        table,
        title=title,
        subtitle="Of the rows at each value, the share that is among the dearest 5 % of all, with a band "
        "for smooth curves; dotted: 5 %",
        x=view.names["sensitive"],
        y="among the dearest 5 %",
        level=0.05,
        max_gap=None,
        theme=theme,
    ).update_yaxes(tickformat=".0%", rangemode="tozero")


def _ratios(along: str) -> Callable[[pd.DataFrame, str, AuditView, Theme], go.Figure]:
    def draw(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
        figure = new_figure(
            title=title,
            subtitle="Bands of about equal exposure, 95 % intervals; above 1: paid out more than charged",
            x=view.names[along],
            y="actual ÷ expected",
            theme=theme,
        )
        points = pd.DataFrame(
            {
                "at": (table["low"] + table["high"]) / 2,
                "value": table["ratio"],
                "low": table["ci_low"],
                "high": table["ci_high"],
            }
        )
        _points(figure, points, name="actual ÷ expected", symbol="circle", colour=theme.chosen)
        return figure.add_shape(line_across(1.0, colour=theme.quiet))

    return draw


def _surface(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    """Cells of price and s, coloured by cost less price in standard errors: noise stays pale."""
    figure = new_figure(
        title=title,
        subtitle="Cells of 20 rows or more; orange: undercharged, blue: overcharged; ringed: beyond 2 "
        "standard errors",
        x=view.names["sensitive"],
        y=view.names["price"],
        theme=theme,
    )
    most = float(table["b"].abs().max()) or 1.0
    clear = table["b"].abs() > 2 * table["standard_error"]
    return figure.add_scatter(
        x=(table["s_low"] + table["s_high"]) / 2,
        y=(table["price_low"] + table["price_high"]) / 2,
        mode="markers",
        name="cost less price",
        marker={
            "size": 15,
            "symbol": "square",
            "color": table["b"],
            "colorscale": [[0, theme.chosen], [0.5, theme.floor], [1, theme.standard]],
            "cmin": -most,
            "cmax": most,
            "colorbar": {"title": {"text": "cost less price"}, "thickness": 12},
            "line": {"width": [2.0 if each else 0.0 for each in clear], "color": theme.text},
        },
        customdata=table[["b", "standard_error", "rows"]],
        hovertemplate="cost beyond others of the price %{customdata[0]:,.4g} ± %{customdata[1]:,.4g}, "
        "%{customdata[2]:,} rows<extra></extra>",
    )


def _lorenz(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    figure = new_figure(
        title=title,
        subtitle=f"Rows by {view.names['price']}, cheapest first; dotted: a price that tells nothing",
        x="share of the exposure",
        y=f"share of {view.names['outcome']}",
        theme=theme,
    )
    figure.add_scatter(
        x=table["exposure"], y=table["outcome"], mode="lines", name="Lorenz curve",
        line={"color": theme.chosen, "width": 2.5},
    )  # fmt: skip
    return figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="equal", line={"color": theme.quiet, "width": 1, "dash": "dot"}
    )


def _lift(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    figure = new_figure(
        title=title,
        subtitle="In bands of their ratio, each as a share of its own mean: the better price follows the "
        "outcome",
        x=f"{view.names['candidate']} ÷ {view.names['price']}",
        y="of its mean",
        theme=theme,
    )
    for role, colour, dash in (
        ("price", theme.standard, "dash"),
        ("candidate", theme.chosen, "solid"),
        ("outcome", theme.text, "dot"),
    ):
        figure.add_scatter(
            x=(table["ratio_low"] + table["ratio_high"]) / 2,
            y=table[role],
            mode="lines+markers",
            name=view.names[role],
            line={"color": colour, "dash": dash, "width": 2},
        )
    return figure.update_layout(showlegend=True, legend={"orientation": "h", "y": -0.25})


def _bars(table: pd.DataFrame, title: str, _: AuditView, theme: Theme) -> go.Figure:
    """Measures with intervals, as shares of the mean price."""
    figure = new_figure(
        title=title, subtitle="Per cent of the mean price, 95 % intervals", x="", y="", theme=theme,
        height=120 + 42 * len(table),
    )  # fmt: skip
    value = 100 * table["value"]
    figure.add_bar(
        x=value,
        y=table["measure"].str.replace("_", " "),
        orientation="h",
        marker={"color": theme.chosen, "opacity": 0.75},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": 100 * table["ci_high"] - value,
            "arrayminus": value - 100 * table["ci_low"],
            "color": theme.text,
        },
        name="share of the mean price",
    )
    return figure.update_yaxes(autorange="reversed", ticks="")


def _moved(table: pd.DataFrame, title: str, view: AuditView, theme: Theme) -> go.Figure:
    return gap_curve(
        table,
        title=title,
        subtitle="Now less then; the band holds the whole difference in 95 % of samples; diamonds: all rows "
        "beyond",
        x=view.names["sensitive"],
        y="of the mean price",
        level=0.0,
        max_gap=view.max_gap,
        theme=theme,
    )


#: Name of a table to how it is drawn; what has no entry is shown as a table alone. The name of a question's
#: measures is ``measures_`` and its number.
FIGURES: Mapping[str, AuditFigure] = MappingProxyType(
    {
        "curve": AuditFigure(
            title="Average {price} by {sensitive}", alt="a line with its band.", draw=_curve()
        ),
        "dearest_curve": AuditFigure(
            title="The dearest 5 % of {price} by {sensitive}", alt="a line with its band.", draw=_dearest
        ),
        "candidate_curve": AuditFigure(
            title="Average {candidate} by {sensitive}", alt="a line with its band.", draw=_curve("candidate")
        ),
        "moved_curve": AuditFigure(
            title="What has moved: average {price} by {sensitive}, as a share of the mean",
            alt="a line with its band about zero.",
            draw=_moved,
        ),
        "controlled_curve": AuditFigure(
            title="Average {price} by {sensitive}, among equals",
            alt="a line with its band.",
            draw=_curve(),
        ),
        "residual_curve": AuditFigure(
            title="Average {outcome}, at the level of {price}, less {price} by {sensitive}",
            alt="a line with its band.",
            draw=_curve(about_zero=True),
        ),
        "measures_3": AuditFigure(
            title="What expected cost explains of the gap along {sensitive}, and what is left",
            alt="bars with intervals.",
            draw=_bars,
        ),
        "bias_surface": AuditFigure(
            title="{outcome} beyond what others of the same {price} cost, by {price} and {sensitive}",
            alt="squares, coloured by how much is charged too little.",
            draw=_surface,
        ),
        "actual_to_expected": AuditFigure(
            title="Actual ÷ expected by {sensitive}", alt="points with intervals.", draw=_ratios("sensitive")
        ),
        "calibration": AuditFigure(
            title="Actual ÷ expected by {price}", alt="points with intervals.", draw=_ratios("price")
        ),
        "drivers": AuditFigure(
            title="Through which columns {price} follows {sensitive}",
            alt="a bar a column with its interval.",
            draw=draw_drivers,
        ),
        "premium_curves": AuditFigure(
            title="What could be charged instead, by {sensitive}",
            alt="a line a premium, and today's price.",
            draw=draw_premiums,
        ),
        "premium_differences": AuditFigure(
            title="How far policies move between premiums",
            alt="a range a difference, with the middle policy.",
            draw=draw_differences,
        ),
        "lorenz": AuditFigure(
            title="How {outcome} is concentrated where {price} is high", alt="a curve under the diagonal.",
            draw=_lorenz,
        ),
        "double_lift": AuditFigure(
            title="{price} and {candidate} against {outcome}", alt="three lines.", draw=_lift
        ),
    }
    | dict(MONEY_FIGURES)
)  # fmt: skip
