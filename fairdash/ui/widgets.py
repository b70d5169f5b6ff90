"""Widgets for the options of a plan, and download buttons that make a file on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from threading import Event, Lock
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.errors import RunError
from fairdash.runs.store import Run
from fairdash.storage.log import note_export
from fairdash.ui.access import current_owner
from fairdash.ui.frame import error_in_words
from fairdash.ui.keys import Keys
from fairdash.utils.options import bounds, options_of
from fairdash.utils.safe_csv import safe_csv

KEY = Keys(__file__)

#: Maximum time in seconds for which the rerun after a click waits for the browser to request the file. If the
#: rerun ended before the request, Streamlit would discard the file, and the download would fail.
SECONDS_TO_ASK = 5.0


class FileOnRequest:
    """File that is created once, on the first request by the browser or the page.

    Parameters
    ----------
    make
        Function that returns the file's content.
    """

    def __init__(self, make: Callable[[], bytes]) -> None:
        self._make = make
        self._asked = Event()
        self._lock = Lock()
        self._content: bytes | None = None
        self._failure: str | None = None

    def content(self) -> bytes:
        """Return the file's content. If it can't be created, raise a RunError (the page shows the cause)."""
        self._asked.set()
        self.failure()
        if self._content is None:
            raise RunError.of("This file could not be made", "The page gives the reason.")
        return self._content

    def wait_until_asked(self, seconds: float) -> None:
        """Wait until the browser requests the file, for at most `seconds`."""
        self._asked.wait(seconds)

    def failure(self) -> str | None:
        """Create the file if it is missing. If this fails, return the reason in Markdown, else None."""
        with self._lock:
            if self._content is None and self._failure is None:
                try:
                    self._content = self._make()
                except Exception as error:
                    # download_file shows this text on the page, and in_plain_words writes the traceback to
                    # the log.
                    self._failure = error_in_words(error)
        return self._failure


@st.fragment
def download_file(
    make: Callable[[], bytes],
    *,
    label: str,
    name: str,
    mime: str,
    key: str,
    icon: str = ":material/download:",
) -> None:
    """Show a button that creates a file and downloads it.

    Parameters
    ----------
    make
        Function that returns the file's content. It is called in a separate thread after the click, at most
        once per click.
    label, name, mime, key, icon
        Text of the button, name and type of the file, and key and icon of the widget.
    """
    making = FileOnRequest(make)
    state = KEY("making", key)
    # `last` creates the file for the current click, and `making` creates the file for the next click.
    last: FileOnRequest | None = st.session_state.get(state)
    if last is not None and st.session_state.get(key):
        last.wait_until_asked(SECONDS_TO_ASK)
    st.session_state[state] = making
    clicked = st.download_button(
        label, data=making.content, file_name=name, mime=mime, key=key, icon=icon, on_click="rerun"
    )
    if clicked and last is not None and (failure := last.failure()) is not None:
        st.error(failure)


def download(frame: pd.DataFrame | Callable[[], pd.DataFrame], *, label: str, name: str, key: str) -> None:
    """Show a button that downloads a table as CSV without cells that spreadsheets would run as formulas."""
    download_file(
        lambda: safe_csv(frame() if callable(frame) else frame),
        label=label,
        name=f"fairdash-{name}.csv",
        mime="text/csv",
        key=key,
    )


def download_of(run: Run, make: Callable[[], bytes], **button: str) -> None:
    """Show a button that creates a file from a run and downloads it. The run's log records the download."""
    owner = current_owner()

    def make_and_log() -> bytes:
        # This raises an error if the run has been deleted since the button was drawn.
        Run(run.id, owner=owner)
        content = make()
        note_export(run.folder, content, file=button["name"], who=owner)
        return content

    download_file(make_and_log, **button)


_NONE = "None"


def ask(container: DeltaGenerator, plan: type, name: str, **more: Any) -> Any:
    """Ask for a plan's option in a suitable widget, with the label, help text and range of the option.

    `more` contains further arguments of the widget, such as its key. If `more` contains `options`, such as a
    table's columns, the user chooses one or several of them. None may be an option.
    """
    option = options_of(plan)[name]
    metadata, kind, default = option.metadata, str(option.type), option.default
    words = {"label": metadata["label"], "help": metadata["help"] or None, **more}
    if "options" in more and kind.startswith("tuple"):
        return tuple(container.multiselect(**{"placeholder": _NONE, **words}))
    if "options" in more:
        return container.selectbox(
            **{"format_func": lambda option: _NONE if option is None else option, **words}
        )
    if isinstance(choices := metadata["choices"], Mapping):
        captions = [key.meaning for key in choices.values()]
        return container.radio(
            options=list(choices), format_func=lambda key: choices[key].title, captions=captions, **words
        )
    if not metadata["within"]:
        return str(container.text_input(max_chars=20, **words)).strip()
    scale = 100 if metadata["unit"] else 1
    number_type = int if kind.startswith("int") else float
    low, high = (number_type(scale * end) if isfinite(end) else None for end in bounds(metadata["within"]))
    initial_value = None if default in (None, ()) else number_type(scale * default)  # type: ignore[operator]
    step = number_type(scale * metadata["step"]) if metadata["step"] else None
    number_options = {"min_value": low, "max_value": high, "value": initial_value, "step": step}
    number = container.number_input(**number_options | words)
    return number if number is None or scale == 1 else number / scale
