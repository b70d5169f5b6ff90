"""Figures that compare two models, or a tariff at λ = 0 with the tariff at the selected λ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fairdash.dependence import REGISTRY, LearnedFunctions
from fairdash.tariff.relativities import RELATIVITY
from fairdash.tariff.terms import BAND, BASE, BREAKPOINT, FIXED, INTERACTION, LEVEL, MISSING
from fairdash.training.settings import OBJECTIVES
from fairdash.views.figures.front import on_axes
from fairdash.views.figures.parts import Values, bold, dots, floor_rect, line, note, with_legend
from fairdash.views.figures.theme import Theme, escaped, faded, new_figure

MAX_FEATURES = 12


def features_figure(
    importance: pd.DataFrame, *, axis: str, a_name: str, b_name: str, subtitle: str, theme: Theme
) -> go.Figure:
    """Draw the features that are most important in either of two models, with a dot for each model.

    Parameters
    ----------
    importance
        Columns ``feature``, ``a``, ``b``.
    axis
        Meaning and unit of the values.
    """
    weight = importance[["a", "b"]].abs().max(axis=1)
    largest_features = importance.loc[weight.nlargest(MAX_FEATURES).index].sort_values("a")
    words: Values = {"title": "Change in feature importance", "subtitle": subtitle, "x": axis, "y": ""}
    figure = new_figure(**words, theme=theme, height=110 + 26 * len(largest_features))
    names = [escaped(name) for name in largest_features["feature"]]
    for name, *values in zip(names, largest_features["a"], largest_features["b"], strict=True):
        figure.add_trace(line(values, [name] * 2, name="change", colour=theme.grid, width=3, hover=""))
    for column, name, colour, symbol in (
        ("a", a_name, theme.standard, "diamond"),
        ("b", b_name, theme.chosen, "circle"),
    ):
        style: Values = {"colour": colour, "symbol": symbol, "size": 10}
        hover = f"<b>%{{y}}</b><br>{escaped(name)}: %{{x:.4f}}"
        figure.add_trace(dots(largest_features[column], names, name=name, hover=hover, **style))
        label = bold(name, x=largest_features[column].iloc[-1], y=names[-1], colour=colour, size=12)
        figure.add_annotation(label | {"yshift": 16})
    return figure


#: Maximum number of points of a curve; this is enough for a smooth line.
_MAX_POINTS = 150


def transformation_figure(
    curves: dict[str, LearnedFunctions],
    *,
    of_sensitive: bool,
    title: str,
    axis: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw one learned function of two models: f of the predictions or residuals, or g of the attribute.

    Parameters
    ----------
    curves
        Map of models to functions f and g: first the reference, then the selected model.
    of_sensitive
        True draws g along the sensitive attribute; False draws f along predictions or residuals.
    title, axis, subtitle
        Plain texts of the figure; the title of the x-axis includes its unit.
    """
    y_title = "Standard deviations from the mean"
    figure = new_figure(title=title, subtitle=subtitle, x=axis, y=y_title, theme=theme, height=340)
    styles = ((theme.standard, "dash"), (theme.chosen, "solid"))
    for (name, functions), (colour, dash) in zip(curves.items(), styles, strict=False):
        x, y = (functions.v, functions.g) if of_sensitive else (functions.u, functions.f)
        # Values at equally spaced ranks, including the lowest and the highest, are enough for a smooth curve.
        first = np.unique(x, return_index=True)[1]
        indices = np.linspace(0, len(first) - 1, min(_MAX_POINTS, len(first)))
        keep = first[indices.round().astype(int)]
        hover = f"{name}: %{{x:.4~g}} counts as %{{y:.2f}}"
        figure.add_trace(line(x[keep], y[keep], name=name, colour=colour, dash=dash, hover=hover))
        above = {"xanchor": "right", "yshift": 12}
        end_point: Values = {"x": float(x[keep][-1]), "y": float(y[keep][-1])}
        figure.add_annotation(note(f"<b>{name}</b>", colour=colour, **end_point) | above)
    return figure


