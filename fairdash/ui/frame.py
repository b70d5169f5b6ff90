"""What every page has around it: errors in plain words, one look for charts and downloads."""

from __future__ import annotations

import gc
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from fairdash.errors import FairdashError, Mend, Problem
from fairdash.figures.theme import Theme, theme_of
from fairdash.reports.csv import safe_csv
from fairdash.traces import trace_of
from fairdash.ui.text import safe

log = logging.getLogger("fairdash.app")

MEND_LABELS = {
    "drop_rows": "Drop these rows",
    "convert": "Convert to numbers",
    "leave_out": "Leave it out",
    "keep": "Keep it",
    "year": "Use the year",
    "age": "Use the age",
    "year_day_first": "Use the year, day first",
    "year_month_first": "Use the year, month first",
    "age_day_first": "Use the age, day first",
    "age_month_first": "Use the age, month first",
    "number_names": "Number them",
}

_PLOTLY = {"displaylogo": False, "showSendToCloud": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show what goes wrong inside in plain words; a trace goes to the log, never to the page."""
    try:
        yield
    except FairdashError as error:
        show_problems(error)
    except Exception as error:
        error_id = secrets.token_hex(4)
        log.error("error %s: %s", error_id, trace_of(error))
        st.error(
            f"Something went wrong that fairdash did not foresee. The log names it `{error_id}`; your data "
            "and finished runs are untouched. Reload the page to go on."
        )


def show_problems(error: FairdashError) -> None:
    """All problems of an error, one a line, as plain text."""
    lines = [safe(problem) for problem in error.problems]
    st.error(lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines))


def show_mends(problems: Sequence[Problem], *, key: str, mend: Callable[[Mend], None], blocked: bool) -> None:
    """Problems as plain text, each with buttons for the ways out that take one click.

    Parameters
    ----------
    problems
        What is in the way, or what could be used as well.
    key
        Begins the buttons' keys.
    mend
        Called with the way out that was chosen.
    blocked
        Whether they are in the way; red if so.
    """
    for problem in problems:
        (st.error if blocked else st.info)(safe(problem))
        if problem.mends:
            with st.container(horizontal=True):
                for way in problem.mends:
                    name = f"{key} {problem.what} {way.kind} {way.column}"
                    st.button(MEND_LABELS[way.kind], key=name, on_click=mend, args=(way,))


def theme() -> Theme:
    """The colours of the page as the user has it, light or dark."""
    return theme_of(dark=st.context.theme.type == "dark")


#: Session key of the format in which charts are saved: "PNG" or "SVG".
PICTURE_FORMAT = "picture format"


def chart(figure: go.Figure, *, key: str, alt: str) -> None:
    """A chart with its camera button; `alt` says in words what it shows."""
    form = str(st.session_state.get(PICTURE_FORMAT, "PNG")).lower()
    image = {"filename": f"fairdash-{key}", "scale": 2 if form == "png" else 1, "format": form}
    st.plotly_chart(figure, key=key, alt=alt, theme=None, config=_PLOTLY | {"toImageButtonOptions": image})


def download(frame: pd.DataFrame | Callable[[], pd.DataFrame], *, label: str, name: str, key: str) -> None:
    """A button that gives a table, or what makes it, as CSV that is safe to open in a spreadsheet."""
    st.download_button(
        label,
        data=lambda: safe_csv(frame() if callable(frame) else frame),
        file_name=f"fairdash-{name}.csv",
        mime="text/csv",
        key=key,
        icon=":material/download:",
        on_click="ignore",
    )


@st.cache_resource(show_spinner=False)
def freeze_imports() -> None:
    """Take what is loaded so far out of garbage collection.

    Streamlit collects garbage after every run of a script; walking through all imported modules each
    time was most of a slider's redraw.
    """
    gc.collect()
    gc.freeze()
