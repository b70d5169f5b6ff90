"""What is in a table's way, and what the user has agreed to: each mend a click, each click undone by one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import DataError, Mend
from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import MEND_LABELS, show_mends
from fairdash.ui.text import safe

#: Where the session keeps the name of what the user has agreed to for the table in view.
MENDS = "mends of the table in view"


def ask_for_mends(known: tuple[Mend, ...], frame: pd.DataFrame, *, key: str) -> tuple[Mend, ...]:
    """What the user has agreed to so far, each with a button to take it back."""
    state = mends_key(key)
    if state not in st.session_state:
        st.session_state[state] = tuple(mend for mend in known if mend.column in frame)
    st.session_state[MENDS] = state
    agreed: tuple[Mend, ...] = st.session_state[state]
    if agreed:
        with st.container(horizontal=True):
            for mend in agreed:
                label = f"{MEND_LABELS[mend.kind]}: {safe(mend.column)}"
                st.button(
                    label,
                    key=f"{state} undo {mend.kind} {mend.column}",
                    icon=":material/undo:",
                    help="You chose this. Click to take it back.",
                    on_click=lambda mend=mend: take_back(mend),
                )
    return agreed


def data_or_mends(source: DatasetSource) -> Dataset | None:
    """The data set; None if something is in the way, which is then shown with its ways out."""
    try:
        return dataset_of(source)
    except DataError as error:
        show_mends(error.problems, key=f"{source.id} problems", mend=agree, blocked=True)
        return None


def agree(mend: Mend) -> None:
    """Add a mend; of two that exclude each other the last counts."""
    state = st.session_state[MENDS]

    def goes(each: Mend) -> bool:
        alike = each.column == mend.column and "drop_rows" not in (each.kind, mend.kind)
        return each == mend or alike

    st.session_state[state] = (*(each for each in st.session_state[state] if not goes(each)), mend)


def take_back(mend: Mend) -> None:
    state = st.session_state[MENDS]
    st.session_state[state] = tuple(each for each in st.session_state[state] if each != mend)


def mends_key(key: str) -> str:
    return f"{key} mends"
