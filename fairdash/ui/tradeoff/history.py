"""Who did what with the run: its log, as it stands."""

from __future__ import annotations

import streamlit as st

from fairdash.reports.tables import history
from fairdash.runs.log import read
from fairdash.runs.store import Run


def show_history(run: Run) -> None:
    """The log, folded up, and a warning where it is not as it was written."""
    log = read(run.folder)
    if not log.is_whole:
        st.warning("The log of this run is not as it was written: lines were altered, or are missing.")
    if log.events:
        with st.expander("Who did what with this run"):
            st.dataframe(history(log), hide_index=True, alt="When, who and what, the oldest first.")
