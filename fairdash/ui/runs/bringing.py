"""Bringing in a run that was taken away here or elsewhere."""

from __future__ import annotations

import streamlit as st

from fairdash.runs.archive import import_run
from fairdash.ui.frame import plain_errors
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.runs.listing import choose
from fairdash.ui.text import safe

KEY = Keys(__file__)

#: What was said of the last one that came in, and how many have.
SAID, COUNT = KEY("said"), KEY("count")


def ask_for_file() -> None:
    """A file that a run was taken away as; it is checked, kept, and chosen."""
    if said := st.session_state.pop(SAID, ""):
        st.success(safe(said))
    count = st.session_state.get(COUNT, 0)
    with st.expander("Bring in a run that was taken away", icon=":material/upload:"):
        file = st.file_uploader(
            "The zip file of a run",
            type=["zip"],
            help="Every file in it is checked against its hash before anything is kept.",
            # A file that has come in leaves the field: the next one has a place of its own.
            key=KEY("file", count),
        )
        if file is not None:
            with plain_errors():
                found = import_run(file.getvalue(), owner=current_owner())
                st.session_state[SAID], st.session_state[COUNT] = str(found), count + 1
                choose([found.run.id])
                st.rerun()
