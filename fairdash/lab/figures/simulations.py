"""Figures of simulations: rows, learned functions, and estimates against the level of the noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.measure import Measure
from fairdash.dependence.registry import REGISTRY
from fairdash.lab.estimates import target_of
from fairdash.views.figures.data import sampled_rows
from fairdash.views.figures.parts import Values, band, corner_note, dots, line, line_up, note
from fairdash.views.figures.theme import REFERENCE, Theme, new_figure

Array = NDArray[np.float64]

#: Marker and dash of estimators that often share a chart. The colour stands for the estimated quantity.
_STYLES = {
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
GLYPHS = {
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


@dataclass(frozen=True)
class Mark:
    """Style of one estimator in all charts: colour, marker and dash."""

    colour: str
    symbol: str
    dash: str

    def line(self, x: ArrayLike, y: ArrayLike, *, width: float = 2, **style: Any) -> dict[str, Any]:
        """Return a line with markers; `style` has options of :func:`fairdash.views.figures.parts.line`."""
        look: Values = {"colour": self.colour, "dash": self.dash, "symbol": self.symbol, "width": width}
        return line(x, y, **look | style)

    def before(self, text: str) -> str:
        """Return text preceded by the estimator's marker in its colour."""
        return coloured(text, self.colour, GLYPHS.get(self.symbol, "●"))


def quantity_colour(quantity: str | None, theme: Theme) -> str:
    """Return the colour of an estimated quantity, "hgr", "chi2" or "mi", and grey for other measures."""
    return {"hgr": theme.chosen, "chi2": "#E69F00", "mi": "#CC79A7"}.get(quantity or "", theme.quiet)


def mark_of(id: str, theme: Theme) -> Mark:
    """Return an estimator's style: its colour shows the estimated quantity; marker and dash identify it."""
    index = list(REGISTRY).index(id)
    default = (_SYMBOLS[index % len(_SYMBOLS)], _DASHES[index % len(_DASHES)])
    return Mark(quantity_colour(target_of(id), theme), *_STYLES.get(id, default))


def short_name(id: str) -> str:
    """Return the name next to a bar: the symbol or, if several estimators share a symbol, the author."""
    measure: Measure = REGISTRY[id]
    if len(measure.symbol) < 4 and "(" in measure.title:
        return measure.title.rpartition("(")[2].rstrip(")")
    return measure.symbol


def end_name(id: str) -> str:
    """Return the name at the end of a line in a figure of HGR estimators; the name omits “HGR”."""
    return short_name(id).removeprefix("HGR_")


def coloured(text: str, colour: str, glyph: str = "●") -> str:
    """Return a coloured dot, then text in the text colour, because text in light colours is hard to read."""
    return f'<span style="color:{colour}">{glyph}</span> {text}'


def exact_line(x: ArrayLike, y: ArrayLike, *, name: str = "exact", **options: Any) -> dict[str, Any]:
    """Return the line of the exact value, to be drawn below the estimates."""
    return line(x, y, name=name, colour=REFERENCE, width=5, opacity=0.6, **options)


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
    """Draw simulated rows (U, V) as dots, and the function F as a line.

    Parameters
    ----------
    u, v : (n,) arrays
    curve
        Coordinates of points of F, (m,) each.
    curve_name
        Name of the curve, written beside it.
    """
    figure = new_figure(title=title, subtitle=subtitle, x="U", y="V", theme=theme, height=height)
    sample = sampled_rows(len(u))
    style: Values = {"type": "scattergl", "colour": theme.chosen, "size": 5, "marker": {"opacity": 0.5}}
    rows = dots(u[sample], v[sample], name="rows", hover="U %{x:.2f}, V %{y:.2f}", **style)
    figure.add_traces([rows, line(*curve, name="F(U)", colour=REFERENCE, hover="")])
    label_anchor = {"xanchor": "right", "yanchor": "bottom", "yshift": 4, "bgcolor": theme.veil}
    name = coloured(curve_name, REFERENCE)
    return figure.add_annotation(note(name, x=curve[0][-1], y=curve[1][-1], colour=theme.text) | label_anchor)


