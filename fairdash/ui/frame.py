"""Functions for all pages, with error messages in plain words and one style of charts."""

from __future__ import annotations

import gc
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from fairdash.errors import FairdashError, Fix, Problem, trace_of
from fairdash.storage import make_private
from fairdash.ui.keys import Address, Keys, name_in
from fairdash.ui.text import safe
from fairdash.views.figures.theme import Theme, room_of, theme_of

KEY = Keys(__file__)

log = logging.getLogger("fairdash.app")

FIX_LABELS = {
    "drop_rows": "Drop these rows",
    "codes": "Make these cells missing",
    "spelling": "Write them alike",
    "convert": "Convert to numbers",
    "dash_zero": "Convert to numbers, with the mark as 0",
    "order": "Use the order of its bands",
    "leave_out": "Leave it out",
    "keep": "Keep it",
    "as_they_are": "Use them as they are",
    "floor": "Count them as 0",
    "drop_negative": "Leave these rows out",
    "year": "Use the year",
    "age": "Use the age",
    "year_day_first": "Use the year (day before month)",
    "year_month_first": "Use the year (month before day)",
    "age_day_first": "Use the age (day before month)",
    "age_month_first": "Use the age (month before day)",
    "number_names": "Number them",
}

#: Height in pixels of the placeholder for a page's pictures.
PICTURES = 480
_PLOTLY = {"displaylogo": False, "showSendToCloud": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show errors in this block in plain words. A traceback is written to the log, never to the page."""
    try:
        yield
    except Exception as error:
        st.error(error_in_words(error))


def error_in_words(error: Exception) -> str:
    """Return an error's message in Markdown, and write the traceback of an unexpected error to the log."""
    if isinstance(error, FairdashError):
        lines = [safe(problem) for problem in error.problems]
        return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
    error_id = secrets.token_hex(4)
    log.error("error %s: %s", error_id, trace_of(error))
    return (
        f"Unexpected error. The error is logged as `{error_id}`. Your data and finished runs are unaffected. "
        "Reload the page to continue."
    )


def show_problems(error: FairdashError) -> None:
    """Show all problems of an error as plain text, one per line."""
    st.error(error_in_words(error))


def show_fixes(problems: Sequence[Problem], *, key: str, fix: Callable[[Fix], None], blocked: bool) -> None:
    """Show problems as plain text, each with buttons for its one-click fixes.

    Parameters
    ----------
    problems
        Problems of the table, or possible additions of columns.
    key
        Prefix of the buttons' keys.
    fix
        Function called with the fix that the user chooses.
    blocked
        True if the page can't continue before the problems are fixed. They are then red.
    """
    for problem in problems:
        (st.error if blocked else st.info)(safe(problem))
        if problem.fixes:
            with st.container(horizontal=True):
                for way in problem.fixes:
                    name = KEY("fix", key, problem.what, way.kind, way.column)
                    st.button(FIX_LABELS[way.kind], key=name, on_click=fix, args=(way,))


def theme() -> Theme:
    """Return the colours of the user's theme, light or dark."""
    return theme_of(dark=st.context.theme.type == "dark")


#: Session key of the file format for saved charts ("PNG" or "SVG").
PICTURE_FORMAT = KEY("picture-format")


def picture_format() -> str:
    """Return the format of saved charts, "png" or "svg"."""
    return str(st.session_state.get(PICTURE_FORMAT, "PNG")).lower()


#: Style of presentation mode, without a sidebar and with text of at least 18 px.
PRESENTED = """<style>
html { font-size: 21px; --presented: 1rem }
h1 { font-size: 1.6rem !important; padding: 0 !important }
label p, button p, a p, [data-testid=stCaptionContainer] p { font-size: 1rem !important }
[data-testid=stSidebar], [data-testid=stHeader] { display: none }
[data-testid=stMainBlockContainer] { padding-top: 1rem; padding-bottom: 1rem }
</style>"""
#: Text size of charts in presentation mode, in pixels.
ENLARGED = 18


def presented() -> bool:
    """Return whether the page is in presentation mode."""
    # The switch does not exist yet when a page opens, so its value comes from the address.
    in_address = st.query_params.get(Address.PRESENT) == "true"
    return bool(st.session_state.get(Address.PRESENT, in_address))


def ask_for_presentation() -> None:
    """Show the switch of presentation mode, which is stored in the address."""
    st.toggle("Presentation mode", key=Address.PRESENT, bind="query-params")


def enlarged(figure: go.Figure, text: int = ENLARGED) -> go.Figure:
    """Return the figure with wider margins and a text size of at least this number of pixels."""
    figure.update_layout(font_size=text, title_font_size=text + 4, hoverlabel_font_size=text)
    title = figure.layout.title
    # Larger text makes a title of several lines higher, so the figure must also be higher.
    extra_height = (text / 13 - 1) * room_of(str(title.text), str(title.subtitle.text))
    height = 1.15 * figure.layout.height + extra_height
    figure.update_layout(title_subtitle_font_size=text, height=height)
    if extra_height:
        figure.update_layout(margin_t=figure.layout.margin.t + 1.3 * extra_height, title_automargin=False)
        figure.update_layout(title_y=title.y - extra_height / height)
    figure.update_annotations(font_size=text)
    return figure


def chart(figure: go.Figure, *, key: str, alt: str) -> None:
    """Show a chart with a camera button. `alt` describes the chart in words."""
    if presented():
        figure = enlarged(figure)
    form = picture_format()
    image = {"filename": f"fairdash-{name_in(key)}", "scale": 2 if form == "png" else 1, "format": form}
    st.plotly_chart(figure, key=key, alt=alt, theme=None, config=_PLOTLY | {"toImageButtonOptions": image})


def make_folders_private() -> None:
    """Make folders with personal data private, once per server. Report folders that other users can read."""
    folders = _made_private()
    if folders:
        names = safe(", ".join(map(str, folders)))
        st.warning(
            f"Other accounts were able to change files in {names}. Now only your account can change "
            "these files."
        )
        folders.clear()


@st.cache_resource(show_spinner=False)
def _made_private() -> list[Path]:
    return list(make_private())


@st.cache_resource(show_spinner=False)
def freeze_imports() -> None:
    """Exclude all objects that are already loaded from garbage collection.

    Streamlit runs Python's garbage collection after every run of a script. If each collection visited all
    objects of imported modules, it would take most of the time to redraw a slider.
    """
    gc.collect()
    gc.freeze()
