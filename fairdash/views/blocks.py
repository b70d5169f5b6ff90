"""Content of pages, documents and commands as blocks: sentences, facts, figures and tables.

The same blocks can be shown in several ways. :func:`document` renders them as self-contained HTML,
:func:`fairdash.ui.blocks.show_blocks` shows them on a page, :func:`lines_of` returns lines for a terminal,
and :func:`fairdash.utils.safe_csv.safe_csv` writes the tables.
"""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from fairdash.utils.imports import has
from fairdash.utils.text import p_value, percent, unbroken, visible
from fairdash.views.figures.theme import LIGHT, Theme, room_of

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from jinja2 import Environment

#: These characters could end a script element or a line of JavaScript, so they are escaped.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
#: Web addresses in the code of plotly.js, except the names of XML vocabularies, which look like addresses.
_REMOTE = re.compile(r"https?://(?!www\.w3\.org/)")
#: Space for the title of a figure, in pixels. A figure does not need it if HTML shows the title.
_TITLE_ROOM = 56
#: If a file contains the whole table, a document prints at most this number of its rows.
MAX_ROWS = 40
#: Font size of axis titles. It is small, so that long titles fit on a phone.
_AXIS_TITLE = 13
#: Pattern of the names of columns that contain p-values.
_P_VALUE = re.compile("p(_|-value|$)")
#: HTML elements for texts other than paragraphs, by the role of the text.
_TAGS = {"title": "h1", "page": "h2", "chapter": "h2", "section": "h2", "heading": "h3", "command": "pre"}


class Text(str):
    """Text with a special role in a document, such as a title or a command.

    Parameters
    ----------
    text
        The text.
    part
        Role of the text: ``"title"``; ``"chapter"``, ``"page"`` (a chapter on a new page) or ``"section"``
        (of a document of one page); ``"heading"``, ``"small"`` print, the ``"answer"``, a ``"command"``, a
        ``"blank"`` that the user must fill in, or the ``"written"`` text of the user.
    """

    part: str

    def __new__(cls, text: str, part: str) -> Text:
        block = super().__new__(cls, text)
        block.part = part
        return block

    @property
    def tag(self) -> str:
        """HTML element that contains the text."""
        return _TAGS.get(self.part, "p")


