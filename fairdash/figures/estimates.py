"""What every estimator reads on one scene: bars, floors as grey bands, the exact value as a line."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.dependence.registry import REGISTRY
from fairdash.figures.parts import note
from fairdash.figures.simulations import coloured, mark_of, short_name
from fairdash.figures.theme import REFERENCE, Theme, faded, new_figure
from fairdash.studies.stack import published_way

_BAR, _BAND = 0.44, 0.84  # heights, in rows
_ROW = 26  # pixels


@dataclass(frozen=True)
class Group:
    """Estimators that stand together.

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
class _Rows:
    """What is drawn, gathered first: a trace for all rows is drawn far sooner than a trace a row."""

    bars: list[dict[str, Any]] = field(default_factory=list)
    diamonds: list[dict[str, Any]] = field(default_factory=list)
    lines: list[tuple[float, float, float, str]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    ticks: dict[int, str] = field(default_factory=dict)


def estimates_figure(
    estimates: pd.DataFrame,
    groups: Sequence[Group],
    *,
    title: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Bars of one scene, of measures between 0 and 1.

    Parameters
    ----------
    estimates
        As :func:`fairdash.studies.scene_estimates` gives them.
    groups
        From top to bottom.
    """
    by_id = {row["id"]: row for row in estimates.to_dict("records")}
    rows, place = _Rows(), 0
    for group in groups:
        if not group.ids:
            continue
        rows.notes.append(_heading(group, place, theme))
        first = place + 1
        for id in group.ids:
            place += 1
            if id not in by_id:
                rows.ticks[place] = f"{short_name(id)} &nbsp;…"
                continue
            _add_row(rows, id, by_id[id], place, theme)
        if group.exact is not None:
            rows.lines.append((group.exact, first - 0.5, place + 0.5, f"exact {_digits(group.exact)}"))
        place += 1
    height = 130 + _ROW * place
    figure = new_figure(title=title, subtitle=subtitle, x="Value", y="", theme=theme, height=height)
    figure.add_traces(_traces(rows, theme))
    points = [bar["x"] for bar in rows.bars] + [diamond["x"] for diamond in rows.diamonds]
    # A held-out score may be far below 0: its bar is cut off, its number is told.
    lowest = max(min([0.0, *points]), -0.3) - 0.02
    figure.update_layout(
        annotations=rows.notes,
        barmode="overlay",
        xaxis={"range": [lowest, 1.04], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
        yaxis={
            "range": [place - 0.4, -0.8],
            "tickvals": list(rows.ticks),
            "ticktext": list(rows.ticks.values()),
            "showgrid": False,
            "ticks": "",
        },
    )
    return figure


def _add_row(rows: _Rows, id: str, row: dict[Hashable, Any], place: int, theme: Theme) -> None:
    measure, colour = REGISTRY[id], mark_of(id, theme).colour
    value = abs(row["value"]) if measure.signed else row["value"]
    told = value > row["floor_q95"]
    rows.ticks[place] = f"{short_name(id)} &nbsp;<b>{_digits(row['value'])}</b>"
    rows.bars.append(
        {
            "x": value,
            "y": place,
            "colour": colour if told else faded(colour, 0.45),
            "floor": row["floor_q95"],
            "hover": f"<b>{measure.title}</b><br>reads {row['value']:.3f}<br>noise floor {row['floor']:.3f}, "
            f"95 % below {row['floor_q95']:.3f}<br>{'above' if told else 'within'} its floor",
        }
    )
    if pd.notna(row["published"]):
        hover = f"{short_name(id)}, {published_way(REGISTRY[id])}: {row['published']:.3f}"
        rows.diamonds.append({"x": row["published"], "y": place, "hover": hover})


def _heading(group: Group, place: int, theme: Theme) -> dict[str, Any]:
    """The heading above a group's bars; with the exact value, if its members estimate the same."""
    text = f"<i>{group.title}</i>"
    if group.exact is not None:
        text += " &nbsp;" + coloured(f"exact {_digits(group.exact)}", REFERENCE)
    return note(text, x=0, y=place, xanchor="left", colour=theme.quiet)


def _traces(rows: _Rows, theme: Theme) -> list[go.Bar | go.Scatter]:
    places = [bar["y"] for bar in rows.bars]
    line: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for x, top, bottom, words in rows.lines:
        line["x"] += [x, x, None]
        line["y"] += [top, bottom, None]
        line["text"] += [words, words, None]
    return [
        go.Bar(
            x=[bar["floor"] for bar in rows.bars],
            y=places,
            width=_BAND,
            orientation="h",
            marker={"color": theme.floor, "line": {"width": 0}},
            hoverinfo="skip",
            name="noise floor",
        ),
        go.Bar(
            x=[bar["x"] for bar in rows.bars],
            y=places,
            width=_BAR,
            orientation="h",
            marker={"color": [bar["colour"] for bar in rows.bars], "line": {"width": 0}},
            customdata=[bar["hover"] for bar in rows.bars],
            hovertemplate="%{customdata}<extra></extra>",
            name="value",
        ),
        go.Scatter(
            **line,
            mode="lines",
            line={"color": REFERENCE, "width": 3},
            hovertemplate="%{text}<extra></extra>",
            name="exact",
        ),
        go.Scatter(
            x=[diamond["x"] for diamond in rows.diamonds],
            y=[diamond["y"] for diamond in rows.diamonds],
            mode="markers",
            marker={"symbol": "diamond-open", "size": 9, "color": theme.text, "line": {"width": 1.5}},
            customdata=[diamond["hover"] for diamond in rows.diamonds],
            hovertemplate="%{customdata}<extra></extra>",
            name="as published",
        ),
    ]


def _digits(value: float) -> str:
    if abs(value) < 0.005:
        return "0.00"  # not −0.00
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    return text.replace("-", "−")
