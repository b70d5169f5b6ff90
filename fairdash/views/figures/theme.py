"""Layout and colours of all charts; each colour (Okabe–Ito, light and dark) has one meaning everywhere."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairdash.utils.text import visible

if TYPE_CHECKING:
    import plotly.graph_objects as go

STANDARD = "#D55E00"
CHOSEN = "#0072B2"
REFERENCE = "#009E73"
OTHERS = ("#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
HEIGHT = 420
FONT = '"Source Sans", "Source Sans Pro", sans-serif'


@dataclass(frozen=True)
class Theme:
    """Colours of the light or dark theme.

    Parameters
    ----------
    text, quiet
        Colours of text and of secondary text, with a contrast of at least 4.5:1 to the background.
    grid
        Colour of grid lines.
    floor
        Fill of the noise floor's band.
    veil
        Nearly opaque background colour of the page, drawn behind a label that is among points.
    chosen, standard
        Colours of the chosen and the standard model, slightly lighter in the dark theme.
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


#: Maximum number of characters per line of a title, and of a subtitle, on a phone.
_TITLE, _SUBTITLE = 42, 52
#: Height of a line of a title, and of a subtitle, in pixels.
_TITLE_LINE, _SUBTITLE_LINE = 21, 17
_BREAK = "<br>"


def theme_of(*, dark: bool) -> Theme:
    return DARK if dark else LIGHT


def escaped(name: object) -> str:
    """Escape a name, because plotly renders tags and links, and obeys control characters such as U+202E."""
    # Quotes are not escaped: outside tags this is not necessary, and plotly would show the escape sequences.
    return html.escape(visible(str(name)), quote=False)


def faded(colour: str, opacity: float) -> str:
    """Return the colour ``#rrggbb`` as rgba."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def in_lines(text: str, *, most: int) -> list[str]:
    """Wrap text in lines of about equal length, of at most `most` characters unless a word is longer.

    >>> in_lines("limits hold for all at once in most samples", most=24)
    ['limits hold for all at', 'once in most samples']
    """
    count = max(math.ceil(len(text) / most), 1)
    if count > 1:
        # A number and its per cent sign stay on the same line.
        text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    for width in range(max(math.ceil(len(text) / count), 1), most + 1):
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        if len(lines) <= count:
            return lines
    return textwrap.wrap(text, most, break_long_words=False, break_on_hyphens=False)


def new_figure(*, title: str, subtitle: str, x: str, y: str, theme: Theme, height: int = HEIGHT) -> go.Figure:
    """Return an empty figure with title, subtitle and axis titles; this function escapes these texts.

    Plotly does not wrap text. This function therefore splits long titles into lines, and increases the height
    of the figure.
    """
    titles, subtitles = in_lines(title, most=_TITLE), in_lines(subtitle, most=_SUBTITLE)
    extra_height = room_of(_with_breaks(titles), _with_breaks(subtitles))
    axis: dict[str, Any] = {
        "gridcolor": theme.grid,
        "zeroline": False,
        "linecolor": theme.grid,
        "ticks": "outside",
        "tickcolor": theme.grid,
        "automargin": True,
    }
    import plotly.graph_objects as go

    # The figure is built in one call, because updating a plotly figure takes ten times as long.
    return go.Figure(
        layout={
            "title": {
                "text": f"<b>{_with_breaks(titles)}</b>",
                "subtitle": {"text": _with_breaks(subtitles), "font": {"size": 13, "color": theme.quiet}},
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
            "height": height + extra_height,
            "margin": {"l": 8, "r": 16, "t": 72 + extra_height, "b": 8},
            "showlegend": False,
            "hovermode": "closest",
            "hoverlabel": {"font": {"family": FONT}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": theme.quiet, "activecolor": theme.text},
            "xaxis": axis | {"title": {"text": escaped(x), "standoff": 8}},
            "yaxis": axis | {"title": {"text": escaped(y), "standoff": 8}},
        }
    )


def room_of(title: str, subtitle: str) -> int:
    """Return the height, in pixels, of the lines after the first in the title and in the subtitle."""
    return _TITLE_LINE * title.count(_BREAK) + _SUBTITLE_LINE * subtitle.count(_BREAK)


def _with_breaks(lines: Sequence[str]) -> str:
    return _BREAK.join(escaped(line) for line in lines)


def figure_of(data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> go.Figure:
    """Make a figure from plain values that plotly accepts: dicts, lists, numbers and NumPy arrays.

    Plotly does not validate the figure, because this would take ten times as long as all other work for a
    move of the slider. Instead, the tests in `tests/views/figures` validate figures.
    """
    import plotly.graph_objects as go

    figure = go.Figure(data=data, layout=layout, _validate=False)
    figure._validate = True
    return figure
