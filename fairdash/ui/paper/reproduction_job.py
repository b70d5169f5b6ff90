"""A study made again in the app: started, followed, and compared with the committed result."""

from __future__ import annotations

from dataclasses import astuple

import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.errors import FairdashError
from fairdash.reproduction import StudyResult
from fairdash.reproduction.compare import agreement, compare
from fairdash.reproduction.job import ReproductionJob, ReproductionSpec, newest_job, start_reproduction
from fairdash.runs.status import DONE
from fairdash.ui.files import download
from fairdash.ui.frame import show_problems
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status
from fairdash.ui.keys import Keys
from fairdash.ui.text import duration, number

KEY = Keys(__file__)


def show_reproduction(spec: ReproductionSpec, committed: StudyResult, *, seconds: float) -> None:
    """A button that makes it again; how far that is; what came of it beside the committed values.

    Parameters
    ----------
    seconds
        What it took when the committed result was made.
    """
    try:
        job = newest_job(spec)
        if job is not None and not job.status.is_over:
            st.caption("This goes on if you close the page.")
            _follow(job)
            return
        if job is not None:
            show_status(job, job.status)
        left, right = st.columns([1, 2], vertical_alignment="center")
        if left.button("Run it again", icon=":material/replay:", key=KEY("again", *astuple(spec))):
            start_reproduction(spec)
            st.rerun()
        right.caption(
            f"On this machine, in the background: {duration(seconds)} when it was made first. The result "
            "goes into your own folder; what is shown here stays."
        )
        if job is not None and job.status.state == DONE:
            _show_comparison(committed, job)
    except FairdashError as error:
        show_problems(error)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(job: ReproductionJob) -> None:
    show_progress(job)


def _show_comparison(committed: StudyResult, job: ReproductionJob) -> None:
    new = job.read_result()
    compared = compare(committed, new)
    st.markdown(f"**{agreement(compared)}**")
    other = [
        f"{name} {new.about.versions[name]} here, {version} there"
        for name, version in committed.about.versions.items()
        if new.about.versions.get(name) != version
    ]
    if other or new.about.machine != committed.about.machine:
        st.caption(
            f"Not the same ground: {'; '.join([*other, f'here {new.about.machine}'])}; the committed one "
            f"{committed.about.machine}."
        )
    st.dataframe(in_words(compared), hide_index=True, alt="Committed values beside the new ones.")
    download(compared, label="The comparison (CSV)", name="paper-again", key=KEY("csv-again", job.id))


def in_words(compared: pd.DataFrame) -> pd.DataFrame:
    """The comparison as texts, the largest differences first, and how to read each."""
    size = compared["difference"].abs() / compared["error"].where(compared["error"] > 0)
    order = compared.assign(size=size).sort_values(
        ["within", "same", "size"], ascending=[True, True, False], kind="stable"
    )
    verdict = order["same"].map({True: "same", False: ""})
    verdict = verdict.where(order["same"], order["within"].map({True: "noise", False: "differs"}))
    return pd.DataFrame(
        {
            "Row": [str(row) for row in order["row"]],
            "Value": [_title(str(column)) for column in order["column"]],
            "Committed": [number(value) for value in order["committed"]],
            "Now": [number(value) for value in order["again"]],
            "Difference": [f"{value + 0.0:+.2g}" for value in order["difference"]],
            "Its standard error": ["–" if pd.isna(value) else f"{value:.2g}" for value in order["error"]],
            "": list(verdict),
        }
    )


def _title(column: str) -> str:
    """A column of a result in words."""
    name, _, way = column.rpartition("_")
    if name in REGISTRY and way in ("paper", "right"):
        return f"{REGISTRY[name].symbol}, {'as the paper' if way == 'paper' else 'cross-fitted'}"
    return REGISTRY[column].symbol if column in REGISTRY else column
