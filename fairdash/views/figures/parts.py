"""Components of charts: traces for lines, dots and bands, and layout entries for notes and reference lines.

Each component is a dict of plain values, which plotly accepts unchanged.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from fairdash.views.figures.theme import Theme, escaped, faded

Values = dict[str, Any]


def lists(values: ArrayLike, *, digits: int = 5) -> list[Any]:
    """Return nested lists with None for NaN, rounded to `digits` digits after the range's first digit."""
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    rounded = np.round(values, max(0, digits - int(np.floor(np.log10(span or 1.0)))))
    with_none = rounded.astype(object)
    with_none[np.isnan(rounded)] = None
    nested: list[Any] = with_none.tolist()
    return nested


def plain(figure: go.Figure, *, digits: int = 9) -> Values:
    """Return a figure without plotly's template, as plain values; :func:`lists` converts its arrays."""
    spec = figure.to_plotly_json()
    spec["layout"].pop("template", None)

    def listed(value: Any) -> Any:
        if isinstance(value, dict) and "bdata" in value:
            flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            shape = [int(length) for length in str(value.get("shape", flat.size)).split(",")]
            return lists(flat.reshape(shape), digits=digits)
        if isinstance(value, dict):
            return {key: listed(each) for key, each in value.items()}
        if isinstance(value, list | tuple | np.ndarray):
            return [listed(item) for item in value]
        # NaN and infinity can't be represented in JSON.
        return None if isinstance(value, float) and value != value else value

    values: Values = listed(spec)
    return values


def line(
    x: Any,
    y: Any,
    *,
    name: str,
    colour: str,
    width: float = 2.5,
    dash: str = "solid",
    symbol: str = "",
    size: float = 7,
    hover: str | None = None,
    **options: Any,
) -> Values:
    """Return a line through points, with markers if `symbol` is given.

    Parameters
    ----------
    hover
        Hover text in plotly's format: "" shows no text, and None shows plotly's default text.
    more
        Further options of plotly's scatter.
    """
    trace: Values = {"type": "scatter", "x": x, "y": y, "mode": "lines", "name": name}
    trace["line"] = {"color": colour, "width": width, "dash": dash}
    if symbol:
        trace |= {"mode": "lines+markers", "marker": {"color": colour, "symbol": symbol, "size": size}}
    return trace | said(hover) | options


def dots(
    x: Any,
    y: Any,
    *,
    name: str,
    colour: Any,
    symbol: str = "circle",
    size: float = 8,
    hover: str | None = None,
    marker: Values | None = None,
    **options: Any,
) -> Values:
    """Return points without a line; `marker` has plotly's options; :func:`line` explains other parameters."""
    style = {"color": colour, "symbol": symbol, "size": size} | (marker or {})
    trace = {"type": "scatter", "x": x, "y": y, "mode": "markers", "name": name, "marker": style}
    return trace | said(hover) | options


def said(hover: str | None) -> Values:
    """Return plotly's options for the hover text of a trace, as described in :func:`line`."""
    if hover is None:
        return {}
    return {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}


def errors(array: ArrayLike, *, colour: str, below: ArrayLike | None = None, **style: Any) -> Values:
    """Return error bars for plotly's error_x or error_y; `below` has the lower lengths if they differ."""
    sides = {} if below is None else {"symmetric": False, "arrayminus": below}
    return {"type": "data", "array": array, "color": colour} | sides | style


def limits(value: ArrayLike, low: ArrayLike, high: ArrayLike, *, colour: str, **style: Any) -> Values:
    """Return error bars around points, from the lower to the upper limits."""
    value, low, high = (np.asarray(numbers, dtype=float) for numbers in (value, low, high))
    return errors(high - value, below=value - low, colour=colour, **style)


def band(
    x: ArrayLike, low: ArrayLike, high: ArrayLike, *, colour: str, name: str, opacity: float = 0.16
) -> Values:
    """Return the area between two lines, which shows an interval around a line of this colour."""
    x, low, high = (np.asarray(numbers) for numbers in (x, low, high))
    outline = {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]])}
    area = {"fill": "toself", "fillcolor": faded(colour, opacity), "hoverinfo": "skip", "name": name}
    # Without this mode, plotly would draw dots at the edges of a band with few groups.
    return {"type": "scatter", "mode": "lines", "line": {"width": 0}} | outline | area


def note(text: str, *, x: Any, y: Any, colour: str, size: int = 12, **position: Any) -> Values:
    """Return text at a point, without an arrow; `position` contains options of plotly's annotations."""
    annotation = {"x": x, "y": y, "text": text, "showarrow": False, "font": {"color": colour, "size": size}}
    return annotation | position


def bold(name: str, *, x: Any, y: Any, colour: str, size: int = 13) -> Values:
    """Return a bold name at a point."""
    return note(f"<b>{escaped(name)}</b>", x=x, y=y, colour=colour, size=size)


def corner_note(text: str, *, colour: str, **position: Any) -> Values:
    """Return left-aligned text in the upper left corner of the plot."""
    corner = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "align": "left"}
    return note(text, colour=colour, **{"x": 0, "y": 1} | corner | position)


def line_across(y: float, *, colour: str, dash: str = "dot") -> Values:
    """Return a thin horizontal line through the whole plot."""
    line = {"color": colour, "width": 1, "dash": dash}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y, "line": line}


def line_up(x: float, *, colour: str, top: float = 1.0) -> Values:
    """Return a thin dotted vertical line, up to a share of the plot's height."""
    line = {"color": colour, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "yref": "paper", "line": line}


def floor_rect(left: float, edge: float, theme: Theme, *, panel: str | None = None) -> Values:
    """Return a rectangle for the noise floor, as high as the plot or as this `panel` ("" is the first)."""
    rect = {"type": "rect", "x0": left, "x1": edge, "y0": 0, "y1": 1, "yref": "paper"}
    if panel is not None:
        rect |= {"xref": f"x{panel}", "yref": f"y{panel} domain"}
    return rect | {"fillcolor": theme.floor, "line": {"width": 0}, "layer": "below"}


def with_legend(figure: go.Figure, *, y: float = -0.25, **legend: Any) -> go.Figure:
    """Return the figure with its legend in a row below the plot."""
    return figure.update_layout(showlegend=True, legend={"orientation": "h", "y": y} | legend)


def short(name: object, *, longest: int = 24) -> str:
    """Shorten a long name."""
    text = str(name)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
