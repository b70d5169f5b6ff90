"""Conversion of plotly figures to static SVG with matplotlib, for documents without scripts.

The module supports the elements of audit figures: lines, points with error bars, areas and horizontal bars.
Text in a figure remains text, so readers can search it.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from fairdash.views.figures.parts import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: `_PIXELS`: pixels per inch. `_POINTS`: points per inch.
_PIXELS, _POINTS = 96, 72
_WIDTH = 680
#: `_LETTER`: estimated width of a letter of an axis label, in pixels. `_ROOM`: width of the space for all
#: labels, in pixels.
_LETTER, _ROOM = 6, 580
_DASHES = {"dash": "--", "longdash": (0, (8, 3)), "dashdot": "-.", "dot": ":"}
_MARKERS = {"diamond": "D", "square": "s", "triangle-up": "^", "x": "x"}
_TAG = re.compile(r"<br>|</?b>")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fairdash",
    # A $ in the name of a column must not begin a formula.
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def svg_of(figure: go.Figure, *, height: int) -> bytes:
    """Return a plotly figure without its titles as SVG; the same figure always gives the same bytes.

    Parameters
    ----------
    height
        Height in pixels; the width is 680 pixels. If the names on the x-axis do not fit side by side, they
        are rotated, and their length is added to the height.

    Raises
    ------
    MissingPackageError
        matplotlib is not installed.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    spec = plain(figure)
    layout = spec["layout"]
    with mpl.rc_context(_STYLE):
        turned = _turned_height(layout.get("xaxis", {}).get("ticktext", ()))
        canvas = Figure(figsize=(_WIDTH / _PIXELS, (height + turned) / _PIXELS), layout="constrained")
        axes = canvas.add_subplot()
        positions = _category_places(spec["data"], layout)
        for trace in spec["data"]:
            _draw_trace(axes, trace, positions)
        for shape in layout.get("shapes", ()):
            _draw_shape(axes, shape)
        _add_axes(axes, layout, positions)
        if turned:
            axes.tick_params("x", rotation=90)
        buffer = io.BytesIO()
        FigureCanvasSVG(canvas).print_svg(buffer, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _turned_height(names: Sequence[str]) -> int:
    """Return the height, in pixels, of rotated names on the x-axis; 0 if they fit without rotation."""
    longest = max((len(_words(name)) for name in names), default=0) * _LETTER
    return longest if longest * len(names) > _ROOM else 0


def _category_places(traces: Sequence[dict[str, Any]], layout: dict[str, Any]) -> dict[str, int]:
    """Return the position of each category name on the y-axis, in plotly's order; {} without categories."""
    names = [y for trace in traces for y in np.asarray(trace["y"], dtype=object) if isinstance(y, str)]
    if layout.get("yaxis", {}).get("type") == "category":
        names = [str(y) for trace in traces for y in np.asarray(trace["y"], dtype=object)]
    return {name: index for index, name in enumerate(dict.fromkeys(names))}


def _draw_trace(axes: Axes, trace: dict[str, Any], positions: dict[str, int]) -> None:
    x = np.asarray(trace["x"], dtype=float)
    y = np.array([positions[str(level)] for level in trace["y"]] if positions else trace["y"], dtype=float)
    marker = trace.get("marker", {})
    if trace["type"] == "bar":
        axes.barh(y, x, color=_colour(marker["color"]), alpha=marker.get("opacity", 1), height=0.6)
        _draw_bars(axes, trace, x, y)
        return
    mode = trace["mode"]
    line = trace.get("line", {})
    if trace.get("fill") == "toself":
        axes.fill(x, y, color=_colour(trace["fillcolor"]), linewidth=0)
        return
    label = None if trace.get("showlegend") is False else _words(trace["name"])
    if "lines" in mode:
        axes.plot(
            x, y, color=_colour(line["color"]), linewidth=line["width"] * _POINTS / _PIXELS, label=label,
            linestyle=_DASHES.get(line.get("dash", ""), "-"),
        )  # fmt: skip
        label = None
    if "markers" in mode:
        size = (np.asarray(marker["size"]) * _POINTS / _PIXELS) ** 2
        style: dict[str, Any] = {"color": _colour(marker["color"])} if "colorscale" not in marker else {}
        if not style:
            from matplotlib.colors import LinearSegmentedColormap

            shades = [(stop, _colour(colour)) for stop, colour in marker["colorscale"]]
            style = {"c": marker["color"], "cmap": LinearSegmentedColormap.from_list("shades", shades)}
            style |= {"vmin": marker["cmin"], "vmax": marker["cmax"]}
        edge = marker.get("line", {})
        if edge and marker.get("symbol") != "x":
            style |= {"edgecolors": _colour(edge["color"]), "linewidths": edge["width"]}
        symbol = _MARKERS.get(marker.get("symbol", ""), "o")
        axes.scatter(x, y, s=size, marker=symbol, label=label, zorder=3, **style)
        _draw_bars(axes, trace, x, y)


def _draw_bars(axes: Axes, trace: dict[str, Any], x: Any, y: Any) -> None:
    for name in ("x", "y"):
        bars = trace.get(f"error_{name}")
        if bars is not None:
            above = np.asarray(bars["array"], dtype=float)
            sides: Any = np.abs([np.asarray(bars.get("arrayminus", above), dtype=float), above])
            style: dict[str, Any] = {f"{name}err": sides, "ecolor": _colour(bars["color"]), "elinewidth": 1}
            axes.errorbar(x, y, fmt="none", **style)


def _draw_shape(axes: Axes, shape: dict[str, Any]) -> None:
    right, y_is_relative = (
        "domain" in shape.get(ref, "") or shape.get(ref) == "paper" for ref in ("xref", "yref")
    )
    if shape["type"] == "rect":
        axes.axhspan(shape["y0"], shape["y1"], color=_colour(shape["fillcolor"]), linewidth=0, zorder=0)
        label = shape.get("label", {})
        if label:
            side = label["textposition"].removeprefix("top ")
            x = {"left": 0.01, "right": 0.99}[side]
            axes.text(
                x, shape["y1"], _words(label["text"]), transform=axes.get_yaxis_transform(), ha=side,
                va="bottom", fontsize=8, color=_colour(label["font"]["color"]),
            )  # fmt: skip
        return
    style = {"color": _colour(shape["line"]["color"]), "linewidth": 0.9}
    style["linestyle"] = _DASHES.get(shape["line"]["dash"], "-")
    if right:
        axes.axhline(shape["y0"], **style)
    elif y_is_relative:
        axes.axvline(shape["x0"], **style)


def _add_axes(axes: Axes, layout: dict[str, Any], positions: dict[str, int]) -> None:
    """Add axis titles, names of categories, the grid and the legend."""
    for name, set_label, axis in (
        ("xaxis", axes.set_xlabel, axes.xaxis),
        ("yaxis", axes.set_ylabel, axes.yaxis),
    ):
        options = layout.get(name, {})
        set_label(_words(options.get("title", {}).get("text") or ""))
        if "tickvals" in options:
            axis.set_ticks(
                np.asarray(options["tickvals"], dtype=float), [_words(label) for label in options["ticktext"]]
            )
        elif str(options.get("tickformat", "")).endswith("%"):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        else:
            axis.set_major_formatter(lambda value, _: f"{value:,.6g}".replace("-", "−"))
    if positions:
        axes.set_yticks(list(positions.values()), [_words(name) for name in positions])
        axes.invert_yaxis()
    if layout.get("xaxis", {}).get("autorange") == "reversed":
        axes.invert_xaxis()
    axes.grid(axis="x" if positions else "y", color="#e6e9ec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=2)
    if layout.get("showlegend"):
        axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)


def _colour(text: str) -> Any:
    """Return a plotly colour, such as “rgba(1,2,3,0.5)”, in a format of matplotlib."""
    if not text.startswith("rgba"):
        return text
    *rgb, opacity = (float(number) for number in text[5:-1].split(","))
    return (*(number / 255 for number in rgb), opacity)


def _words(text: str) -> str:
    """Return a text without plotly's HTML tags."""
    return html.unescape(_TAG.sub(" ", str(text))).strip()
