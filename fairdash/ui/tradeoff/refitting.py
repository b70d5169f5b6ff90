"""A model of a run, fitted on all rows: asked for, followed, or there."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from fairdash.runs.models import ModelJob, find_model
from fairdash.runs.status import DONE
from fairdash.runs.store import Run
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status
from fairdash.ui.owner import current_owner
from fairdash.ui.runs.words import missing_data


def show_refit(
    run: Run, *, method: str, lam: float, ask: Callable[[], None], show: Callable[[ModelJob], None]
) -> None:
    """What there is of a model on all rows.

    Parameters
    ----------
    method, lam
        Which model of the run.
    ask
        Draws the way to start it, where nobody is at it.
    show
        Draws it once it is there.
    """
    job = find_model(run=run.id, method=method, lam=lam, owner=current_owner())
    missing = missing_data(run.spec.source)
    if missing and (job is None or job.status.state != DONE):
        st.caption(missing)
    elif job is None or (job.status.is_over and job.status.state != DONE):
        if job is not None:
            show_status(job, job.status)
        ask()
    elif job.status.state == DONE:
        show(job)
    else:
        _follow(job)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(job: ModelJob) -> None:
    show_progress(job)
