"""What pictures of simulations share: how each estimator is named and drawn, and the rows of a scene."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.dependence.registry import REGISTRY, Measure
from fairdash.figures.data import DOTS
from fairdash.figures.parts import corner_note, note
from fairdash.figures.theme import REFERENCE, Theme, new_figure
from fairdash.simulations.stack import target_of

Array = NDArray[np.float64]

#: Marker and dash of the estimators that have a curve of their own; the colour is that of what they estimate.
_OWN = {
    "hgr_spline": ("circle", "solid"),
    "hgr_kde": ("square", "dash"),
    "hgr_kde_scores": ("pentagon", "dashdot"),
    "hgr_rdc": ("triangle-up", "dot"),
    "hgr_nn": ("diamond", "longdash"),
    "chi2_kde": ("square-open", "dash"),
    "chi2_nn": ("diamond-open", "longdash"),
    "mi_ksg": ("triangle-up-open", "dot"),
    "mi_mine": ("triangle-down-open", "dashdot"),
}
_GLYPHS = {
    "square": "■",
    "square-open": "□",
    "diamond": "◆",
    "diamond-open": "◇",
    "triangle-up": "▲",
    "triangle-up-open": "△",
    "triangle-down": "▼",
    "triangle-down-open": "▽",
    "star": "★",
    "cross": "✚",
    "x": "✖",
    "hexagon": "⬢",
    "pentagon": "⬟",
}
_SYMBOLS = ("x", "cross", "star", "hexagon", "pentagon", "bowtie", "hourglass", "triangle-down")
_DASHES = ("solid", "dot", "dash", "longdash", "dashdot", "longdashdot")


#: How the exact value is drawn, under the estimates of it.
EXACT = {"mode": "lines", "line": {"color": REFERENCE, "width": 5}, "opacity": 0.6}


@dataclass(frozen=True)
class Mark:
    """How one estimator is drawn wherever it appears."""

    colour: str
    symbol: str
    dash: str

    def line(self, *, size: int = 7, width: float = 2) -> dict[str, Any]:
        """How a trace is drawn: a line through marked points."""
        return {
            "mode": "lines+markers",
            "line": {"color": self.colour, "width": width, "dash": self.dash},
            "marker": {"symbol": self.symbol, "size": size, "color": self.colour},
        }

    def before(self, text: str) -> str:
        """Text with the marker before it, in its colour."""
        return coloured(text, self.colour, _GLYPHS.get(self.symbol, "●"))


def quantity_colour(quantity: str | None, theme: Theme) -> str:
    """Colour of what is estimated: "hgr", "chi2", "mi"; grey for what is a measure of its own kind."""
    return {"hgr": theme.chosen, "chi2": "#E69F00", "mi": "#CC79A7"}.get(quantity or "", theme.quiet)


def mark_of(id: str, theme: Theme) -> Mark:
    """How an estimator is drawn: its colour says what it estimates, marker and dash which it is."""
    place = list(REGISTRY).index(id)
    own = (_SYMBOLS[place % len(_SYMBOLS)], _DASHES[place % len(_DASHES)])
    return Mark(quantity_colour(target_of(id), theme), *_OWN.get(id, own))


def short_name(id: str) -> str:
    """A name that fits beside a bar: the symbol, or who it is named after where the symbol says little."""
    measure: Measure = REGISTRY[id]
    if len(measure.symbol) < 4 and "(" in measure.title:
        return measure.title.rpartition("(")[2].rstrip(")")
    return measure.symbol


def end_name(id: str) -> str:
    """A name for the end of a line among estimators of HGR: it need not say HGR again."""
    return short_name(id).removeprefix("HGR_")


def coloured(text: str, colour: str, glyph: str = "●") -> str:
    """Text with a dot of its line's colour before it: light colours are no colour for text."""
    return f'<span style="color:{colour}">{glyph}</span> {text}'


