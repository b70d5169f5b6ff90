"""Trade-off page: what does fairness cost?"""

from __future__ import annotations

import streamlit as st

from fairdash.ui.pages import page
from fairdash.ui.tradeoff.comparison import choose, show_answer, show_comparison, show_panels
from fairdash.ui.tradeoff.run import (
    run_in_view,
    show_confirmation,
    show_history,
    show_other_training,
    show_stage,
    show_take_away,
)
from fairdash.ui.tradeoff.tariff import show_tariff

st.title("What does fairness cost?")
run = run_in_view()
if run is not None:
    place = st.container()
    stage = st.container()
    comparison = choose(run)
    with stage:
        show_stage(run, comparison)
    with place:
        show_answer(comparison)
        show_other_training(comparison, run)
    show_comparison(comparison, run)
    show_panels(comparison)
    show_confirmation(comparison, run)
    show_tariff(comparison, run)
    show_take_away(comparison, run)
    show_history(run)
    st.page_link(page("methods"), label="Which method? Errors at equal dependence on other data")
