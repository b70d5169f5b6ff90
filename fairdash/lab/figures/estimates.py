"""Figures of estimators on one simulated data set, and on bivariate normal distributions against ρ."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fairdash.dependence.registry import REGISTRY
from fairdash.lab.estimates import published_way
from fairdash.lab.figures.simulations import coloured, mark_of, quantity_colour, short_name
from fairdash.lab.truth import hgr2, information, middle, upper
from fairdash.views.figures.parts import Values, corner_note, dots, limits, line, line_up, note
from fairdash.views.figures.theme import REFERENCE, Theme, faded, new_figure

_BAR, _BAND = 0.44, 0.84  # Heights, as shares of the height of a row
_ROW = 26  # Height of a row, in pixels


@dataclass(frozen=True)
class Group:
    """Group of related estimators.

    Parameters
    ----------
    title
        Heading above the bars of the group.
    ids
        Ids of the estimators; an estimator without a value has an empty row.
    exact
        Exact value of the quantity that all estimators of the group estimate, in [0, 1]; None if they
        estimate different quantities.
    """

    title: str
    ids: Sequence[str]
    exact: float | None = None


@dataclass
class Rows:
    """Marks of all rows; a single trace draws them, because this is much faster than one trace per row."""

    bars: list[dict[str, Any]] = field(default_factory=list)
    diamonds: list[dict[str, Any]] = field(default_factory=list)
    lines: list[tuple[float, float, float, str]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    ticks: dict[int, str] = field(default_factory=dict)
    height: int = 0


def rows_of(estimates: pd.DataFrame, groups: Sequence[Group], *, theme: Theme) -> Rows:
    """Collect the bars of measures with values between 0 and 1 on one simulated data set.

    Parameters
    ----------
    estimates
        Estimates as returned by :func:`fairdash.lab.scene_estimates`.
    groups
        Groups from top to bottom.
    """
    by_id = {row["id"]: row for row in estimates.to_dict("records")}
    rows, y_position = Rows(), 0
    for group in groups:
        if not group.ids:
            continue
        rows.notes.append(_heading(group, y_position, theme))
        first = y_position + 1
        for id in group.ids:
            y_position += 1
            _add_row(rows, id, by_id.get(id, {}), y_position, theme)
        if group.exact is not None:
            rows.lines.append((group.exact, first - 0.5, y_position + 0.5, f"exact {digits(group.exact)}"))
        y_position += 1
    rows.height = y_position
    return rows


def estimates_figure(rows: Rows, *, lowest: float, title: str, subtitle: str, theme: Theme) -> go.Figure:
    """Draw the bars on an axis that begins at `lowest`, or slightly below 0."""
    height = 130 + _ROW * rows.height
    figure = new_figure(title=title, subtitle=subtitle, x="Value", y="", theme=theme, height=height)
    figure.add_traces(_traces(rows, theme))
    figure.update_layout(
        annotations=rows.notes,
        barmode="overlay",
        # A score on held-out rows may be far below 0. The bar is then cut off, and a number shows the score.
        xaxis={"range": [max(min(0.0, lowest), -0.3) - 0.02, 1.04], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
        yaxis={
            "range": [rows.height - 0.4, -0.8],
            "tickvals": list(rows.ticks),
            "ticktext": list(rows.ticks.values()),
            "showgrid": False,
            "ticks": "",
        },
    )
    figure.update_xaxes(ticktext=["0", "0.25", "0.5", "0.75", "1"])
    return figure


def _add_row(rows: Rows, id: str, row: dict[Hashable, Any], y_position: int, theme: Theme) -> None:
    """Add the row of an estimator; the row is empty if the estimator has no value yet."""
    measure, colour = REGISTRY[id], mark_of(id, theme).colour
    read, floor = row.get("value", math.nan), row.get("floor_q95", math.nan)
    value = abs(read) if measure.signed else read
    rows.ticks[y_position] = (
        f"{short_name(id)} &nbsp;<b>{digits(read)}</b>" if row else f"{short_name(id)} &nbsp;…"
    )
    rows.bars.append(
        {
            "x": value,
            "y": y_position,
            "colour": colour if value > floor else faded(colour, 0.45),
            "floor": floor,
            "title": measure.title,
        }
    )
    if published_method := published_way(REGISTRY[id]):
        bar_name = f"{short_name(id)}, {published_method}"
        rows.diamonds.append({"x": row.get("published", math.nan), "y": y_position, "title": bar_name})


def _heading(group: Group, y_position: int, theme: Theme) -> dict[str, Any]:
    """Return the heading above a group's bars; it includes the exact value if the group has one."""
    text = f"<i>{group.title}</i>"
    if group.exact is not None:
        text += " &nbsp;" + coloured(f"exact {digits(group.exact)}", REFERENCE)
    return note(text, x=0, y=y_position, xanchor="left", colour=theme.quiet)


