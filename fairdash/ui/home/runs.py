"""The runs of before, the newest first."""

from __future__ import annotations

import streamlit as st

from fairdash.runs.listing import list_runs
from fairdash.runs.store import Run
from fairdash.ui.keys import Address
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import page
from fairdash.ui.runs.words import line_of, page_of, title_of
from fairdash.ui.text import safe

RUNS_SHOWN = 8


def show_recent_runs() -> None:
    """The newest runs, and which ones can't be read; nothing where there are none."""
    found = list_runs(owner=current_owner())
    if not (found.runs or found.damaged):
        return
    st.subheader("Recent runs")
    for recent in found.runs[:RUNS_SHOWN]:
        _show_run(recent)
    if found.runs:
        st.page_link(
            page("runs"), label="All runs: find, name, compare, take away", icon=":material/history:"
        )
    if found.damaged:
        st.warning(
            f"These runs can't be read and are left as they are: {', '.join(found.damaged)}. "
            "Other runs are unaffected."
        )


def _show_run(run: Run) -> None:
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(f"**{safe(title_of(run))}** · {line_of(run, run.status)}")
    right.page_link(
        page(page_of(run)),
        label="Open",
        icon=":material/open_in_new:",
        query_params={Address.RUN.value: run.id},
    )
