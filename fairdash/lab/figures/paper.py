"""Figures for the paper: its networks in training, averages by age, and published values beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.lab.figures.simulations import GLYPHS, coloured
from fairdash.utils.text import to_decimals
from fairdash.views.figures.parts import Values, band, corner_note, dots, errors, line, note
from fairdash.views.figures.theme import OTHERS, REFERENCE, Theme, faded, new_figure

#: Centre, size and formula of each box. The picture is 8 units wide and 10 high, so that it fits a phone.
_BOXES = {
    "x": (1.85, 0.8, 3.5, 1.5, "<b>X</b>"),
    "s": (6.15, 0.8, 3.5, 1.5, "<b>S</b>"),
    "h": (1.85, 3.0, 3.5, 1.5, "<b>Predictor</b><br>ŷ = h<sub>φ</sub>(X)"),
    "g": (6.15, 3.0, 3.5, 1.5, "<b>Adversary g</b><br>ĝ = (g(S) − m<sub>g</sub>) / σ<sub>g</sub>"),
    "f": (4.0, 5.25, 3.1, 1.5, "<b>Adversary f</b><br>f̂ = (f(ŷ) − m<sub>f</sub>) / σ<sub>f</sub>"),
    "error": (1.85, 7.5, 3.5, 1.5, "<b>Error</b><br>MSE = E[(ŷ − Y)²]"),
    "j": (6.15, 7.5, 3.5, 1.5, "<b>Dependence</b><br>J = E[f̂ ĝ]"),
    "loss": (4.0, 9.6, 5.4, 1.4, "<b>Loss</b><br>L = MSE + λ J"),
}
_FORWARD = (
    ("x", "h"), ("s", "g"), ("h", "f"), ("h", "error"), ("f", "j"), ("g", "j"), ("error", "loss"),
    ("j", "loss"),
)  # fmt: skip
#: Gradients: start, end, column of the value, label, whether the network ascends the gradient, and position
#: of the label.
_BACK = (
    ("j", "f", "grad_f", "∂J/∂θ<sub>f</sub>", True, (3.4, 6.4)),
    ("j", "g", "grad_g", "∂J/∂θ<sub>g</sub>", True, (7.2, 5.25)),
    ("error", "h", "grad_error", "∂MSE/∂φ", False, (0.7, 5.25)),
    ("f", "h", "grad_penalty", "λ ∂J/∂φ", False, (4.15, 4.1)),
)
_MEANINGS = {
    "x": "Inputs of the predictor, without the sensitive attribute.",
    "s": "The sensitive attribute. Only the adversary sees this attribute.",
    "h": "This network descends the gradient of error + λ · dependence.",
    "f": "This network learns the function of the prediction that is most correlated with a function of S. "
    "This network ascends the gradient of J.",
    "g": "This network learns the function of S that is most correlated with a function of the prediction. "
    "This network ascends the gradient of J.",
    "j": "The correlation of f and g, standardised on the batch, is the neural estimate of HGR.",
    "error": "Mean squared error. Charging everyone the average price gives an error of 1.",
    "loss": "The predictor's loss. λ is the weight of dependence.",
}


def architecture_figure(values: Mapping[str, float], *, lam: float, features: str, theme: Theme) -> go.Figure:
    """Draw figure 3: the networks of Fair HGR NN as boxes with formulas, and gradients as coloured arrows.

    Parameters
    ----------
    values
        Row of the table ``flow`` of the committed result of figure 3 (``benchmarks.paper.figures``).
    lam
        Weight λ.
    features
        Description of the features X in words.
    """
    figure = new_figure(
        title="The Fair HGR NN in training",
        subtitle=f"epoch {values['epoch']:.0f}; coloured arrows: gradients",
        x="",
        y="",
        theme=theme,
        height=640,
    )
    j, error = to_decimals(values["j"], 3, sign=True), to_decimals(values["mse"], 3)
    formulas = {
        "x": features,
        "s": "age",
        "h": f"mean {to_decimals(values['y_pred_mean'], sign=True)}, sd {values['y_pred_sd']:.2f}",
        "f": f"m {to_decimals(values['f_mean'], sign=True)}, σ {values['f_sd']:.2f}",
        "g": f"m {to_decimals(values['g_mean'], sign=True)}, σ {values['g_sd']:.2f}",
        "j": j,
        "error": error,
        "loss": f"{error} + {lam:g} · ({j}) = {values['loss']:.3f}",
    }
    axis = {"visible": False, "fixedrange": True}
    shapes, notes = [], []
    for name, (x, y, width, height, formula) in _BOXES.items():
        colour = {"f": theme.standard, "g": theme.standard, "h": theme.chosen}.get(name, theme.quiet)
        rect: Values = {"type": "rect", "line": {"color": colour, "width": 2}, "layer": "below"}
        rect |= {"x0": x - width / 2, "x1": x + width / 2, "y0": y - height / 2, "y1": y + height / 2}
        shapes.append(rect | {"fillcolor": faded(colour, 0.10)})
        value = formulas[name] if name in ("x", "s") else f"<b>{formulas[name]}</b>"
        notes.append(note(f"{formula}<br>{value}", x=x, y=y, colour=theme.text))
    notes += [_arrow(a, b, theme.quiet, 1.5, 0.0) for a, b in _FORWARD]
    for start, end, name, label, climbed, (x, y) in _BACK:
        colour = theme.standard if climbed else theme.chosen
        notes.append(_arrow(start, end, colour, 1.0 + 3.0 * min(values[name], 1.0), 0.4))
        text = coloured(label, colour, "▲" if climbed else "▼") + f"<br>= {values[name]:.3f}"
        notes.append(note(text, x=x, y=y, colour=theme.text))
    figure.update_layout(
        xaxis=axis | {"range": [0, 8]}, yaxis=axis | {"range": [10.4, 0.0]}, shapes=shapes, annotations=notes
    )
    x_values, y_values, *_ = zip(*_BOXES.values(), strict=True)
    style: Values = {"name": "boxes", "colour": theme.quiet, "size": 60, "marker": {"opacity": 0}}
    meanings = [_MEANINGS[name] for name in _BOXES]
    return figure.add_trace(dots(x_values, y_values, customdata=meanings, hover="%{customdata}", **style))


def _arrow(start: str, end: str, colour: str, width: float, offset: float) -> dict[str, object]:
    """Return a line between the edges of two boxes; it is shifted so that arrows do not overlap."""
    ax, ay = _edge(start, end)
    x, y = _edge(end, start)
    return {
        "x": x - offset, "y": y, "ax": ax - offset, "ay": ay, "xref": "x", "yref": "y", "axref": "x",
        "ayref": "y", "text": "", "showarrow": True, "arrowhead": 2, "arrowsize": 1, "arrowwidth": width,
        "arrowcolor": colour,
    }  # fmt: skip


def _edge(box: str, towards: str) -> tuple[float, float]:
    """Return the point at which the line between the centres of two boxes leaves the first box."""
    x, y, width, height, _ = _BOXES[box]
    dx, dy = _BOXES[towards][0] - x, _BOXES[towards][1] - y
    scale = min(width / 2 / abs(dx) if dx else float("inf"), height / 2 / abs(dy) if dy else float("inf"))
    return x + dx * scale, y + dy * scale


#: Colour, marker and dash of each method. The theme defines the colour of the standard network.
_STYLES = {
    "standard": ("", "circle", "solid"),
    "hgr_nn": ("", "diamond", "solid"),
    "chi2_nn": (OTHERS[0], "square", "dash"),
    "chi2_kde": (OTHERS[1], "triangle-up", "dot"),
}


def by_age_figure(
    profile: pd.DataFrame, *, names: Mapping[str, str], level: float, title: str, subtitle: str, y: str,
    theme: Theme,
) -> go.Figure:  # fmt: skip
    """Draw figure 4: average price or residual by age for several methods, with the first method's 95 % band.

    The bands of the other methods have a similar width and would cover each other. Their intervals are
    therefore shown only in hover texts.

    Parameters
    ----------
    profile
        Columns ``method``, ``s_mean``, ``mean``, ``low``, ``high`` and ``n``.
    names
        Display names of the methods, by id.
    level
        Height of a horizontal line, at the average price, or at 0 for residuals.
    """
    figure = new_figure(title=title, subtitle=subtitle, x="Age (years)", y=y, theme=theme, height=500)
    # The legend is above the plot, because in some view every corner of the plot contains a line.
    figure.update_layout(margin={"t": 116})
    figure.add_hline(y=level, line={"color": REFERENCE, "width": 2, "dash": "dot"})
    keys: list[str] = []
    for method, name in names.items():
        of_method = profile[profile["method"] == method]
        colour, symbol, dash = _STYLES[method]
        colour = colour or (theme.standard if method == "standard" else theme.chosen)
        if not keys:
            interval = (of_method["s_mean"], of_method["low"], of_method["high"])
            figure.add_trace(band(*interval, colour=colour, opacity=0.12, name=f"{name}, 95 % interval"))
        means = line(
            of_method["s_mean"],
            of_method["mean"],
            name=name,
            colour=colour,
            dash=dash,
            symbol=symbol,
            size=8,
            customdata=of_method[["low", "high", "n"]].to_numpy(),
            hover=f"<b>{name}</b> at %{{x:.1f}} years: %{{y:.1f}} €"
            "<br>95 %: %{customdata[0]:.1f} to %{customdata[1]:.1f} €, %{customdata[2]:.0f} rows",
        )
        figure.add_trace(means)
        keys.append(coloured(name, colour, GLYPHS.get(symbol, "●")))
    key = "<br>".join("   ".join(keys[k : k + 2]) for k in range(0, len(keys), 2))
    return figure.add_annotation(corner_note(key, y=1.01, yanchor="bottom", colour=theme.text))


#: Marker of each method, for figures in which the colour does not show the method.
MARKERS: Mapping[str, str] = {
    "standard": "circle",
    "hgr_nn": "diamond",
    "chi2_nn": "triangle-up",
    "chi2_kde": "square",
    "mine": "triangle-down",
    "hgr_spline": "star",
    "cca_spline": "hexagon",
}
#: `_LANE`: height of the line of a method (“lane”), in pixels. `_LANES`: number of lanes that fit in a chart.
#: `_GAP`: space between two measures, in lanes.
_LANE, _LANES, _GAP = 17, 26, 0.8
_LEGEND = 120
#: Lower end of a logarithmic axis. Published values have three digits, so the smallest one above 0 is 0.001.
_SMALLEST = 0.001


def dots_figure(
    values: pd.DataFrame,
    *,
    titles: Mapping[str, str],
    names: Mapping[str, str],
    title: str,
    subtitle: str,
    x: str,
    log: bool = False,
    theme: Theme,
) -> go.Figure:
    """Draw published values as hollow dots and ours as full dots: one group per measure, one line per method.

    Parameters
    ----------
    values
        Columns ``measure``, ``method``, ``paper`` (NaN if no value is published), ``ours``, ``error`` (the
        standard error of ours) and ``floor_q95``, below which 95 % of values are if predictions and attribute
        are independent (NaN for an error).
    titles, names
        Display names of measures and methods, in the order of drawing.
    log
        True makes the axis logarithmic. A logarithmic axis begins at 0.001, and smaller values are drawn at
        its left end.
    """
    low = _SMALLEST if log else 0.0
    table, ticks = _lanes(values, list(titles), list(names))
    for name in ("paper", "ours", "floor_q95"):
        table[name] = table[name].clip(lower=low)
    height = 110 + _LEGEND + _LANE * _LANES
    figure = new_figure(title=title, subtitle=subtitle, x=x, y="", theme=theme, height=height)
    figure.add_traces(
        [_floors(table, low, theme), _connecting_lines(table, theme)]
        + [
            trace
            for method, rows in table.groupby("method", sort=False)
            for trace in _dots(rows, method=str(method), name=names[str(method)], low=low, theme=theme)
        ]
    )
    right = float(table[["paper", "ours", "floor_q95"]].max().max())
    x_axis: dict[str, Any] = {"range": [0, max(1.0, right) * 1.04]}
    if log:
        powers = (0.001, 0.01, 0.1, 1.0)
        labels = ["≤ 0.001", *(f"{power:g}" for power in powers[1:])]
        x_axis = {"type": "log", "range": [-3.08, 0.1], "tickvals": powers, "ticktext": labels}
    figure.update_layout(
        barmode="overlay",
        showlegend=True,
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
        margin={"b": _LEGEND},
        xaxis=x_axis,
        yaxis={
            "autorange": "reversed",
            "tickvals": list(ticks.values()),
            "ticktext": [f"<b>{titles[measure]}</b>" for measure in ticks],
            "showgrid": False,
            "ticks": "",
        },
    )
    return figure


def _lanes(
    values: pd.DataFrame, measures: Sequence[str], methods: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the rows to draw with their lanes (lines, from the top), and each measure's middle lane."""
    parts, ticks, y_position = [], {}, 0.0
    for measure in measures:
        rows = values[values["measure"] == measure].set_index("method")
        rows = rows.loc[[method for method in methods if method in rows.index]].reset_index()
        rows["place"] = y_position + rows.index.to_numpy(dtype=float)
        ticks[measure] = float(rows["place"].mean())
        y_position += len(rows) + _GAP
        parts.append(rows)
    return pd.concat(parts, ignore_index=True), ticks