def _traces(rows: Rows, theme: Theme) -> list[go.Bar | dict[str, Any]]:
    y_positions, titles = [bar["y"] for bar in rows.bars], [[bar["title"]] for bar in rows.bars]
    bars = []
    for name, column, height, colour, hover_text in (
        ("noise floor", "floor", _BAND, theme.floor, "below %{x:.3f} in 95 % of cases without a link"),
        ("value", "x", _BAR, [bar["colour"] for bar in rows.bars], "reads %{x:.3f}"),
    ):
        style: Values = {"orientation": "h", "width": height}
        style |= {"marker": {"color": colour, "line": {"width": 0}}}
        hover = f"<b>%{{customdata[0]}}</b><br>{hover_text}<extra></extra>"
        x = [bar[column] for bar in rows.bars]
        bars.append(go.Bar(x=x, y=y_positions, name=name, customdata=titles, hovertemplate=hover, **style))
    x = [number for value, *_ in rows.lines for number in (value, value, None)]
    y = [number for _, top, bottom, _ in rows.lines for number in (top, bottom, None)]
    words = [text for *_, hover_text in rows.lines for text in (hover_text, hover_text, None)]
    exact = line(x, y, name="exact", colour=REFERENCE, width=3, text=words, hover="%{text}")
    published = dots(
        [diamond["x"] for diamond in rows.diamonds],
        [diamond["y"] for diamond in rows.diamonds],
        name="as published",
        colour=theme.text,
        symbol="diamond-open",
        size=9,
        marker={"line": {"width": 1.5}},
        customdata=[[diamond["title"]] for diamond in rows.diamonds],
        hover="%{customdata[0]}: %{x:.3f}",
    )
    return [*bars, exact, published]


def digits(value: float) -> str:
    """Format a number with two decimals, or with fewer decimals if the number is large."""
    if abs(value) < 0.005:
        return "0.00"  # Without this line, a value such as -0.001 would appear as “−0.00”.
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    return text.replace("-", "−")


#: The axis needs an upper end, because χ² has no upper bound.
TOP = 3.0