def scatter_figure(
    u: Array,
    v: Array,
    curve: tuple[Array, Array],
    *,
    title: str,
    subtitle: str,
    theme: Theme,
    height: int,
    curve_name: str = "F(U), without noise",
) -> go.Figure:
    """The rows of a scene as dots and F as a line.

    Parameters
    ----------
    u, v : (n,) arrays
    curve
        Points of F, (m,) both.
    curve_name
        What stands beside it.
    """
    figure = new_figure(title=title, subtitle=subtitle, x="U", y="V", theme=theme, height=height)
    shown = np.arange(len(u))
    if len(u) > DOTS:
        shown = np.sort(np.random.default_rng(0).choice(len(u), DOTS, replace=False))
    figure.add_scattergl(
        x=u[shown],
        y=v[shown],
        mode="markers",
        marker={"color": theme.chosen, "size": 5, "opacity": 0.5},
        hovertemplate="U %{x:.2f}, V %{y:.2f}<extra></extra>",
        name="rows",
    )
    figure.add_scatter(
        x=curve[0],
        y=curve[1],
        mode="lines",
        line={"color": REFERENCE, "width": 2.5},
        hoverinfo="skip",
        name="F(U)",
    )
    beside = {"xanchor": "right", "yanchor": "bottom", "yshift": 4, "bgcolor": theme.veil}
    name = coloured(curve_name, REFERENCE)
    figure.add_annotation(note(name, x=curve[0][-1], y=curve[1][-1], colour=theme.text) | beside)
    return figure


def curves_figure(
    curves: pd.DataFrame,
    exact: tuple[Array, Array],
    *,
    function: str,
    reach: tuple[float, float],
    log: bool = False,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """The learned transformations f of U, or g of V, and the exact one.

    Parameters
    ----------
    curves
        Columns ``id``, ``function``, ``x``, ``y``; drawn with the sign that goes with the
        exact one and with its spread on the points given: scale and sign of a pair (f, g) are free.
    exact
        Points of the exact transformation.
    function
        "f" or "g".
    reach
        Lowest and highest value of U, or of V, among the rows: beyond them nothing is learned.
    log
        Whether the axis of U, or of V, has a scale of powers; its values are then above 0.
    """
    variable = "U" if function == "f" else "V"
    figure = new_figure(
        title=f"The transformation {function} of {variable}",
        subtitle=subtitle,
        x=variable,
        y=f"{function}({variable}), in standard deviations",
        theme=theme,
        height=360,
    )
    x, y = exact
    figure.add_scatter(x=x, y=y, name="exact", hovertemplate="exact: %{y:.2f}<extra></extra>", **EXACT)
    names = [coloured("exact", REFERENCE)]
    for id, rows in curves[curves["function"] == function].groupby("id", sort=False):
        mark = mark_of(str(id), theme)
        line = rows.sort_values("x")
        line = line.assign(y=_like(line["x"].to_numpy(), line["y"].to_numpy(), x, y))
        figure.add_scatter(
            x=line["x"],
            y=line["y"],
            mode="lines",
            line={"color": mark.colour, "width": 2, "dash": mark.dash},
            name=short_name(str(id)),
            hovertemplate=f"{short_name(str(id))}: %{{y:.2f}}<extra></extra>",
        )
        names.append(coloured(short_name(str(id)), mark.colour))
    figure.add_annotation(corner_note(" &nbsp; ".join(names), colour=theme.text))
    inside = y[(x >= reach[0]) & (x <= reach[1])]
    low, high = float(np.min(inside, initial=0)), float(np.max(inside, initial=0))
    room = max(high - low, 2.0)
    # A spline may run away in the last few rows: the exact curve sets the scale. Names stand above it.
    across: dict[str, Any] = {"range": reach}
    if log:
        across = {"range": [math.log10(end) for end in reach], "type": "log", "dtick": 1}
    figure.update_layout(xaxis=across, yaxis={"range": [low - 0.15 * room, high + 0.3 * room]})
    return figure


def _like(x: Array, curve: Array, exact_x: Array, exact_y: Array) -> Array:
    """The curve with the mean, the spread and the sign of the exact one on the same points."""
    target = np.interp(x, exact_x, exact_y)
    centred, spread = curve - curve.mean(), float(curve.std())
    if spread == 0:
        return np.zeros(len(curve))
    sign = -1.0 if float(centred @ (target - target.mean())) < 0 else 1.0
    # Where the exact one is level there is nothing to compare with.
    size = float(target.std()) or 1.0
    return np.asarray(sign * centred / spread * size + target.mean())