def curves_figure(
    curves: pd.DataFrame,
    exact: tuple[Array, Array],
    *,
    function: str,
    x_limits: tuple[float, float],
    log: bool = False,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw the learned transformations f of U, or g of V, and the exact transformation.

    Parameters
    ----------
    curves
        Columns ``id``, ``function``, ``x`` and ``y``. Scale and sign of a pair (f, g) are arbitrary, so each
        curve is drawn with the sign and the spread that the exact curve has on the same points.
    exact
        Points of the exact transformation.
    function
        Function to draw, "f" or "g".
    x_limits
        Lowest and highest value of U or V among the rows; the learned functions end at these values.
    log
        Whether the axis of U or V is logarithmic; all values must then be above 0.
    """
    variable = "U" if function == "f" else "V"
    title = f"The transformation {function} of {variable}"
    y_title = f"{function}({variable}), in standard deviations"
    figure = new_figure(title=title, subtitle=subtitle, x=variable, y=y_title, theme=theme, height=360)
    x, y = exact
    figure.add_trace(exact_line(x, y, hover="exact: %{y:.2f}"))
    names = [coloured("exact", REFERENCE)]
    for id, rows in curves[curves["function"] == function].groupby("id", sort=False):
        mark, name = mark_of(str(id), theme), short_name(str(id))
        points = rows.sort_values("x")
        heights = _standardised_like(points["x"].to_numpy(), points["y"].to_numpy(), x, y)
        look: Values = {"colour": mark.colour, "width": 2, "dash": mark.dash}
        figure.add_trace(line(points["x"], heights, name=name, hover=f"{name}: %{{y:.2f}}", **look))
        names.append(coloured(name, mark.colour))
    figure.add_annotation(corner_note(" &nbsp; ".join(names), colour=theme.text))
    y_in_view = y[(x >= x_limits[0]) & (x <= x_limits[1])]
    low, high = float(np.min(y_in_view, initial=0)), float(np.max(y_in_view, initial=0))
    height = max(high - low, 2.0)
    # The range of the axis is that of the exact curve, because a spline may have extreme values at the last
    # rows. The names are above the plot.
    x_axis: dict[str, Any] = {"range": x_limits}
    if log:
        x_axis = {"range": [math.log10(end) for end in x_limits], "type": "log", "dtick": 1}
    return figure.update_layout(xaxis=x_axis, yaxis={"range": [low - 0.15 * height, high + 0.3 * height]})


def _standardised_like(x: Array, curve: Array, exact_x: Array, exact_y: Array) -> Array:
    """Return the curve, rescaled to the mean, spread and sign of the exact curve at the same points."""
    target = np.interp(x, exact_x, exact_y)
    centred, spread = curve - curve.mean(), float(curve.std())
    if spread == 0:
        return np.zeros(len(curve))
    sign = -1.0 if float(centred @ (target - target.mean())) < 0 else 1.0
    # If the exact curve is flat, its spread is 0. It is then replaced by 1.
    size = float(target.std()) or 1.0
    return np.asarray(sign * centred / spread * size + target.mean())


#: Height in pixels of a figure with the noise level on the x-axis.
_TALL = 440
#: Symbol or name of each estimated quantity, by the name of its column.
QUANTITIES = {"hgr": "HGR", "chi2": "χ²", "mi": "mutual information"}


def noise_axis_figure(
    lines: pd.DataFrame,
    exact: pd.DataFrame,
    *,
    ids: Sequence[str],
    evaluation: str,
    noise: float | None,
    title: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw each estimator's mean and range (a band) over data sets against the noise, and exact values.

    Parameters
    ----------
    lines
        Lines of one pattern, as returned by :func:`fairdash.lab.studies.lines_of`.
    exact
        Exact values as returned by :func:`fairdash.lab.noise_axis_study`.
    ids
        Ids of the estimators to draw.
    evaluation
        Form of the estimators, "ours" or "published". An estimator whose two forms are the same is drawn in
        the form "ours".
    noise
        Noise level to mark.
    """
    words: Values = {"title": title, "subtitle": subtitle, "x": "Noise σ (units of V)", "y": "Value"}
    figure = new_figure(**words, theme=theme, height=_TALL)
    hover_text = "exact HGR at σ = %{x:.2f}: %{y:.3f}"
    figure.add_trace(exact_line(exact["noise"], exact["hgr"], name="exact HGR", hover=hover_text))
    line_ends = [(float(exact["hgr"].iloc[-1]), coloured("<b>exact</b>", REFERENCE))]
    for id in ids:
        series, mark, name = (
            _in_form(lines[lines["id"] == id], evaluation),
            mark_of(id, theme),
            short_name(id),
        )
        if series.empty:
            continue
        means = mark.line(
            series["noise"],
            series["mean"],
            name=name,
            customdata=series[["min", "max", "size"]].to_numpy(),
            hover=f"<b>{name}</b> at σ = %{{x:.2f}}: %{{y:.3f}}"
            "<br>%{customdata[0]:.3f} to %{customdata[1]:.3f} in %{customdata[2]} data sets",
        )
        area = (series["noise"], series["min"], series["max"])
        figure.add_traces([band(*area, colour=mark.colour, name=f"{name}, range"), means])
        line_ends.append((float(series["mean"].iloc[-1]), mark.before(end_name(id))))
    right = float(exact["noise"].max())
    _label_ends(figure, line_ends, theme=theme)
    marks = [line_up(noise, colour=theme.quiet)] if noise is not None and noise <= right else []
    return figure.update_layout(
        xaxis={"range": [0, right * 1.02]}, yaxis={"range": [-0.12, 1.04]}, shapes=marks
    )


def _in_form(lines: pd.DataFrame, evaluation: str) -> pd.DataFrame:
    """Return the line of one estimator in the selected form, or in form "ours" if it has only this form."""
    chosen = lines[lines["evaluation"] == evaluation]
    return chosen if len(chosen) else lines[lines["evaluation"] == "ours"]


def _label_ends(figure: go.Figure, line_ends: list[tuple[float, str]], *, theme: Theme) -> None:
    """Add names at the right ends of the lines, moved apart if they overlap, and a margin for the names."""
    y_position, notes = 2.0, []
    for y, label in sorted(line_ends, reverse=True):
        y_position = min(y, y_position - 24 / _TALL)
        label_anchor = {"xref": "paper", "xanchor": "left", "xshift": 6}
        notes.append(note(label, x=1.0, y=y_position, colour=theme.text) | label_anchor)
    widest = max(len(label.rpartition("</span>")[2]) for _, label in line_ends)
    figure.update_layout(annotations=notes, margin={"r": 30 + 7 * widest})


def fig2_figure(
    lines: pd.DataFrame,
    exact: pd.DataFrame,
    *,
    ids: Sequence[str],
    evaluation: str,
    titles: Mapping[str, str],
    quantity: str = "hgr",
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw estimates against the noise level in one panel per pattern, in two columns.

    The parameters are those of :func:`noise_axis_figure`, and ``quantity`` is the column of ``exact`` that
    the estimators estimate, "hgr", "chi2" or "mi". The quantities "chi2" and "mi" have no upper bound. Each
    panel therefore has its own y-axis, which ends above its values.
    """
    words: Values = {"title": "The paper's four kinds of pattern", "subtitle": subtitle, "x": "", "y": ""}
    figure = new_figure(**words, theme=theme, height=640)
    base, y_base = (figure.layout[axis].to_plotly_json() for axis in ("xaxis", "yaxis"))
    y_axis = {"range": [-0.12, 1.04], "dtick": 0.5} if quantity == "hgr" else {"rangemode": "tozero"}
    at_noise = "at σ = %{x:.2f}: %{y:.3f}"
    for k, pattern in enumerate(exact["pattern"].unique()):
        number = str(k + 1) if k else ""
        row, column = divmod(k, 2)
        x_domain, y_domain = ([0.0, 0.46], [0.54, 1.0])[column], ([0.54, 0.88], [0.05, 0.39])[row]
        title = {"text": "Noise σ" if row else "", "standoff": 2}
        x_axis = {"domain": x_domain, "anchor": f"y{number}", "title": title, "range": [0, 9.4], "dtick": 3}
        figure.layout[f"xaxis{number}"] = base | x_axis
        y_title = {"text": "", "standoff": 2}
        figure.layout[f"yaxis{number}"] = (
            y_base | {"domain": y_domain, "anchor": f"x{number}", "title": y_title} | y_axis
        )
        heading = f"<b>{titles.get(pattern, pattern)}</b>"
        above = {"x": x_domain[0], "y": y_domain[1], "yanchor": "bottom"}
        figure.add_annotation(corner_note(heading, colour=theme.text, size=13) | above)
        axes: Values = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        truth, name = exact[exact["pattern"] == pattern], f"exact {QUANTITIES[quantity]}"
        hover = f"{name} {at_noise}"
        figure.add_trace(exact_line(truth["noise"], truth[quantity], name=name, hover=hover, **axes))
        for id in ids:
            rows = _in_form(lines[(lines["pattern"] == pattern) & (lines["id"] == id)], evaluation)
            details: Values = {"name": short_name(id), "hover": f"<b>{short_name(id)}</b> {at_noise}"}
            figure.add_trace(mark_of(id, theme).line(rows["noise"], rows["mean"], size=6, **details, **axes))
    names = [coloured("exact", REFERENCE)]
    names += [mark_of(id, theme).before(end_name(id)) for id in ids]
    return figure.add_annotation(corner_note(" &nbsp; ".join(names), colour=theme.text))


def power_figure(power: pd.DataFrame, *, ids: Sequence[str], subtitle: str, theme: Theme) -> go.Figure:
    """Draw the detection rate with 95 % intervals against the noise level, whose axis is logarithmic.

    Parameters
    ----------
    power
        Detection rates as returned by :func:`fairdash.lab.power_study`.
    ids
        Ids of the estimators to draw.
    """
    words: Values = {"title": "How often the link is detected", "subtitle": subtitle}
    words |= {"x": "Noise σ (units of V, logarithmic)", "y": "Data sets in which the link is detected (%)"}
    figure = new_figure(**words, theme=theme, height=_TALL)
    line_ends = []
    for id in ids:
        series = power[power["id"] == id].sort_values("noise")
        if series.empty:
            continue
        mark, name = mark_of(id, theme), short_name(id)
        share = 100 * series[["rate", "low", "high"]]
        area = (series["noise"], share["low"], share["high"])
        rates = mark.line(
            series["noise"],
            share["rate"],
            name=name,
            customdata=share[["low", "high"]].join(series["repeats"]),
            hover=f"<b>{name}</b> at σ = %{{x:.3g}}: %{{y:.0f}} %"
            "<br>95 %: %{customdata[0]:.0f} to %{customdata[1]:.0f} % of %{customdata[2]:.0f} data sets",
        )
        figure.add_traces([band(*area, colour=mark.colour, name=f"{name}, 95 % interval"), rates])
        # A label is placed where its line falls below one half, because lines are furthest apart at this
        # height.
        above = series[series["rate"] >= 0.5]
        half_way_row = series.iloc[0] if above.empty else above.iloc[-1]
        line_ends.append((float(half_way_row["noise"]), float(100 * half_way_row["rate"]), mark.before(name)))
    _label_half_way(figure, line_ends, theme)
    figure.add_hrect(y0=0, y1=5, fillcolor=theme.floor, line_width=0, layer="below")
    above_line = {"xref": "paper", "xanchor": "left", "yanchor": "bottom"}
    figure.add_annotation(note("5 %: false alarms", x=0, y=5, colour=theme.quiet) | above_line)
    levels = sorted(power["noise"].unique())
    figure.update_xaxes(type="log", tickvals=levels, ticktext=[f"{level:g}" for level in levels])
    return figure.update_yaxes(range=[-3, 104])


def _label_half_way(figure: go.Figure, line_ends: list[tuple[float, float, str]], theme: Theme) -> None:
    used_places: list[tuple[float, float]] = []
    for x, y, label in sorted(line_ends, key=lambda end: (end[0], -end[1])):
        level = y
        while any(abs(x - other) < 1e-9 and abs(level - used_level) < 6 for other, used_level in used_places):
            level -= 6
        used_places.append((x, level))
        label_anchor = {"xanchor": "left", "xshift": 8, "yanchor": "bottom"}
        figure.add_annotation(note(label, x=math.log10(x), y=level, colour=theme.text) | label_anchor)
