"""The rows set aside: opened once for the point in view, and what they have shown."""

from __future__ import annotations

import streamlit as st

from fairdash.errors import FairdashError, RunError
from fairdash.reports.comparison import Comparison
from fairdash.reports.confirming import all_sentences, not_opened, opening_of, refit_includes, sentences
from fairdash.runs.confirmations import confirm_run, read_confirmations
from fairdash.runs.store import RESULT, Run
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.text import safe

KEY = Keys(__file__)
_FAULT = KEY("fault")


def show_confirmation(comparison: Comparison, run: Run) -> None:
    """What the rows set aside have shown so far, and the button that opens them; nothing without any."""
    aside = comparison.result.set_aside
    if run.look != RESULT or aside is None:
        return
    st.subheader("Does it hold on rows set aside?")
    if fault := st.session_state.pop(_FAULT, None):
        show_problems(fault)
    try:
        openings = read_confirmations(run)
    except RunError as error:
        show_problems(error)
        return
    names, times = comparison.result.names, len(openings)
    own = opening_of(comparison, openings)
    if own is not None:
        first, *rest = sentences(own, times=times, names=names)
        st.markdown(f"**{safe(first)}**")
        st.markdown(safe(" ".join(rest)))
    elif openings:
        st.warning(
            safe(
                f"These rows were opened already, for another point. What they show of this one will be no "
                f"confirmation: it would be opening number {times + 1}."
            )
        )
    else:
        st.markdown(safe(not_opened(len(aside.rows))))
    if own is None:
        st.button(
            "Confirm on rows set aside" if not openings else "Open them again for this point",
            icon=":material/lock_open:",
            on_click=_open,
            args=(comparison, run),
            key=KEY("open"),
            help="One test of the chosen point on rows that had no part in anything so far. It is valid "
            "once: choose first, open then.",
        )
    others = [each for each in openings if each != own]
    if others:
        with st.expander("What they have shown of other points"):
            for paragraph in all_sentences(others, names):
                st.markdown(safe(paragraph))
    st.caption(safe(refit_includes(len(aside.rows))))


def _open(comparison: Comparison, run: Run) -> None:
    point, owner = comparison.b, current_owner()
    try:
        # Asked again: the run may have been deleted since the button was drawn.
        confirm_run(
            Run(run.id, owner=owner),
            method=point.method,
            lam=0.0 if point.is_standard else point.lam,
            objective=comparison.objective,
            owner=owner,
        )
    except FairdashError as error:
        st.session_state[_FAULT] = error
