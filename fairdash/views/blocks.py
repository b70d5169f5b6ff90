"""Content of pages, documents and commands, in blocks: sentences, facts, figures and tables.

A view writes it once. :func:`document` draws it as self-contained HTML,
:func:`fairdash.ui.blocks.show_blocks` on a page, :func:`lines_of` in a terminal, and
:func:`fairdash.utils.safe_csv.safe_csv` writes its tables.
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

#: Characters that would end a script element or a line of a script.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
#: Addresses of maps, fonts and editors in the code of plotly.js; names of XML vocabularies are no addresses.
_REMOTE = re.compile(r"https?://(?!www\.w3\.org/)")
#: Margin that a figure no longer needs if its title is above the plot.
_TITLE_ROOM = 56
#: Rows of a file's table that a document prints.
MAX_ROWS = 40
#: Small enough for long titles on a phone.
_AXIS_TITLE = 13
#: Columns of p-values.
_P_VALUE = re.compile("p(_|-value|$)")
#: Parts of a document that are no paragraphs, to their elements.
_TAGS = {"title": "h1", "page": "h2", "chapter": "h2", "section": "h2", "heading": "h3", "command": "pre"}


class Text(str):
    """Text with a part of its own in a document.

    Parameters
    ----------
    text
        The text.
    part
        ``"title"``; ``"chapter"``, ``"page"`` (a chapter on a new page) or ``"section"`` (of a document of
        one page); ``"heading"``, ``"small"`` print, the ``"answer"``, a ``"command"``, or a ``"blank"`` to
        fill in and its ``"written"`` text.
    """

    part: str

    def __new__(cls, text: str, part: str) -> Text:
        block = super().__new__(cls, text)
        block.part = part
        return block

    @property
    def tag(self) -> str:
        """Element of a document that contains it."""
        return _TAGS.get(self.part, "p")


@dataclass(frozen=True, eq=False)
class Picture:
    """Figure with its text.

    Parameters
    ----------
    id
        Its name in the document.
    figure
        The figure with its title and subtitle, which HTML shows as text, so that they wrap on a phone and on
        paper.
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

        # A second figure would be validated value by value.
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
    def source(self) -> Markup:
        """Address that embeds the figure in a document without scripts."""
        from fairdash.views.figures.svg import svg_of

        svg = svg_of(self.figure, height=self.height)
        return Markup(f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}")  # noqa: S704 - base64

    @property
    def _room(self) -> int:
        title = self.figure.layout.title
        return _TITLE_ROOM + room_of(title.text, title.subtitle.text)


@dataclass(frozen=True, eq=False)
class Chart:
    """Figure of an audit's table. It is drawn only when it is shown.

    Parameters
    ----------
    id
        Its name in the document.
    name, table
        The table, and its name in :data:`fairdash.views.figures.audit.FIGURES`.
    names
        Role to the column's name, "" where there is none: price, sensitive, outcome, candidate.
    mean_price, gap_allowed
        The mean price, and the largest gap allowed, in the unit of a curve's values.
    """

    id: str
    name: str
    table: pd.DataFrame
    names: Mapping[str, str]
    mean_price: float
    gap_allowed: float

    def drawn(self, theme: Theme) -> Picture | None:
        """Return the picture; None for a table without rows or without a figure, or if plotly is missing."""
        if not has("plotly"):
            return None
        from fairdash.views.figures.audit import audit_figure

        return audit_figure(self, theme=theme)


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
        The file with all rows, if a document prints only the first rows.
    shares
        Columns shown in per cent.
    words
        Column to its ids and their display texts.
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
        """Make a table from its rows."""
        return cls(title, pd.DataFrame([list(row) for row in rows], columns=list(columns)), note)

    @property
    def name(self) -> str:
        """Name of its file without the ending."""
        return self.file.removesuffix(".csv")

    @property
    def columns(self) -> tuple[str, ...]:
        """Column titles; those of a file are names in code."""
        return tuple(str(name).replace("_", " ") if self.file else str(name) for name in self.frame)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Cells that a document prints, as text."""
        shown = self.frame.head(MAX_ROWS) if self.file else self.frame
        cells = ([self.written(str(name), each) for each in own] for name, own in shown.items())
        return tuple(zip(*cells, strict=True))

    def written(self, column: str, value: object) -> str:
        """Write the value of a cell: the same text on a page, in a document and in a terminal."""
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
        """Note below the table, with the place of all rows."""
        left_out = self.file and len(self.frame) > MAX_ROWS
        more = f"These are the first {MAX_ROWS} of {len(self.frame):,} rows. {self.file} contains all rows."
        return f"{self.note} {more if left_out else ''}".strip()


#: Types of blocks: a paragraph, a list of sentences, facts by name, a figure, a table.
Block = str | list[str] | dict[str, str] | Picture | Chart | Table


def chapter(title: str, *blocks: Block) -> list[Block]:
    """Return blocks below their heading; nothing without any."""
    return [Text(title, "chapter"), *blocks] if any(blocks) else []


def lines_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Return blocks as lines for a terminal, which shows no figure."""
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
                rest = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
                yield "  ".join([name.ljust(widths[0]), *rest])


def document(title: str, blocks: Iterable[Block], *, scripts: bool = True) -> bytes:
    """Return an HTML document in UTF-8 that opens anywhere, prints well and loads nothing online.

    The same blocks give the same bytes. Markup among them stays as it is.

    Parameters
    ----------
    title
        Title of the window.
    scripts
        Whether plotly draws the figures, with about 5 MB, or they are pictures without scripts.
    """
    drawn = [each.drawn(LIGHT) if isinstance(each, Chart) else each for each in blocks]
    return (
        templates()
        .get_template("document.html")
        .render(
            title=title,
            blocks=[each for each in drawn if each is not None],
            plotly=plotly_script() if scripts and any(isinstance(each, Picture) for each in drawn) else "",
            scripts=scripts,
        )
        .encode()
    )


def as_script_json(text: str) -> Markup:
    """Return JSON that is safe inside a script element: no name in it can close the element."""
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - made safe on the spot


@cache
def plotly_script() -> Markup:
    """Return plotly.js with every address in it made unreachable.

    Only maps would fetch anything, and there are none here. The document's policy also forbids it.
    """
    from plotly.offline import get_plotlyjs

    return Markup(_REMOTE.sub("offline://", get_plotlyjs()))  # noqa: S704 - not a user's text


@cache
def templates() -> Environment:
    """Return the templates of documents; all inserted text is escaped and visible."""
    # Documents are optional, so pages load jinja2 only for them.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_plainly,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _plainly(value: object) -> object:
    # Markup comes from this function, or from a figure, whose names theme.escaped has escaped.
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return unbroken(visible(value))


def _plain(text: str) -> str:
    return html.unescape(text.replace("<br>", " "))
