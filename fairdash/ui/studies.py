"""Studies that run beside the app, as a page sees them: started, followed with a bar, shown when done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st

from fairdash.simulations.store import DONE, FAILED, Study, StudyStatus, cancel, start, status_of, tables_of
from fairdash.ui.frame import plain_errors
from fairdash.ui.keys import Keys
from fairdash.ui.text import duration

KEY = Keys(__file__)

SECONDS_BETWEEN_LOOKS = 0.7
#: A study follows a slider only after the slider has rested this long: each one is a process to start.
SECONDS_OF_REST = 0.6

Tables = Mapping[str, pd.DataFrame]


@st.cache_data(max_entries=60, show_spinner=False)
def _finished(key: str, _study: Study) -> dict[str, pd.DataFrame]:  # noqa: ARG001 (the key is the cache's)
    return tables_of(_study)


def finished(study: Study) -> Tables | None:
    """The tables of a study that is done, else None; it is not started here."""
    if status_of(study).state != DONE:
        return None
    return _finished(study.key, study)


def so_far(study: Study) -> tuple[Tables, bool]:
    """The tables that a study has, and whether it is done; it is not started here."""
    done = finished(study)
    return (tables_of(study), False) if done is None else (done, True)


def follow(study: Study, show: Callable[[Tables], None] | None, *, slot: str) -> None:
    """Start a study once the page rests, show its bar and what it has so far; one full rerun at its end.

    Parameters
    ----------
    study
        Not done yet.
    show
        Draws the tables that there are so far. None if the page itself does: then it is run again whenever
        there is more to draw.
    slot
        Name of the place on the page: a study that takes the place of another stops it.
    """
    asked = KEY("study", slot)
    earlier = st.session_state.get(asked)
    if earlier is None or earlier[0] != study:
        if earlier is not None and not status_of(earlier[0]).is_over:
            cancel(earlier[0])
        st.session_state[asked] = (study, time.monotonic())
    _follow(study, show, asked, _size(tables_of(study)))


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(study: Study, show: Callable[[Tables], None] | None, asked: str, drawn: int) -> None:
    status = status_of(study)
    if status.state == DONE or (show is None and _size(tables_of(study)) > drawn):
        st.rerun()
    if status.state == FAILED:
        st.warning("The background computation has ended before it was done.")
        if st.button("Try again", icon=":material/replay:", key=KEY("again", asked)):
            with plain_errors():
                start(study)
        return
    if time.monotonic() - st.session_state[asked][1] >= SECONDS_OF_REST:
        # A fragment's own runs have nobody around them who says what goes wrong.
        with plain_errors():
            start(study)
    st.progress(status.fraction, text=_words(status))
    if show is not None:
        show(tables_of(study))


def _size(tables: Tables) -> int:
    return sum(len(table) for table in tables.values())


def _words(status: StudyStatus) -> str:
    if status.state != "running":
        return "Starting…"
    left = ""
    if status.fraction > 0.05:
        left = f" · about {duration(status.seconds * (1 - status.fraction) / status.fraction)} left"
    return f"{status.doing} · {status.fraction:.0%}{left}"