def along_rho_figure(
    exact: pd.DataFrame,
    estimates: pd.DataFrame,
    *,
    ids: Sequence[str],
    base: str,
    rho: float,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw HGR², χ² and mutual information against ρ, with exact values as lines and estimates as points.

    Parameters
    ----------
    exact
        Curves as returned by :func:`fairdash.lab.truth.exact_curves`.
    estimates
        Columns ``id``, ``rho``, ``mean``, ``min`` and ``max``, in the units of the lines (HGR squared).
    ids
        Ids of the estimators to draw.
    base
        Unit of mutual information, "nats" or "bits".
    rho
        Value of ρ to mark.
    """
    words: Values = {"title": "HGR², χ², mutual information", "subtitle": subtitle, "x": "Correlation ρ"}
    figure = new_figure(**words, y=f"Value (mutual information in {base})", theme=theme, height=480)
    # Entries have a name, a column, a colour, a short name, and the ρ at which the short name is placed.
    right, left = {"xanchor": "left"}, {"xanchor": "right"}
    lines = (
        ("HGR² = ρ²", "hgr2", "hgr", "HGR²", 0.95, right | {"yanchor": "middle", "xshift": 6}),
        ("χ² = ρ²/(1 − ρ²)", "chi2", "chi2", "χ²", 0.80, left | {"yanchor": "bottom", "xshift": -6}),
        (
            "mutual information",
            "mi" if base == "nats" else "mi_bits",
            "mi",
            "mutual information",
            0.62,
            right | {"yanchor": "top", "yshift": -4},
        ),
    )
    notes = []
    for name, column, quantity, text, anchor, y_position in lines:
        visible, colour = exact[exact[column] <= TOP * 1.05], quantity_colour(quantity, theme)
        style: Values = {
            "colour": colour,
            "width": 4,
            "opacity": 0.7,
            "hover": f"{name} at ρ = %{{x:.2f}}: %{{y:.3f}}",
        }
        figure.add_trace(line(visible["rho"], visible[column], name=name, **style))
        value = float(np.interp(anchor, exact["rho"], exact[column]))
        label = coloured(f"<b>{text}</b>", colour)
        notes.append(note(label, x=anchor, y=min(value, TOP), colour=theme.text) | y_position)
    for id in ids:
        points = estimates[(estimates["id"] == id) & (estimates["mean"] <= TOP)]
        if points.empty:
            continue
        mark, name, x_limits = mark_of(id, theme), estimate_name(id), points[["min", "max"]]
        means = mark.line(
            points["rho"],
            points["mean"],
            name=name,
            size=8,
            width=1.5,
            error_y=limits(points["mean"], *x_limits.to_numpy().T, colour=mark.colour, thickness=1, width=0),
            customdata=x_limits.to_numpy(),
            hover=f"<b>{name}</b> at ρ = %{{x:.2f}}: %{{y:.3f}}"
            "<br>%{customdata[0]:.3f} to %{customdata[1]:.3f}",
        )
        figure.add_trace(means)
    key = "<br>".join(mark_of(id, theme).before(estimate_name(id)) for id in ids)
    notes.append(corner_note(key, x=0.02, y=0.98, colour=theme.text))
    return figure.update_layout(
        annotations=notes,
        shapes=[line_up(rho, colour=theme.quiet)],
        xaxis={"range": [-0.02, 1.09], "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1]},
        yaxis={"range": [-0.1, TOP]},
    )


def inequality_figure(*, base: str, printed: float, crossing: float, theme: Theme) -> go.Figure:
    """Draw the three terms of the supplement's inequality against χ², for the bivariate normal.

    Parameters
    ----------
    base
        Unit of mutual information, "nats" or "bits".
    printed, crossing
        Threshold t as printed in the paper's supplement, and χ² at which the bound equals χ².
    """
    words: Values = {"title": f"The inequality's terms, I in {base}", "x": "χ²", "y": "Value"}
    subtitle = "of bivariate normal distributions: each term is a function of χ²"
    figure = new_figure(**words, subtitle=subtitle, theme=theme, height=460)
    x = np.linspace(0.0, 1.5, 301)
    hgr, chi2, mi = (quantity_colour(quantity, theme) for quantity in ("hgr", "chi2", "mi"))
    lines = (
        ("χ²", x, chi2, "solid", 4),
        ("HGR²", hgr2(x), hgr, "solid", 6),
        ("1 − 2^(−2I)", middle(information(x, base)), mi, "solid", 2.5),
        ("the same term with log(1 + χ²) in place of I", upper(x, base), theme.text, "dash", 2.5),
    )
    for name, y, colour, dash, width in lines:
        style: Values = {"colour": colour, "width": width, "dash": dash, "opacity": 0.7 if width > 4 else 1.0}
        figure.add_trace(line(x, y, name=name, hover=f"{name} at χ² = %{{x:.3f}}: %{{y:.3f}}", **style))
    names = "<br>".join(coloured(name, colour) for name, _, colour, *_ in lines)
    marks = f"{crossing:.3f}: the dashed line crosses χ²<br>{printed:.3f}: threshold t as printed"
    label_anchor = {"x": max(printed, crossing) + 0.02, "y": 0.01, "yanchor": "bottom", "xref": "x"}
    key = corner_note(names, x=0.02, y=0.98, colour=theme.text)
    markers = ((printed, theme.quiet), (crossing, theme.text))
    return figure.update_layout(
        annotations=[key, corner_note(marks, colour=theme.text) | label_anchor],
        shapes=[line_up(x, top=0.62, colour=colour) for x, colour in markers],
        xaxis={"range": [0, 1.5]},
        yaxis={"range": [0, 1.5]},
    )


def estimate_name(id: str) -> str:
    """Return an estimator's name for a figure of HGR²; “²” is added to the name of an estimator of HGR."""
    return f"{short_name(id)}²" if id.startswith("hgr_") else short_name(id)
