"""How far a run or a search is, as pages show it."""

from __future__ import annotations

import streamlit as st

from fairdash.runs.launch import go_on
from fairdash.runs.status import CANCELLED, DONE, FAILED, QUEUED, RunStatus
from fairdash.runs.store import Job
from fairdash.ui.frame import plain_errors
from fairdash.ui.keys import Keys
from fairdash.ui.text import duration, safe
from fairdash.utils.text import counted

KEY = Keys(__file__)

SECONDS_BETWEEN_LOOKS = 0.5


def show_status(job: Job, status: RunStatus) -> None:
    """Bar, time left and what to do next."""
    if status.state == DONE:
        st.success(f"Done in {duration(status.seconds)}.")
    elif status.state == CANCELLED:
        st.warning("Stopped." if job.can_go_on else "Stopped. Nothing was kept; start again when you like.")
    elif status.state == FAILED:
        st.error(safe(status.message))
    elif status.state == QUEUED and status.before:
        st.progress(status.fraction, text=f"Waiting: {counted(status.before, 'job')} before this one")
    elif status.state == QUEUED:
        st.progress(status.fraction, text=status.doing.capitalize() or "Starting…")
    elif job.is_cancelled():
        st.progress(status.fraction, text="Stopping…")
    else:
        st.progress(status.fraction, text=progress_words(status))


def progress_words(status: RunStatus) -> str:
    """What a job at work is doing, how far it is, and how long it will take."""
    left = "" if status.seconds_left is None else f" · about {duration(status.seconds_left)} left"
    return f"{status.doing[:1].upper()}{status.doing[1:]} · {status.fraction:.0%}{left}"


def show_go_on(job: Job) -> None:
    """Where a job was stopped or has failed with a part of it done: the way to the rest."""
    if job.can_go_on and st.button(
        "Go on",
        key=KEY("go-on", job.id),
        icon=":material/play_arrow:",
        help="What was finished is kept, and not done again.",
    ):
        with plain_errors():
            go_on(job)
            st.rerun()


def show_progress(job: Job) -> None:
    """Status and a button to cancel; for a fragment that runs every SECONDS_BETWEEN_LOOKS.

    One full rerun of the page when the job is over.
    """
    status = job.status
    if status.is_over:
        st.rerun()
    show_status(job, status)
    if st.button("Cancel", key=KEY("cancel", job.id), icon=":material/stop:", disabled=job.is_cancelled()):
        with plain_errors():
            job.ask_to_cancel()
