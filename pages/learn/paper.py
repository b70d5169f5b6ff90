"""Paper page: the tables and figures of the paper next to ours."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.paper.figures import show_part
from fairdash.ui.paper.table1 import show_in_short
from fairdash.ui.text import explain

st.title("Do the paper's results hold up?")
show_in_short()
show_part()
explain()
st.caption(
    "The paper: V. Grari, B. Ruf, S. Lamprier, M. Detyniecki, “Fairness-Aware Neural Rényi Minimization for "
    "Continuous Features”. Our figures come from results that are installed with fairdash."
)