@dataclass(frozen=True, eq=False)
class Picture:
    """Figure with a description in words.

    Parameters
    ----------
    id
        Name of the figure in the document.
    figure
        Plotly figure with title and subtitle. HTML shows title and subtitle as text, which wraps on a phone
        and on paper.
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
        """Height of the plot without titles, in pixels."""
        return int(self.figure.layout.height) - self._room

    @property
    def json(self) -> str:
        """Plotly figure without titles, as JSON."""
        from plotly.io.json import to_json_plotly

        # A dict is changed instead of a copied figure, because plotly would validate every value of the copy.
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
        """Plotly figure as JSON that is safe inside a script element."""
        return as_script_json(self.json)

    @property
    def source(self) -> Markup:
        """Data address that embeds the figure as SVG in a document without scripts."""
        from fairdash.views.figures.svg import svg_of

        svg = svg_of(self.figure, height=self.height)
        return Markup(f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}")  # noqa: S704 - base64

    @property
    def _room(self) -> int:
        title = self.figure.layout.title
        return _TITLE_ROOM + room_of(title.text, title.subtitle.text)


@dataclass(frozen=True, eq=False)
class Chart:
    """Figure of an audit's table; it is drawn only when a page or document shows it.

    Parameters
    ----------
    id
        Name of the figure in the document.
    name, table
        Key of :data:`fairdash.views.figures.audit.FIGURES`, and the table with this name.
    names
        Column names by role (price, sensitive attribute, outcome, candidate); "" for a role without a column.
    mean_price, gap_allowed
        Mean price, and largest acceptable gap, in the unit of a curve's values.
    """

    id: str
    name: str
    table: pd.DataFrame
    names: Mapping[str, str]
    mean_price: float
    gap_allowed: float

    def drawn(self, theme: Theme) -> Picture | None:
        """Return the picture; None if the table has no rows or no figure, or if plotly is not installed."""
        if not has("plotly"):
            return None
        from fairdash.views.figures.audit import audit_figure

        return audit_figure(self, theme=theme)


@dataclass(frozen=True, eq=False)
class Table:
    """Table with title and note.

    Parameters
    ----------
    title, note
        Texts above and below the table.
    frame
        Cells of the table, strings or numbers; the first column contains the names of rows.
    file
        Name of the file with all rows, if a document prints only the first rows.
    shares
        Names of columns whose values are shown in per cent.
    words
        For each column with ids, a map of ids to display texts.
    """

    title: str
    frame: pd.DataFrame
    note: str = ""
    file: str = ""
    shares: tuple[str, ...] = ()
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of_rows(
        cls, title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], note: str = ""
    ) -> Table:
        """Make a table from a title, column titles and rows of strings."""
        return cls(title, pd.DataFrame([list(row) for row in rows], columns=list(columns)), note)

    @property
    def name(self) -> str:
        """Name of the table's file without the extension."""
        return self.file.removesuffix(".csv")

    @property
    def columns(self) -> tuple[str, ...]:
        """Column titles; in a table with a file, the names of the columns in that file."""
        return tuple(str(name).replace("_", " ") if self.file else str(name) for name in self.frame)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Cells that a document prints, as strings."""
        shown_rows = self.frame.head(MAX_ROWS) if self.file else self.frame
        cells = ([self.written(str(name), cell) for cell in column] for name, column in shown_rows.items())
        return tuple(zip(*cells, strict=True))

    def written(self, column: str, value: object) -> str:
        """Format the value of a cell as the text that pages, documents and terminals show."""
        if isinstance(value, float):
            if not math.isfinite(value):
                return "–"
            if _P_VALUE.match(column):
                return p_value(value)
            if column in self.shares:
                return percent(value)
            return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return f"{value:,}"
        return self.words.get(column, {}).get(str(value), str(value))

    @property
    def below(self) -> str:
        """Note below the table, which names the file with all rows."""
        is_truncated = self.file and len(self.frame) > MAX_ROWS
        text = f"These are the first {MAX_ROWS} of {len(self.frame):,} rows. {self.file} contains all rows."
        return f"{self.note} {text if is_truncated else ''}".strip()


#: A block is a paragraph, a list of sentences, facts by name, a figure, or a table.
Block = str | list[str] | dict[str, str] | Picture | Chart | Table


def chapter(title: str, *blocks: Block) -> list[Block]:
    """Return a heading and its blocks; if there are no blocks, return an empty list."""
    return [Text(title, "chapter"), *blocks] if any(blocks) else []


def lines_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Return blocks as lines for a terminal, without figures."""
    for block in blocks:
        if isinstance(block, Text) and block.tag != "p":
            yield from ("", block)
        elif isinstance(block, str):
            yield block
        elif isinstance(block, list):
            yield from block
        elif isinstance(block, dict):
            yield from (f"{name} {text}" for name, text in block.items())
        elif isinstance(block, Table):
            grid = [block.columns, *block.rows]
            widths = [max(map(len, cells)) for cells in zip(*grid, strict=True)]
            yield from ("", f"{block.title}:")
            for name, *cells in grid:
                aligned_cells = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
                yield "  ".join([name.ljust(widths[0]), *aligned_cells])


def document(title: str, blocks: Iterable[Block], *, scripts: bool = True) -> bytes:
    """Return an HTML document in UTF-8 for any browser or printer; it loads nothing from the web.

    The same blocks always give the same bytes. Blocks of the type ``Markup`` are not escaped.

    Parameters
    ----------
    title
        Title of the browser's window.
    scripts
        True if plotly.js draws the figures in the browser, which adds about 5 MB. Otherwise, the document
        contains the figures as SVG pictures.
    """
    drawn = [block.drawn(LIGHT) if isinstance(block, Chart) else block for block in blocks]
    return (
        templates()
        .get_template("document.html")
        .render(
            title=title,
            blocks=[block for block in drawn if block is not None],
            plotly=plotly_script() if scripts and any(isinstance(block, Picture) for block in drawn) else "",
            scripts=scripts,
        )
        .encode()
    )


def as_script_json(text: str) -> Markup:
    """Return JSON that is safe inside a script element: no text in it can close the element."""
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - made safe on the spot


@cache
def plotly_script() -> Markup:
    """Return the code of plotly.js, with every web address replaced by one that does not exist.

    Only maps of plotly.js load data, and fairdash draws no maps. The document's security policy also forbids
    requests.
    """
    from plotly.offline import get_plotlyjs

    return Markup(_REMOTE.sub("offline://", get_plotlyjs()))  # noqa: S704 - not a user's text


@cache
def templates() -> Environment:
    """Return the templates of documents, which escape inserted text and show invisible characters."""
    # jinja2 is imported here, because only documents need it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_escaped_for_documents,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _escaped_for_documents(value: object) -> object:
    # Markup comes only from this module, and from figures with names escaped by theme.escaped.
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return unbroken(visible(value))


def _plain(text: str) -> str:
    return html.unescape(text.replace("<br>", " "))
