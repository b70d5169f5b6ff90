"""Functions that start studies, and show the progress and results of jobs on pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from fairdash.lab.studies import Study
from fairdash.runs.launch import cancel, resume, start_study
from fairdash.runs.state import CANCELLED, DONE, FAILED, QUEUED, RUNNING, RunStatus
from fairdash.runs.store import Job
from fairdash.runs.studies import StudyJob, find_study
from fairdash.ui.frame import plain_errors
from fairdash.ui.keys import Keys
from fairdash.ui.text import duration, safe
from fairdash.utils.text import time_left

KEY = Keys(__file__)
SomeJob = TypeVar("SomeJob", bound=Job)

SECONDS_BETWEEN_LOOKS = 0.5


def show_status(job: Job, status: RunStatus) -> None:
    """Show the progress bar, the remaining time and the possible actions of a job."""
    if status.state == DONE:
        st.success(f"Done in {duration(status.seconds)}.")
    elif status.state == CANCELLED:
        st.warning(
            "Stopped." if job.can_go_on else "Stopped. Nothing was saved. You can start the job again."
        )
    elif status.state == FAILED:
        st.error(safe(status.message))
    elif status.state == QUEUED:
        words = safe(f"{status.doing[:1].upper()}{status.doing[1:]}")
        st.progress(status.fraction, text=words or "Starting…")
    elif job.is_cancelled():
        st.progress(status.fraction, text="Stopping…")
    else:
        st.progress(status.fraction, text=progress_words(status))


def progress_words(status: RunStatus) -> str:
    """Return the current step, progress and remaining time of a job in words."""
    left = "" if status.seconds_left is None else f" · {time_left(*status.seconds_left)} left"
    return f"{status.doing[:1].upper()}{status.doing[1:]} · {status.fraction:.0%}{left}"


def offer_to_resume(job: Job) -> None:
    """Offer to resume a job that was stopped or failed after some of its steps."""
    if job.can_go_on and st.button(
        "Resume",
        key=KEY("go-on", job.id),
        icon=":material/play_arrow:",
        help="Finished steps are not repeated.",
    ):
        with plain_errors():
            resume(job)
            st.rerun()


def show_progress(job: Job) -> None:
    """Show a job's status and a button to cancel the job. Call this in a fragment that runs periodically.

    When the job ends, the whole page reruns once.
    """
    status = job.status
    if status.is_over:
        st.rerun()
    show_status(job, status)
    if st.button("Cancel", key=KEY("cancel", job.id), icon=":material/stop:", disabled=job.is_cancelled()):
        with plain_errors():
            cancel(job)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def follow_job(job: Job) -> None:
    """Show a job's progress until it ends."""
    show_progress(job)


def show_or_start(
    job: SomeJob | None,
    *,
    show: Callable[[SomeJob], None],
    start: Callable[[], object],
    missing: str = "",
    **button: Any,
) -> None:
    """Show a job's result or its progress or, if there is no job, a button that starts one.

    Parameters
    ----------
    job
        The job, or None if nobody has requested it.
    show
        Function that shows the result.
    missing
        Reason why the job can't be started, if there is one.
    """
    if job is not None and job.status.state == DONE:
        show(job)
    elif missing:
        st.caption(missing)
    elif job is not None and not job.status.is_over:
        follow_job(job)
    else:
        if job is not None:
            show_status(job, job.status)
        if st.button(**button):
            start()
            st.rerun()


SECONDS_BETWEEN_STUDY_LOOKS = 0.7
#: Seconds for which the slider must stay in place before a study starts. Each study starts a process.
SECONDS_OF_REST = 0.6

Tables = Mapping[str, pd.DataFrame]


@st.cache_data(max_entries=60, show_spinner=False)
def _finished(key: str, _job: StudyJob) -> dict[str, pd.DataFrame]:  # noqa: ARG001 (the key is the cache's)
    return _job.tables()


def finished(study: Study) -> Tables | None:
    """Return the tables of a study if it is finished, else None. The study is never started here."""
    job = find_study(study)
    return None if job is None or job.status.state != DONE else _finished(study.key, job)


def tables_so_far(study: Study) -> tuple[Tables, bool]:
    """Return the tables that a study has stored so far, and whether it is finished, without starting it."""
    is_finished = finished(study)
    return (_tables(study), False) if is_finished is None else (is_finished, True)


def follow(study: Study, show: Callable[[Tables], None] | None, *, slot: str) -> None:
    """Start a study when the page is idle, show its progress and first results, and rerun the page at the
    end.

    Parameters
    ----------
    study
        A study that is not finished.
    show
        Function that shows the tables stored so far. If `show` is None, the caller shows the tables, and the
        page reruns whenever new results are stored.
    slot
        Name of a place on the page. A new study cancels the earlier study in the same place.
    """
    state = KEY("study", slot)
    last_request = st.session_state.get(state)
    if last_request is None or last_request[0] != study:
        job = None if last_request is None else find_study(last_request[0])
        if job is not None and not job.status.is_over:
            cancel(job)
        st.session_state[state] = (study, time.monotonic())
    _follow(study, show, state, _size(_tables(study)))


@st.fragment(run_every=SECONDS_BETWEEN_STUDY_LOOKS)
def _follow(study: Study, show: Callable[[Tables], None] | None, asked: str, drawn: int) -> None:
    job = find_study(study)
    status = RunStatus(state=QUEUED) if job is None else job.status
    if status.state == DONE or (show is None and _size(_tables(study)) > drawn):
        st.rerun()
    if status.state == FAILED:
        st.warning("The background computation stopped before it finished.")
        if st.button("Try again", icon=":material/replay:", key=KEY("again", asked)):
            with plain_errors():
                start_study(study)
        return
    if time.monotonic() - st.session_state[asked][1] >= SECONDS_OF_REST:
        # Streamlit reruns a fragment without its caller, so the fragment itself must report errors.
        with plain_errors():
            start_study(study)
    if status.state == RUNNING:
        st.progress(status.fraction, text=progress_words(status))
    else:
        st.progress(0.0, text="Starting…")
    if show is not None:
        show(_tables(study))


def _tables(study: Study) -> Tables:
    job = find_study(study)
    return {} if job is None else job.tables()


def _size(tables: Tables) -> int:
    return sum(len(table) for table in tables.values())
