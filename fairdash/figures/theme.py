"""One colour a meaning, one layout for all charts (Okabe–Ito, light and dark)."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

STANDARD = "#D55E00"
CHOSEN = "#0072B2"
REFERENCE = "#009E73"
OTHERS = ("#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
HEIGHT = 420
FONT = '"Source Sans", "Source Sans Pro", sans-serif'


@dataclass(frozen=True)
class Theme:
    """What changes between light and dark.

    Parameters
    ----------
    text, quiet
        Colours of text and of secondary text; both at least 4.5:1 on the page's background.
    grid
        Colour of grid lines.
    floor
        Fill of the noise floor's band.
    veil
        The page's background, nearly opaque: behind a name that stands among points.
    chosen, standard
        The two models' colours, lifted a little on dark.
    """

    text: str
    quiet: str
    grid: str
    floor: str
    veil: str
    chosen: str
    standard: str


LIGHT = Theme(
    text="#1c2430",
    quiet="#55606e",
    grid="rgba(28,36,48,0.10)",
    floor="rgba(110,118,128,0.22)",
    veil="rgba(255,255,255,0.8)",
    chosen=CHOSEN,
    standard=STANDARD,
)
DARK = Theme(
    text="#e8ecf1",
    quiet="#a9b4c0",
    grid="rgba(232,236,241,0.12)",
    floor="rgba(170,178,188,0.22)",
    veil="rgba(18,22,28,0.8)",
    chosen="#3f9fd8",
    standard="#f0803c",
)


def theme_of(*, dark: bool) -> Theme:
    return DARK if dark else LIGHT


def escaped(name: object) -> str:
    """A name as plain text: plotly would show its tags and follow its links."""
    # Quotes are no danger outside of tags, and plotly would show their entities.
    return html.escape(str(name), quote=False)


def faded(colour: str, opacity: float) -> str:
    """The colour ``#rrggbb`` as rgba."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def new_figure(*, title: str, subtitle: str, x: str, y: str, theme: Theme, height: int = HEIGHT) -> go.Figure:
    """An empty figure with its title, subtitle and axis titles; all four are escaped here."""
    axis: dict[str, Any] = {
        "gridcolor": theme.grid,
        "zeroline": False,
        "linecolor": theme.grid,
        "ticks": "outside",
        "tickcolor": theme.grid,
        "automargin": True,
    }
    # In one piece: plotly takes ten times as long to update a figure as to begin with this.
    return go.Figure(
        layout={
            "title": {
                "text": f"<b>{escaped(title)}</b>",
                "subtitle": {"text": escaped(subtitle), "font": {"size": 13, "color": theme.quiet}},
                "x": 0,
                "xref": "container",
                "font": {"size": 16, "color": theme.text},
                "automargin": True,
                "yref": "container",
                "y": 0.97,
            },
            "font": {"family": FONT, "size": 13, "color": theme.text},
            "colorway": [theme.chosen, theme.standard, REFERENCE, *OTHERS],
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "height": height,
            "margin": {"l": 8, "r": 16, "t": 72, "b": 8},
            "showlegend": False,
            "hovermode": "closest",
            "hoverlabel": {"font": {"family": FONT}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": theme.quiet, "activecolor": theme.text},
            "xaxis": axis | {"title": {"text": escaped(x), "standoff": 8}},
            "yaxis": axis | {"title": {"text": escaped(y), "standoff": 8}},
        }
    )


def figure_of(data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> go.Figure:
    """A figure in one piece, from plain values that plotly knows: dicts, lists, numbers and NumPy arrays.

    Plotly's own look at each of them takes ten times as long as all else, at every move of a slider;
    `tests/figures` has it look.
    """
    figure = go.Figure(data=data, layout=layout, _validate=False)
    figure._validate = True
    return figure
