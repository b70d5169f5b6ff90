"""Trade-off: what does fairness cost?"""

from __future__ import annotations

import streamlit as st

from fairdash.reports.words import answer
from fairdash.runs.store import Run
from fairdash.ui.text import safe
from fairdash.ui.tradeoff.controls import choose, show_comparison_control, show_whose
from fairdash.ui.tradeoff.opening import run_in_view, show_other_training, show_stage
from fairdash.ui.tradeoff.panels import show_panels
from fairdash.ui.tradeoff.pictures import show_charts, show_four_numbers
from fairdash.ui.tradeoff.take_away import show_take_away


def show(run: Run) -> None:
    """The page of a run that has something to show."""
    answer_place = st.container()
    show_stage(run)
    found = choose(run)
    with answer_place:
        st.markdown(f"**{safe(answer(found))}**")
        show_whose(found, run.spec.source)
        show_other_training(found, run)
    show_charts(found)
    show_four_numbers(found)
    show_comparison_control(found)
    for note in found.result.notes:
        st.warning(safe(note))
    show_panels(found, run)
    show_take_away(found, run)


st.title("What does fairness cost?")
in_view = run_in_view()
if in_view is not None:
    show(in_view)
