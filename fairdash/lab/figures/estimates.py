"""Bar chart of all estimators on one scene, with floors as grey bands and the exact value as a line."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.dependence.registry import REGISTRY
from fairdash.lab.estimates import published_way
from fairdash.lab.figures.simulations import coloured, mark_of, short_name
from fairdash.views.figures.parts import Values, dots, line, note
from fairdash.views.figures.theme import REFERENCE, Theme, faded, new_figure

_BAR, _BAND = 0.44, 0.84  # heights, in rows
_ROW = 26  # pixels


@dataclass(frozen=True)
class Group:
    """Group of related estimators.

    Parameters
    ----------
    title
        Heading above their bars.
    ids
        Which; those without a reading get an empty row.
    exact
        The true value that they all estimate, in [0, 1]; None if they estimate different things.
    """

    title: str
    ids: Sequence[str]
    exact: float | None = None


@dataclass
class Rows:
    """Marks collected in one trace, which is much faster than one trace per row."""

    bars: list[dict[str, Any]] = field(default_factory=list)
    diamonds: list[dict[str, Any]] = field(default_factory=list)
    lines: list[tuple[float, float, float, str]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    ticks: dict[int, str] = field(default_factory=dict)
    height: int = 0


def rows_of(estimates: pd.DataFrame, groups: Sequence[Group], *, theme: Theme) -> Rows:
    """Return bars for measures between 0 and 1 on one scene.

    Parameters
    ----------
    estimates
        As :func:`fairdash.lab.scene_estimates` gives them.
    groups
        From top to bottom.
    """
    by_id = {row["id"]: row for row in estimates.to_dict("records")}
    rows, place = Rows(), 0
    for group in groups:
        if not group.ids:
            continue
        rows.notes.append(_heading(group, place, theme))
        first = place + 1
        for id in group.ids:
            place += 1
            _add_row(rows, id, by_id.get(id, {}), place, theme)
        if group.exact is not None:
            rows.lines.append((group.exact, first - 0.5, place + 0.5, f"exact {digits(group.exact)}"))
        place += 1
    rows.height = place
    return rows


def estimates_figure(rows: Rows, *, lowest: float, title: str, subtitle: str, theme: Theme) -> go.Figure:
    """Draw the bars; the axis begins at `lowest`, or a little below 0."""
    height = 130 + _ROW * rows.height
    figure = new_figure(title=title, subtitle=subtitle, x="Value", y="", theme=theme, height=height)
    figure.add_traces(_traces(rows, theme))
    figure.update_layout(
        annotations=rows.notes,
        barmode="overlay",
        # A held-out score may be far below 0: its bar is cut off, its number is told.
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


def _add_row(rows: Rows, id: str, row: dict[Hashable, Any], place: int, theme: Theme) -> None:
    """One without a reading has a row of its own already: it may follow."""
    measure, colour = REGISTRY[id], mark_of(id, theme).colour
    read, floor = row.get("value", math.nan), row.get("floor_q95", math.nan)
    value = abs(read) if measure.signed else read
    rows.ticks[place] = (
        f"{short_name(id)} &nbsp;<b>{digits(read)}</b>" if row else f"{short_name(id)} &nbsp;…"
    )
    rows.bars.append(
        {
            "x": value,
            "y": place,
            "colour": colour if value > floor else faded(colour, 0.45),
            "floor": floor,
            "title": measure.title,
        }
    )
    if way := published_way(REGISTRY[id]):
        named = f"{short_name(id)}, {way}"
        rows.diamonds.append({"x": row.get("published", math.nan), "y": place, "title": named})


def _heading(group: Group, place: int, theme: Theme) -> dict[str, Any]:
    """Return the heading above a group's bars; with the exact value, if its members estimate the same."""
    text = f"<i>{group.title}</i>"
    if group.exact is not None:
        text += " &nbsp;" + coloured(f"exact {digits(group.exact)}", REFERENCE)
    return note(text, x=0, y=place, xanchor="left", colour=theme.quiet)


def _traces(rows: Rows, theme: Theme) -> list[go.Bar | dict[str, Any]]:
    places, titles = [bar["y"] for bar in rows.bars], [[bar["title"]] for bar in rows.bars]
    bars = []
    for name, column, height, colour, said in (
        ("noise floor", "floor", _BAND, theme.floor, "95 % of its noise below %{x:.3f}"),
        ("value", "x", _BAR, [bar["colour"] for bar in rows.bars], "reads %{x:.3f}"),
    ):
        look: Values = {"orientation": "h", "width": height}
        look |= {"marker": {"color": colour, "line": {"width": 0}}}
        hover = f"<b>%{{customdata[0]}}</b><br>{said}<extra></extra>"
        x = [bar[column] for bar in rows.bars]
        bars.append(go.Bar(x=x, y=places, name=name, customdata=titles, hovertemplate=hover, **look))
    x = [each for value, *_ in rows.lines for each in (value, value, None)]
    y = [each for _, top, bottom, _ in rows.lines for each in (top, bottom, None)]
    words = [each for *_, said in rows.lines for each in (said, said, None)]
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
    """Format with two decimals, or fewer for a large number."""
    if abs(value) < 0.005:
        return "0.00"  # not −0.00
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    return text.replace("-", "−")
