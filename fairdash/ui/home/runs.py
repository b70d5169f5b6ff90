"""The runs of before, the newest first."""

from __future__ import annotations

import streamlit as st

from fairdash.runs.store import Run, list_runs
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.keys import Address
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import page
from fairdash.ui.text import safe

RUNS_SHOWN = 8


def show_recent_runs() -> None:
    """The newest runs, and which ones can't be read."""
    found = list_runs(owner=current_owner())
    if not found.runs:
        st.info("No run yet. The trade-off page trains a first look at the built-in example within seconds.")
    for recent in found.runs[:RUNS_SHOWN]:
        _show_run(recent)
    if found.damaged:
        st.warning(
            f"These runs can't be read and are left as they are: {', '.join(found.damaged)}. "
            "Other runs are unaffected."
        )


def _show_run(run: Run) -> None:
    spec, status = run.spec, run.status
    objective = OBJECTIVES[spec.plan.objective].title
    name = "tradeoff" if run.look else "train"
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(
        f"**{safe(spec.source.title)}** · {objective} · {len(spec.plan.lams)} λ × {spec.plan.n_splits} "
        f"splits · {status.state} · {spec.created[:16].replace('T', ' ')} UTC"
    )
    right.page_link(
        page(name), label="Open", icon=":material/open_in_new:", query_params={Address.RUN.value: run.id}
    )
