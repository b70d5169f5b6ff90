"""Functions that draw an audit's table into an empty plotly figure that already has its titles."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go

from fairdash.utils.classes import MAX_CLASSES
from fairdash.views.blocks import Chart
from fairdash.views.figures.parts import (
    Values,
    band,
    dots,
    limits,
    line,
    line_across,
    line_up,
    said,
    short,
    with_legend,
)
from fairdash.views.figures.theme import OTHERS, REFERENCE, Theme, escaped

#: Points of these kinds are the mean of all rows below or above the curve's range.
TAILS = ("below", "above")


#: Function that draws a table into an empty figure.
Draw = Callable[[go.Figure, pd.DataFrame, Chart, Theme], object]


def price_curve(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    gap_curve(figure, table, level=chart.mean_price, max_gap=chart.gap_allowed, theme=theme)


def difference_curve(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    gap_curve(figure, table, level=0.0, max_gap=chart.gap_allowed, theme=theme)


def top_share(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
    gap_curve(figure, table, level=0.05, max_gap=None, theme=theme)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")


def gap_curve(
    figure: go.Figure, curve: pd.DataFrame, *, level: float, max_gap: float | None, theme: Theme
) -> None:
    """Draw a curve along s, its simultaneous 95 % band, means of rows outside its range, and the allowed gap.

    Parameters
    ----------
    curve
        ``at``, ``value``, ``low``, ``high`` and ``kind``: "curve" or "level" within the range; "below" and
        "above" for the mean of rows outside the range.
    level
        Mean of all rows.
    max_gap
        Threshold δ in units of y, drawn as a strip of this height around the level; None draws a line
        instead.
    """
    if max_gap is None:
        figure.add_shape(line_across(level, colour=theme.quiet))
    else:
        # The label is at that end of the strip at which the curve is further from the level.
        first, last = (abs(curve["value"].iloc[k] - level) for k in (0, -1))
        words = {"text": "height of this strip: largest acceptable gap"}
        words["textposition"] = f"top {'left' if first > last else 'right'}"
        figure.add_hrect(
            y0=level - max_gap / 2,
            y1=level + max_gap / 2,
            fillcolor=theme.floor,
            line_width=0,
            layer="below",
            label=words | {"font": {"size": 12, "color": theme.quiet}},
        )
    inner, tails = curve[~curve["kind"].isin(TAILS)], curve[curve["kind"].isin(TAILS)]
    if (inner["kind"] == "curve").all():
        area = (inner["at"], inner["low"], inner["high"])
        figure.add_trace(band(*area, colour=theme.chosen, opacity=0.18, name="95 % band"))
        estimates, hover = inner[["value", "low", "high"]], f"at %{{x:,.4g}}: {_WITH_LIMITS}"
        style: Values = {"name": "curve", "colour": theme.chosen}
        figure.add_trace(line(inner["at"], inner["value"], **style, customdata=estimates, hover=hover))
    else:
        _points(figure, inner, name="level", colour=theme.chosen)
    _points(figure, tails, name="rows beyond", symbol="diamond", colour=theme.standard)


_WITH_LIMITS = "%{customdata[0]:,.4g}<br>95 %: %{customdata[1]:,.4g} to %{customdata[2]:,.4g}"


def _points(
    figure: go.Figure,
    points: pd.DataFrame,
    *,
    name: str,
    colour: str,
    symbol: str = "circle",
    hover: str = "",
) -> None:
    """Draw the means ``value`` at ``at``, with the limits ``low`` and ``high`` as bars."""
    if points.empty:
        return
    estimates = points[["value", "low", "high"]]
    bars = limits(*(estimates[name] for name in estimates), colour=colour)
    hover = f"{hover}at %{{x:,.4g}}: {_WITH_LIMITS}"
    style: Values = {"name": name, "colour": colour, "symbol": symbol, "size": 9}
    figure.add_trace(
        dots(points["at"], points["value"], **style, error_y=bars, customdata=estimates, hover=hover)
    )


def intervals(
    *columns: str, at: str = "", level: float = 0.0, scale: float = 1.0, reverse: bool = False
) -> Draw:
    """Return a function that draws points with intervals; `columns` names value, lower and upper limit."""

    def draw(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
        estimates = {
            key: scale * table[name] for key, name in zip(("value", "low", "high"), columns, strict=True)
        }
        points = pd.DataFrame(estimates | {"at": table[at] if at else _middle(table)})
        series = table["base"] if "base" in table else pd.Series("", index=table.index)
        series_styles = ((theme.chosen, "circle"), (theme.standard, "diamond"))
        for (colour, symbol), (base, rows) in zip(
            series_styles, points.groupby(series, sort=False), strict=False
        ):
            name = _BASES.get(str(base), "")
            hover = f"{name}, " if name else ""
            _points(figure, rows, name=name or "value", colour=colour, symbol=symbol, hover=hover)
        if "base" in table:
            with_legend(figure)
        if reverse:
            figure.update_xaxes(autorange="reversed")
        figure.add_shape(line_across(level, colour=theme.quiet))

    return draw


_BASES = {"mean price": "above the mean price", "earned": "above what cost justifies"}


def _middle(table: pd.DataFrame, name: str = "") -> pd.Series:
    return (table[f"{name}low"] + table[f"{name}high"]) / 2


def segments(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
    """Draw one point with an interval per segment, in the table's order."""
    estimates = table[["per_head", "per_head_low", "per_head_high"]]
    ranges = (
        table["class"]
        if "class" in table
        else [f"{row.s_low:,.4g} to {row.s_high:,.4g}" for row in table.itertuples()]
    )
    labels = [
        escaped(f"{of_s} · {each.column} {each.level}"[:60])
        for of_s, each in zip(ranges, table.itertuples(), strict=True)
    ]
    bars = limits(*(estimates[name] for name in estimates), colour=theme.chosen)
    style: Values = {"name": "a unit", "colour": theme.chosen, "error_x": bars}
    figure.add_trace(dots(table["per_head"], labels, **style, customdata=estimates, hover=_WITH_LIMITS))
    figure.update_yaxes(autorange="reversed", ticks="")
    figure.add_shape(line_up(0.0, colour=theme.quiet))