def objectives_figure(
    test: Mapping[str, pd.DataFrame],
    *,
    measure: str,
    method: str,
    chosen_lam: float,
    error: str,
    error_title: str,
    unit: str = "",
    of_average: float = math.nan,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Draw error against dependence of one method's models, in one panel per objective.

    A model is drawn at the same height in both panels.

    Parameters
    ----------
    test
        Map of objectives to tables of means over the splits, on test rows, as in
        :attr:`fairdash.views.reports.fronts.Front.test`.
    measure
        Id of the measure on the x-axis.
    method
        Method whose models are drawn; if it has no models with λ > 0, such as “standard”, the first other
        method.
    chosen_lam
        Weight λ of the marked point.
    error, error_title, unit, of_average
        Arguments of :func:`fairdash.views.figures.front.front_without_marks`.
    """
    words: Values = {"title": "Both objectives side by side", "subtitle": subtitle, "x": "", "y": error_title}
    figure = new_figure(**words, theme=theme)
    as_points = partial(on_axes, error=error, measure=measure, unit=unit, of_average=of_average)
    paths = {objective: as_points(frame) for objective, frame in test.items()}
    for k, (objective, frame) in enumerate(paths.items()):
        shown_method = method if method in set(frame["method"]) else frame["method"].iloc[0]
        path = frame[frame["method"] == shown_method].sort_values("lam")
        _panel(figure, path, k, len(test), OBJECTIVES[objective].audited, measure, chosen_lam, theme)
    errors = pd.concat([frame["y"] for frame in paths.values()])
    room = 0.12 * (float(errors.max() - errors.min()) or 1.0)
    return figure.update_yaxes(range=[float(errors.min()) - room, float(errors.max()) + room / 2])


def _panel(
    figure: go.Figure,
    path: pd.DataFrame,
    k: int,
    count: int,
    audited: str,
    measure: str,
    chosen_lam: float,
    theme: Theme,
) -> None:
    """Draw panel k: the trade-off curve for one objective, the noise floor, and the two models."""
    number = str(k + 1) if k else ""
    axes: Values = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    axes_used = {"xref": axes["xaxis"], "yref": axes["yaxis"]}
    if k:
        # The second panel shows no tick labels, because both panels have the same y-axis.
        shared = {"anchor": axes["xaxis"], "matches": "y", "showticklabels": False, "title": {"text": ""}}
        figure.layout[f"xaxis{number}"] = figure.layout.xaxis.to_plotly_json() | {"anchor": axes["yaxis"]}
        figure.layout[f"yaxis{number}"] = figure.layout.yaxis.to_plotly_json() | shared
    low, high = min(float(path["x"].min()), 0.0), float(path["x"].max())
    room = 0.06 * ((high - low) or 1.0)
    figure.layout[f"xaxis{number}"].update(
        domain=[k / count + (0.03 if k else 0), (k + 1) / count - (0 if k else 0.03)],
        range=[low - (room if low < 0 else 0), high + 2 * room],
        title={"text": f"{REGISTRY[measure].symbol}<br>of {audited}s"},
        nticks=6,
    )
    chosen, standard = path[path["lam"] == chosen_lam], path[path["lam"] == 0]
    if len(chosen):
        edge = float(chosen["edge"].iloc[0])
        figure.add_shape(floor_rect(low - room, edge, theme, panel=number))
        vertical_text: Values = {"textangle": -90, "xanchor": "left", "yanchor": "bottom"}
        corner: Values = {
            "x": max(low, 0.0),
            "y": 0.02,
            "xref": axes_used["xref"],
            "yref": f"{axes_used['yref']} domain",
        }
        figure.add_annotation(note("noise floor", colour=theme.quiet, size=11, **corner, **vertical_text))
    style: Values = {"name": f"{audited}s: blends", "colour": theme.chosen, "width": 2, "hover": ""}
    figure.add_trace(line(path["x"], path["y"], **style, **axes))
    for rows, colour, symbol, size, label in (
        (path[(path["share"] == 0) & (path["lam"] > 0)], theme.chosen, "circle", 8, "trained"),
        (standard, theme.standard, "diamond", 15, "standard"),
        (chosen[chosen["lam"] > 0], theme.chosen, "circle", 16, f"λ = {chosen_lam:g}"),
    ):
        is_large = size > 8
        points = dots(
            rows["x"],
            rows["y"],
            name=f"{audited}s: {label}",
            colour=colour if is_large else faded(colour, 0.75),
            symbol=symbol,
            size=size,
            marker={"line": {"width": 1.5 if is_large else 0, "color": theme.veil}},
            customdata=rows[["lam", "floor", "edge", "said"]].to_numpy(),
            hover=f"<b>λ = %{{customdata[0]:g}}</b><br>dependence of {audited}s %{{x:.3f}}"
            "<br>if independent: %{customdata[1]:.3f} on average, below %{customdata[2]:.3f} in 95 % of cases"
            "<br>error %{customdata[3]}",
            **axes,
        )
        figure.add_trace(points)
        if is_large and len(rows):
            x, y = float(rows["x"].iloc[0]), float(rows["y"].iloc[0])
            # Labels extend towards the middle of the panel. The label of the standard model is below its
            # point.
            is_right, is_standard = x > (low + high) / 2, symbol == "diamond"
            neighbour_layout = {
                "xanchor": "right" if is_right else "left",
                "xshift": (-1 if is_right else 1) * (-8 if is_standard else 11),
                "yshift": -18 if is_standard else 0,
            }
            figure.add_annotation(
                note(f"<b>{label}</b>", x=x, y=y, colour=colour) | axes_used | neighbour_layout
            )


#: Number of points drawn between two breakpoints. More than two are needed, because the line is curved with a
#: log link.
_BETWEEN = 8
#: Height of the highest bar of exposure, as a share of the plot's height.
_BARS = 0.35
_MISSING_LABEL = "missing"
#: Name of the first tariff.
_BEFORE = "λ = 0"


def factors(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the factors that can be drawn (all except interactions), in the order of the table."""
    mains = table[~table["kind"].isin([BASE, INTERACTION])]
    return tuple(mains["factor"].unique())


def factor_figure(
    before: pd.DataFrame, after: pd.DataFrame, factor: str, *, theme: Theme, after_name: str
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
        Figure of both tariffs: curves if the factor is numeric, steps if it has bands, points if it has
        levels. Bars in the background show the exposure, which is taken from the first table.
    """
    multiplies = RELATIVITY in after
    value = RELATIVITY if multiplies else "points"
    subtitle = f"{value} at {_BEFORE} and at {after_name}; bars: share of the exposure"
    title = f"What changed in {factor}"
    figure = new_figure(title=title, subtitle=subtitle, x="", y=value, theme=theme)
    changed = _of(before, factor)
    is_curve = (changed["kind"] == BREAKPOINT).any()
    # A missing value has no place among numbers, so its point is drawn to the right of them.
    at_missing = _right_of(changed["at"]) if is_curve else None
    positions: list[Any] = changed["at"].fillna(at_missing).tolist() if is_curve else _labels(changed)
    figure.add_bar(
        x=positions,
        y=changed["share"],
        yaxis="y2",
        width=_widths(positions) if is_curve else 0.6,
        marker={"color": faded(theme.quiet, 0.22)},
        name="exposure",
        hovertemplate="%{y:.1%} of the exposure<extra></extra>",
    )
    for table, name, colour, dash, symbol in (
        (before, _BEFORE, theme.standard, "dash", "circle-open"),
        (after, after_name, theme.chosen, "solid", "circle"),
    ):
        rows, factor_name = _of(table, factor), escaped(name)
        style: Values = {"name": factor_name, "colour": colour, "hover": f"{factor_name}: %{{y:.3f}}"}
        if is_curve:
            points = rows[rows["kind"] == BREAKPOINT]
            x, y = _curve(points["at"].to_numpy(), points[value].to_numpy(dtype=float), multiplies=multiplies)
            figure.add_trace(line(x, y, width=2, dash=dash, **style))
            rows = rows[rows["kind"] == MISSING]
        if len(rows):
            style |= {"symbol": symbol, "size": 10, "marker": {"line": {"color": colour, "width": 2}}}
            x = [at_missing] if is_curve else _labels(rows)
            figure.add_trace(dots(x, rows[value], showlegend=not is_curve, **style))
    if is_curve and (changed["kind"] == MISSING).any():
        below = {"yref": "paper", "yanchor": "bottom", "font": {"color": theme.quiet}}
        figure.add_annotation(note(_MISSING_LABEL, x=at_missing, y=0, colour=theme.quiet) | below)
    if not is_curve:
        figure.update_xaxes(type="category", categoryorder="array", categoryarray=positions)
    top = max(float(changed["share"].max()), 1e-9) / _BARS
    figure.update_layout(
        # The overlaid axis has its own ticks. Otherwise, plotly would use the ticks of the axis below.
        yaxis={"overlaying": "y2", "tickmode": "auto", "nticks": 8},
        yaxis2={"side": "right", "visible": False, "range": [0, top], "fixedrange": True},
    )
    return with_legend(figure, y=-0.2, yanchor="top", x=0, xanchor="left")


def _of(table: pd.DataFrame, factor: str) -> pd.DataFrame:
    mains = ~table["kind"].isin([BASE, INTERACTION])
    return table[mains & (table["factor"] == factor)]


def _labels(rows: pd.DataFrame) -> list[str]:
    """Return the text below each level or band on the axis."""
    labels = []
    for kind, level, low, high in rows[["kind", "level", "from", "to"]].itertuples(index=False):
        if kind in (LEVEL, FIXED):
            labels.append(escaped(level))
        elif kind == BAND:
            labels.append(_band(low, high))
        else:
            # Brackets distinguish missing values from a level named “missing”. Without them, plotly would
            # merge both.
            mark = f"({_MISSING_LABEL})"
            labels.append(mark if mark not in labels else f"{mark} ")
    return labels


def _band(low: float, high: float) -> str:
    if np.isnan(low):
        return "all" if np.isnan(high) else f"below {high:g}"
    return f"{low:g} and above" if np.isnan(high) else f"{low:g} to {high:g}"


def _curve(at: Any, values: Any, *, multiplies: bool) -> tuple[Any, Any]:
    """Return x and y of a curve between breakpoints: linear or, if the factors multiply, linear in log(y)."""
    if len(at) < 2:
        return at, values
    steps = np.arange(len(at), step=1 / _BETWEEN)
    x = np.interp(steps[steps <= len(at) - 1], np.arange(len(at)), at)
    heights = np.log(values) if multiplies else values
    y = np.interp(x, at, heights)
    return x, np.exp(y) if multiplies else y


def _right_of(at: pd.Series) -> float:
    """Return a position to the right of all breakpoints."""
    span = float(at.max() - at.min()) or 1.0
    return float(at.max()) + 0.08 * span


def _widths(positions: list[Any]) -> list[float]:
    """Return widths of bars that do not overlap."""
    numbers = np.array(positions, dtype=float)
    if len(numbers) < 2:
        return [1.0] * len(numbers)
    gaps = np.diff(np.sort(numbers))
    return [0.8 * float(gaps[gaps > 0].min() if (gaps > 0).any() else 1.0)] * len(numbers)