def _floors(table: pd.DataFrame, low: float, theme: Theme) -> go.Bar:
    rows = table.dropna(subset=["floor_q95"])
    style: Values = {"orientation": "h", "width": 1.0, "marker": {"color": theme.floor, "line": {"width": 0}}}
    style |= {"name": "noise floor", "hoverinfo": "skip"}
    return go.Bar(x=rows["floor_q95"] - low, y=rows["place"], base=low, **style)


def _connecting_lines(table: pd.DataFrame, theme: Theme) -> dict[str, Any]:
    """Draw lines from the published values to ours; without a published value, there is no line."""
    rows = table.dropna(subset=["paper"])
    x = [value for row in rows.itertuples() for value in (row.paper, row.ours, None)]
    y = [value for row in rows.itertuples() for value in (row.place, row.place, None)]
    style: Values = {"name": "difference", "colour": theme.quiet, "width": 1, "showlegend": False}
    return line(x, y, hover="", **style)


def _dots(rows: pd.DataFrame, *, method: str, name: str, low: float, theme: Theme) -> list[dict[str, Any]]:
    colour = theme.standard if method == "standard" else theme.chosen
    style: Values = {"colour": colour, "size": 10}
    error, published = 2 * rows["error"], rows.dropna(subset=["paper"])
    bars = errors(error, below=error.clip(upper=rows["ours"] - low), colour=colour, thickness=1, width=0)
    ours = dots(
        rows["ours"],
        rows["place"],
        name=name,
        symbol=MARKERS[method],
        error_x=bars,
        customdata=rows[["error", "floor_q95"]].fillna(0.0),
        hover=f"<b>{name}</b>, ours: %{{x:.3f}} ± %{{customdata[0]:.3f}}"
        "<br>noise floor: 95 % below %{customdata[1]:.3f}",
        **style,
    )
    theirs = dots(
        published["paper"],
        published["place"],
        name=f"{name}, the paper",
        symbol=f"{MARKERS[method]}-open",
        marker={"line": {"width": 2}},
        hover=f"<b>{name}</b>, the paper: %{{x:.3f}}",
        showlegend=False,
        **style,
    )
    return [ours, theirs]
