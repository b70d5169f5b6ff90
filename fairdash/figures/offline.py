"""Figures and tables in an HTML file that opens anywhere and loads nothing from the network."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from fairdash.figures.theme import room_of
from fairdash.utils.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment

#: What would end a script element, or a line of a script, too early.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
#: Addresses of maps, fonts and editors in the code of plotly.js; names of XML vocabularies are no addresses.
_REMOTE = re.compile(r"https?://(?!www\.w3\.org/)")
#: What a title above the plot no longer needs of the figure's margin.
_TITLE_ROOM = 56
#: So that long ones fit on a phone.
_AXIS_TITLE = 13


@dataclass(frozen=True)
class Picture:
    """A figure and its words.

    Parameters
    ----------
    id
        Its name in the document.
    title, subtitle
        Plain text.
    alt
        What there is to see, for who can't.
    height
        Of the plot, in pixels.
    json
        The plotly figure without its titles.
    """

    id: str
    title: str
    subtitle: str
    alt: str
    height: int
    json: str

    @classmethod
    def of(cls, figure: go.Figure, *, id: str, alt: str) -> Picture:
        """Take titles out of a figure: as HTML they wrap on a phone and on paper."""
        titles = figure.layout.title.text, figure.layout.title.subtitle.text
        title, subtitle = (_plain(each.removeprefix("<b>").removesuffix("</b>")) for each in titles)
        room = _TITLE_ROOM + room_of(*titles)
        height, margin = figure.layout.height - room, figure.layout.margin.t - room
        figure.update_layout(title=None, height=height, margin_t=margin)
        figure.update_xaxes(title_font_size=_AXIS_TITLE).update_yaxes(title_font_size=_AXIS_TITLE)
        return cls(id, title, subtitle, alt, height, figure.to_json())

    @property
    def script(self) -> Markup:
        """The figure as it may stand in a script element."""
        return as_script_json(self.json)


@dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    title, note
        What stands above and below it.
    columns
        Titles of the columns; the first one names the row.
    rows
        As many cells each.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, frame: pd.DataFrame, *, title: str, note: str = "") -> Table:
        """The cells of a frame of texts."""
        return cls(
            title,
            tuple(str(column) for column in frame.columns),
            tuple(tuple(str(cell) for cell in row) for row in frame.itertuples(index=False)),
            note,
        )


def as_script_json(text: str) -> Markup:
    """JSON that may stand in a script element: no name in it can end the element."""
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - made safe on the spot


@cache
def plotly_script() -> Markup:
    """plotly.js with every address in it made unreachable.

    Only maps, which no figure here is, would fetch anything, and the document's policy forbids it besides.
    """
    from plotly.offline import get_plotlyjs

    return Markup(_REMOTE.sub("offline://", get_plotlyjs()))  # noqa: S704 - not a user's text


@cache
def templates(folder: Path) -> Environment:
    """The templates of a folder, and those that all documents share; all put in is escaped and visible."""
    # Pages that offer a document are waited for; most are left without one.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _visible(value: object) -> object:
    # Markup is made of what went through here, or of a figure, whose names theme.escaped has written out.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _plain(text: str) -> str:
    return html.unescape(text.replace("<br>", " "))