def bars(labels: Callable[[pd.DataFrame], list[str]], *, value: str, hover: str | None = None) -> Draw:
    """Draw a bar with an interval, in per cent, for each row of the table."""

    def draw(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
        estimates = 100 * table[[value, "ci_low", "ci_high"]]
        figure.add_bar(
            x=estimates[value],
            y=labels(table),
            orientation="h",
            marker={"color": theme.chosen, "opacity": 0.75},
            error_x=limits(*(estimates[name] for name in estimates), colour=theme.text),
            **said(hover),
        )
        figure.update_yaxes(autorange="reversed", ticks="", type="category")

    return draw


def classes(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    """Draw a bar per class with its interval and number of rows, and a line at the overall mean."""
    estimates = table[["mean", "low", "high"]]
    labels = [
        f"{escaped(short(name))} · {rows:,} rows"
        for name, rows in zip(table["class"], table["rows"], strict=True)
    ]
    figure.add_bar(
        x=estimates["mean"],
        y=labels,
        orientation="h",
        marker={"color": theme.chosen, "opacity": 0.75},
        error_x=limits(*(estimates[name] for name in estimates), colour=theme.text),
        **said("%{y}: %{x:,.4g}"),
    )
    figure.update_yaxes(autorange="reversed", ticks="", type="category")
    figure.add_shape(line_up(chart.mean_price, colour=theme.quiet))


def by_probability(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
    """Draw the difference of each class from all others, its 95 % interval, and its wider bounds."""
    labels = [escaped(short(name)) for name in table["class"]]
    estimates = table[["difference", "bound_low", "bound_high"]]
    for low, high, width, name in (
        ("bound_low", "bound_high", 1.5, "bounds"),
        ("difference_low", "difference_high", 6, "95 % interval"),
    ):
        bars = limits(table["difference"], table[low], table[high], colour=theme.chosen)
        bars["thickness"] = width
        style: Values = {"name": name, "colour": theme.chosen, "error_x": bars}
        hover = "%{customdata[0]:,.4g}; bounds %{customdata[1]:,.4g} to %{customdata[2]:,.4g}"
        figure.add_trace(dots(table["difference"], labels, **style, customdata=estimates, hover=hover))
    figure.update_yaxes(autorange="reversed", ticks="", type="category")
    figure.add_shape(line_up(0.0, colour=theme.quiet))


def crossed(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    """Draw one line per group of the second attribute, with an interval at each point."""
    colours = (theme.chosen, theme.standard, REFERENCE, *OTHERS)
    x_range = float(table["middle"].max() - table["middle"].min())
    ticks = table.drop_duplicates("band")
    # Classes have the positions 0, 1, 2, …; no line joins them, because they have no order.
    of_classes = set(ticks["middle"]) <= set(range(MAX_CLASSES))
    for k, ((other, group), part) in enumerate(table.groupby(["other", "group"], sort=False)):
        colour, name = colours[k % len(colours)], escaped(f"{other}: {short(group)}")
        # Points are drawn side by side, so that intervals do not overlap.
        points = part.assign(at=part["middle"] + 0.006 * x_range * k)
        if not of_classes:
            figure.add_trace(line(points["at"], points["value"], name=name, colour=colour, showlegend=False))
        _points(figure, points, name=name, colour=colour, hover=f"{name}, ")
    if of_classes:
        figure.update_xaxes(tickvals=ticks["middle"], ticktext=[escaped(label) for label in ticks["band"]])
    figure.add_shape(line_across(chart.mean_price, colour=theme.grid, dash="solid"))
    with_legend(figure)


def features(table: pd.DataFrame) -> list[str]:
    return [escaped(short(feature)) for feature in table["feature"]]


def measures(table: pd.DataFrame) -> list[str]:
    """Return display names of measures: words for the gap and its parts; other measures keep their ids."""
    parts = {"gap": "change of the price", "earned": "justified by cost", "left": "unexplained"}
    names = (measure.partition("_s10") for measure in table["measure"])
    titles = ((parts.get(name, name.replace("_", " ")), is_quantile) for name, is_quantile, _ in names)
    return [name + (" (10th to 90th percentile)" if is_quantile else "") for name, is_quantile in titles]


def surface(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
    """Draw cells of price and s, coloured by cost minus price; rings mark more than 2 standard errors."""
    max_effect = float(table["b"].abs().max()) or 1.0
    is_clear = table["b"].abs() > 2 * table["standard_error"]
    marker = {
        "colorscale": [[0, theme.chosen], [0.5, theme.floor], [1, theme.standard]],
        "cmin": -max_effect,
        "cmax": max_effect,
        "colorbar": {"title": {"text": "cost less price"}, "thickness": 12},
        "line": {"width": [2.0 if is_clear else 0.0 for is_clear in is_clear], "color": theme.text},
    }
    cells = dots(
        _middle(table, "s_"),
        _middle(table, "price_"),
        name="cost less price",
        colour=table["b"],
        symbol="square",
        size=15,
        marker=marker,
        customdata=table[["b", "standard_error", "rows"]],
        hover="cost minus the mean cost at this price: %{customdata[0]:,.4g} ± %{customdata[1]:,.4g}, "
        "%{customdata[2]:,} rows",
    )
    figure.add_trace(cells)


def lorenz(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
    figure.add_trace(line(table["exposure"], table["outcome"], name="Lorenz curve", colour=theme.chosen))
    figure.add_trace(line([0, 1], [0, 1], name="equal", colour=theme.quiet, width=1, dash="dot"))


def lift(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    styles = {
        "price": (theme.standard, "dash"),
        "candidate": (theme.chosen, "solid"),
        "outcome": (theme.text, "dot"),
    }
    for role, (colour, dash) in styles.items():
        style: Values = {"colour": colour, "dash": dash, "width": 2, "symbol": "circle"}
        figure.add_trace(line(_middle(table, "ratio_"), table[role], name=chart.names[role], **style))
    with_legend(figure)


def missing(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
    style: Values = {"colour": theme.chosen, "width": 2, "symbol": "circle"}
    figure.add_trace(line(_middle(table), table["share"], name="share", **style))
    figure.update_yaxes(rangemode="tozero", tickformat=".1%")


def reliabilities(figure: go.Figure, table: pd.DataFrame, _: Chart, theme: Theme) -> None:
    """Draw the average price against s, corrected for each assumed reliability of s."""
    colours = (theme.chosen, theme.standard, REFERENCE, OTHERS[0], OTHERS[1])
    for k, (name, part) in enumerate(table.groupby("reliability", sort=False)):
        style: Values = {"colour": colours[k % len(colours)], "width": 2, "dash": "dash" if k else "solid"}
        details: Values = {"customdata": part[["value", "low", "high"]]}
        details["hover"] = f"reliability {name:g}, at %{{x:,.4g}}: {_WITH_LIMITS}"
        figure.add_trace(line(part["at"], part["value"], name=f"{name:g}", **style, **details))
    with_legend(figure, title={"text": "reliability"})


def premiums(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    """Draw the mean of each premium and the price against s; lines differ in colour, dash and symbol."""
    styles = {
        "price": ("Today's price", theme.text, "dot", "circle-open"),
        "best_estimate": ("Best estimate", theme.standard, "solid", "circle"),
        "unaware": ("Unaware", OTHERS[1], "dash", "square"),
        "aware": ("Aware", theme.chosen, "solid", "diamond"),
        "hyperaware": ("Hyperaware", OTHERS[0], "dashdot", "triangle-up"),
        "corrective": ("Corrective", REFERENCE, "longdash", "x"),
    }
    of_classes = "class" in table
    for k, (id, (name, colour, dash, symbol)) in enumerate(styles.items()):
        curve = table[table["premium"] == id]
        is_tail = curve["kind"].isin(TAILS) | of_classes
        inner, points = curve[~is_tail], curve[is_tail]
        style: Values = {"name": name, "colour": colour, "legendgroup": id}
        if not of_classes:
            hover = f"{name}, at %{{x:,.4g}}: %{{y:,.4g}}"
            figure.add_trace(line(inner["at"], inner["value"], dash=dash, hover=hover, **style))
        where = "" if of_classes else ", rows beyond, at %{x:,.4g}"
        style |= {"symbol": symbol, "showlegend": of_classes, "hover": f"{name}{where}: %{{y:,.4g}}"}
        # If s has classes, the points of a class are drawn side by side, so that none hides another.
        figure.add_trace(dots(points["at"] + 0.08 * (k - 2.5) * of_classes, points["value"], **style))
    figure.add_shape(line_across(chart.mean_price, colour=theme.grid, dash="solid"))
    with_legend(figure, y=-0.2, x=0)


def differences(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    """Draw quantiles of three premium differences over the policies: 5 to 95 %, 25 to 75 %, and median."""
    quantiles = 100 * table.filter(regex=r"^q\d+$") / chart.mean_price
    # Names have two lines, to leave room for the bars on a narrow screen.
    for k, name in enumerate(table["what"].str.replace(" less ", " less<br>", n=1)):
        row = quantiles.iloc[k]
        style: Values = {"name": name, "hover": f"{name}: %{{x:.1f}} %"}
        for low, high, width in (("q05", "q95", 3), ("q25", "q75", 11)):
            figure.add_trace(
                line([row[low], row[high]], [name] * 2, colour=theme.chosen, width=width, **style)
            )
        style |= {"colour": theme.standard, "hover": f"{name}, the median policy: %{{x:.1f}} %"}
        marker_outline = {"line": {"color": theme.text, "width": 1}}
        figure.add_trace(dots([row["q50"]], [name], size=11, marker=marker_outline, **style))
    figure.update_yaxes(autorange="reversed", ticks="", type="category")


def two_prices(figure: go.Figure, table: pd.DataFrame, chart: Chart, theme: Theme) -> None:
    """Draw measures of both prices as shares of the mean price, with a line between the two prices."""
    labels = measures(table)
    for label, *pair_of_values in zip(labels, 100 * table["price"], 100 * table["candidate"], strict=True):
        style: Values = {"colour": theme.quiet, "width": 1, "showlegend": False, "hover": ""}
        figure.add_trace(line(pair_of_values, [label] * 2, name="difference", **style))
    for role, colour, symbol in (("price", theme.standard, "diamond"), ("candidate", theme.chosen, "circle")):
        name = escaped(chart.names[role])
        hover = f"{name}: %{{x:.1f}} %<br>difference %{{customdata[0]:.1f}} "
        hover += "(%{customdata[1]:.1f} to %{customdata[2]:.1f})"
        details: Values = {"customdata": 100 * table[["difference", "ci_low", "ci_high"]], "hover": hover}
        style = {"name": name, "colour": colour, "symbol": symbol, "size": 10}
        figure.add_trace(dots(100 * table[role], labels, **style, **details))
    figure.update_yaxes(autorange="reversed", ticks="")
    with_legend(figure, y=-0.2)
