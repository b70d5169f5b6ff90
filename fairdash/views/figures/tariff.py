"""Figures of tariff changes: a factor's relativities at λ = 0 and at the selected λ, with its exposure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fairdash.tariff.relativities import RELATIVITY
from fairdash.tariff.terms import BAND, BASE, BREAKPOINT, FIXED, INTERACTION, LEVEL, MISSING
from fairdash.views.figures.parts import Values, dots, line, note, with_legend
from fairdash.views.figures.theme import Theme, escaped, faded, new_figure

#: Points of a curve between two breakpoints, because a log link makes it curved.
_BETWEEN = 8
#: Share of the plot's height that the largest bar of exposure has.
_BARS = 0.35
_MISSING_LABEL = "missing"
#: Name of the first of two tariffs.
_BEFORE = "λ = 0"


def factors(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the factors that have a figure, in the table's order: all but interactions."""
    mains = table[~table["kind"].isin([BASE, INTERACTION])]
    return tuple(mains["factor"].unique())


def factor_figure(
    before: pd.DataFrame,
    after: pd.DataFrame,
    factor: str,
    *,
    theme: Theme,
    after_name: str,
) -> go.Figure:
    """Draw one factor of two tariffs with the same terms.

    Parameters
    ----------
    before, after
        Tables of :meth:`fairdash.tariff.model.FairTariff.relativities`: at λ = 0 (``unpenalised=True``) and
        at the chosen λ.
    factor
        One of :func:`factors`.
    after_name
        Name of the second tariff; plain text.

    Returns
    -------
    Figure
        Curves of a number, steps of bands, points of levels; exposure as bars behind, of the first table.
    """
    multiplies = RELATIVITY in after
    value = RELATIVITY if multiplies else "points"
    subtitle = f"{value} at {_BEFORE} and at {after_name}; bars: share of the exposure"
    title = f"What changed in {factor}"
    figure = new_figure(title=title, subtitle=subtitle, x="", y=value, theme=theme)
    own = _of(before, factor)
    is_curve = (own["kind"] == BREAKPOINT).any()
    # A missing cell has no place on an axis of numbers, so its point is beside the axis.
    beside = _beside(own["at"]) if is_curve else None
    places: list[Any] = own["at"].fillna(beside).tolist() if is_curve else _labels(own)
    figure.add_bar(
        x=places,
        y=own["share"],
        yaxis="y2",
        width=_widths(places) if is_curve else 0.6,
        marker={"color": faded(theme.quiet, 0.22)},
        name="exposure",
        hovertemplate="%{y:.1%} of the exposure<extra></extra>",
    )
    for table, name, colour, dash, symbol in (
        (before, _BEFORE, theme.standard, "dash", "circle-open"),
        (after, after_name, theme.chosen, "solid", "circle"),
    ):
        rows, called = _of(table, factor), escaped(name)
        look: Values = {"name": called, "colour": colour, "hover": f"{called}: %{{y:.3f}}"}
        if is_curve:
            at = rows[rows["kind"] == BREAKPOINT]
            x, y = _curve(at["at"].to_numpy(), at[value].to_numpy(dtype=float), multiplies=multiplies)
            figure.add_trace(line(x, y, width=2, dash=dash, **look))
            rows = rows[rows["kind"] == MISSING]
        if len(rows):
            look |= {"symbol": symbol, "size": 10, "marker": {"line": {"color": colour, "width": 2}}}
            x = [beside] if is_curve else _labels(rows)
            figure.add_trace(dots(x, rows[value], showlegend=not is_curve, **look))
    if is_curve and (own["kind"] == MISSING).any():
        below = {"yref": "paper", "yanchor": "bottom", "font": {"color": theme.quiet}}
        figure.add_annotation(note(_MISSING_LABEL, x=beside, y=0, colour=theme.quiet) | below)
    if not is_curve:
        figure.update_xaxes(type="category", categoryorder="array", categoryarray=places)
    top = max(float(own["share"].max()), 1e-9) / _BARS
    figure.update_layout(
        # Ticks of its own: those of an axis that lies over another follow the other's.
        yaxis={"overlaying": "y2", "tickmode": "auto", "nticks": 8},
        yaxis2={"side": "right", "visible": False, "range": [0, top], "fixedrange": True},
    )
    return with_legend(figure, y=-0.2, yanchor="top", x=0, xanchor="left")


def _of(table: pd.DataFrame, factor: str) -> pd.DataFrame:
    mains = ~table["kind"].isin([BASE, INTERACTION])
    return table[mains & (table["factor"] == factor)]


def _labels(rows: pd.DataFrame) -> list[str]:
    """Text below each part."""
    labels = []
    for kind, level, low, high in rows[["kind", "level", "from", "to"]].itertuples(index=False):
        if kind in (LEVEL, FIXED):
            labels.append(escaped(level))
        elif kind == BAND:
            labels.append(_band(low, high))
        else:
            # A level of the same name may exist, and plotly would merge the two.
            mark = f"({_MISSING_LABEL})"
            labels.append(mark if mark not in labels else f"{mark} ")
    return labels


def _band(low: float, high: float) -> str:
    if np.isnan(low):
        return "all" if np.isnan(high) else f"below {high:g}"
    return f"{low:g} and above" if np.isnan(high) else f"{low:g} to {high:g}"


def _curve(at: Any, values: Any, *, multiplies: bool) -> tuple[Any, Any]:
    """Return a curve with points between its breakpoints, straight on the scale that it is straight on."""
    if len(at) < 2:
        return at, values
    steps = np.arange(len(at), step=1 / _BETWEEN)
    x = np.interp(steps[steps <= len(at) - 1], np.arange(len(at)), at)
    heights = np.log(values) if multiplies else values
    y = np.interp(x, at, heights)
    return x, np.exp(y) if multiplies else y


def _beside(at: pd.Series) -> float:
    """Return a place on the right of all breakpoints."""
    span = float(at.max() - at.min()) or 1.0
    return float(at.max()) + 0.08 * span


def _widths(places: list[Any]) -> list[float]:
    """Widths of bars that don't lie on each other."""
    numbers = np.array(places, dtype=float)
    if len(numbers) < 2:
        return [1.0] * len(numbers)
    gaps = np.diff(np.sort(numbers))
    return [0.8 * float(gaps[gaps > 0].min() if (gaps > 0).any() else 1.0)] * len(numbers)
