"""What charts are put together from besides traces: notes, lines across, bands; all as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairdash.figures.theme import faded


def note(text: str, *, x: Any, y: Any, colour: str, size: int = 12, **place: Any) -> dict[str, Any]:
    """Text at a point, without an arrow; `place` as plotly's annotations have it."""
    plain = {"x": x, "y": y, "text": text, "showarrow": False, "font": {"color": colour, "size": size}}
    return plain | place


def corner_note(text: str, *, colour: str, **place: Any) -> dict[str, Any]:
    """Text in the upper left corner of the plot, in lines that begin on the left."""
    corner = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "align": "left"}
    return note(text, colour=colour, **{"x": 0, "y": 1} | corner | place)


def line_across(y: float, *, colour: str, dash: str = "dot") -> dict[str, Any]:
    """A thin line at this height through the whole plot."""
    line = {"color": colour, "width": 1, "dash": dash}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y, "line": line}


def line_up(x: float, *, colour: str, top: float = 1.0) -> dict[str, Any]:
    """A thin dotted line at this place, up to a share of the plot's height."""
    line = {"color": colour, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "yref": "paper", "line": line}


def band(
    x: ArrayLike, low: ArrayLike, high: ArrayLike, *, colour: str, name: str, opacity: float = 0.16
) -> dict[str, Any]:
    """The area between two lines: an interval around a line of this colour."""
    x, low, high = (np.asarray(each) for each in (x, low, high))
    return {
        "type": "scatter",
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([high, low[::-1]]),
        # Or plotly draws dots on the edge of a band of few groups.
        "mode": "lines",
        "fill": "toself",
        "fillcolor": faded(colour, opacity),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "name": name,
    }


def signed(value: float, *, decimals: int = 2) -> str:
    """A number with its sign, a true minus."""
    return f"{value:+,.{decimals}f}".replace("-", "−")
