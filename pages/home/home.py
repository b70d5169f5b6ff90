"""Home page: an interactive curve, three cards with links, and recent runs."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.home import show_cards, show_curve, show_recent_runs, show_tour_link
from fairdash.ui.pages import page

st.title("How fair is a price, and what does fairness cost?")
st.markdown(
    "fairdash trains regression models and makes them fairer step by step: their predictions or errors "
    "depend "
    "less and less on age, income or another sensitive attribute. You see how much accuracy each step costs."
)
show_curve()
show_tour_link()
show_cards()
st.page_link(
    page("paper"), label="Compare the paper's tables and figures with our results", icon=":material/article:"
)
show_recent_runs()
