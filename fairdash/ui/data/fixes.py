"""Show problems of a table and their fixes, each applied or undone with a click."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import DataError, Fix
from fairdash.tables.fixes import with_fix
from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import FIX_LABELS, show_fixes
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe

KEY = Keys(__file__)

#: Session key of the fixes that the user has accepted for the current table.
FIXES = KEY("of-the-table-in-view")


def ask_for_fixes(known: tuple[Fix, ...], columns: Collection[object], *, key: str) -> tuple[Fix, ...]:
    """List the applied fixes, each with a button to undo it."""
    state = fixes_key(key)
    if state not in st.session_state:
        st.session_state[state] = tuple(fix for fix in known if fix.column in columns)
    st.session_state[FIXES] = state
    agreed: tuple[Fix, ...] = st.session_state[state]
    if agreed:
        with st.container(horizontal=True):
            for fix in agreed:
                label = f"{FIX_LABELS[fix.kind]}: {safe(fix.column)}"
                st.button(
                    label,
                    key=KEY("undo", key, fix.kind, fix.column),
                    icon=":material/undo:",
                    help="You chose this. Click to undo it.",
                    on_click=lambda fix=fix: take_back(fix),
                )
    return agreed


def data_or_fixes(source: DatasetSource) -> Dataset | None:
    """Return the data set; None if there are problems, which are then shown with their fixes."""
    try:
        return dataset_of(source)
    except DataError as error:
        show_fixes(error.problems, key=KEY("problems", source.id), fix=agree, blocked=True)
        return None


def agree(fix: Fix) -> None:
    """Add a fix for the current table; of two that exclude each other, the last one counts."""
    state = st.session_state[FIXES]
    st.session_state[state] = with_fix(st.session_state[state], fix)


def agree_for(key: str, fix: Fix) -> None:
    """Add a fix for the table with this key, which need not have been shown yet."""
    state = fixes_key(key)
    st.session_state[state] = with_fix(st.session_state.get(state, ()), fix)


def take_back(fix: Fix) -> None:
    state = st.session_state[FIXES]
    st.session_state[state] = tuple(each for each in st.session_state[state] if each != fix)


def fixes_key(key: str) -> str:
    return KEY("fixes", key)
