"""Paper page: the tables and figures of the paper beside our results."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.paper.figures import show_part
from fairdash.ui.paper.table1 import show_in_short
from fairdash.ui.text import explain

st.title("Can we reproduce the paper's results?")
show_in_short()
show_part()
explain()
st.caption(
    "The paper: V. Grari, B. Ruf, S. Lamprier, M. Detyniecki, “Fairness-Aware Neural Rényi Minimization for "
    "Continuous Features”. Our results are part of fairdash. The page computes nothing."
)
