"""Content blocks for pages and documents, rendered as self-contained HTML.

Content is written once, as sentences, facts, figures and tables. ``parts.html`` renders it as HTML,
:func:`fairdash.ui.blocks.show_blocks` on a page, and :func:`fairdash.utils.safe_csv.safe_csv` writes its
tables.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup

from fairdash.figures.theme import room_of
from fairdash.utils.text import percent, visible

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from jinja2 import Environment

#: What would end a script element, or a line of a script, too early.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
#: Addresses of maps, fonts and editors in the code of plotly.js; names of XML vocabularies are no addresses.
_REMOTE = re.compile(r"https?://(?!www\.w3\.org/)")
#: What a title above the plot no longer needs of the figure's margin.
_TITLE_ROOM = 56
#: Rows of a file's table that a document prints.
MOST_ROWS = 40
#: So that long ones fit on a phone.
_AXIS_TITLE = 13


@dataclass(frozen=True, eq=False)
class Picture:
    """Figure with its text.

    Parameters
    ----------
    id
        Its name in the document.
    figure
        With its title and subtitle, which HTML shows as text: there they wrap on a phone and on paper.
    alt
        Description for readers who can't see the figure.
    """

    id: str
    figure: go.Figure
    alt: str

    @property
    def title(self) -> str:
        return _plain(str(self.figure.layout.title.text).removeprefix("<b>").removesuffix("</b>"))

    @property
    def subtitle(self) -> str:
        return _plain(str(self.figure.layout.title.subtitle.text))

    @property
    def height(self) -> int:
        """Height of the plot without its titles, in pixels."""
        return int(self.figure.layout.height) - self._room

    @property
    def json(self) -> str:
        """The plotly figure without its titles."""
        from plotly.io.json import to_json_plotly

        # A second figure would be checked anew, value by value.
        bare = self.figure.to_dict()
        layout = bare["layout"]
        layout["title"] = {}
        layout["height"] = self.height
        layout["margin"]["t"] -= self._room
        for name in layout:
            if name.startswith(("xaxis", "yaxis")):
                layout[name].setdefault("title", {}).setdefault("font", {})["size"] = _AXIS_TITLE
        return str(to_json_plotly(bare))

    @property
    def script(self) -> Markup:
        """Figure as JSON that is safe inside a script element."""
        return as_script_json(self.json)

    @property
    def _room(self) -> int:
        title = self.figure.layout.title
        return _TITLE_ROOM + room_of(title.text, title.subtitle.text)


@dataclass(frozen=True, eq=False)
class Table:
    """Table with its text.

    Parameters
    ----------
    title, note
        Texts above and below the table.
    frame
        Its cells, texts or numbers; the first column names the row.
    file
        The file that has all of it, where a document prints the first rows alone.
    shares
        Columns that are shown in per cent.
    """

    title: str
    frame: pd.DataFrame
    note: str = ""
    file: str = ""
    shares: tuple[str, ...] = ()

    @classmethod
    def of_rows(
        cls, title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], note: str = ""
    ) -> Table:
        """Make a table from its rows."""
        return cls(title, pd.DataFrame([list(row) for row in rows], columns=list(columns)), note)

    @property
    def columns(self) -> tuple[str, ...]:
        """Column titles; those of a file are names in code."""
        return tuple(str(name).replace("_", " ") if self.file else str(name) for name in self.frame)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Cells that a document prints, as text."""
        shown = self.frame.head(MOST_ROWS) if self.file else self.frame
        columns = ([_cell(each, name in self.shares) for each in cells] for name, cells in shown.items())
        return tuple(zip(*columns, strict=True))

    @property
    def below(self) -> str:
        """Note below the table, and where to find all rows."""
        left_out = self.file and len(self.frame) > MOST_ROWS
        more = f"These are the first {MOST_ROWS} of {len(self.frame):,} rows. {self.file} contains all."
        return f"{self.note} {more if left_out else ''}".strip()


#: What pages and documents are made of: a paragraph, a list of sentences, facts by name, a figure, a table.
Block = str | list[str] | dict[str, str] | Picture | Table
#: Heading to what stands below it.
Chapters = Mapping[str, Sequence[Block]]


def _cell(value: object, is_share: bool) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            return "–"
        if is_share:
            return percent(value)
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def as_script_json(text: str) -> Markup:
    """Return JSON that is safe inside a script element: no name in it can close the element."""
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - made safe on the spot


@cache
def plotly_script() -> Markup:
    """Return plotly.js with every address in it made unreachable.

    Only maps, which no figure here is, would fetch anything, and the document's policy forbids it besides.
    """
    from plotly.offline import get_plotlyjs

    return Markup(_REMOTE.sub("offline://", get_plotlyjs()))  # noqa: S704 - not a user's text


@cache
def templates(folder: Path) -> Environment:
    """Return the templates of a folder and the shared ones; all inserted text is escaped and visible."""
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
