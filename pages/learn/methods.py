"""Page “Which method?”: methods of fair training, compared under the same conditions."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.learn import show_answer, show_data_set

st.title("Which method has the smallest error at equal dependence?")
st.markdown(
    "Each method is trained at several weights λ. On validation rows, we choose the λ at which the "
    "dependence is 75, 50 or 25 % of that of the standard network. The errors are from test rows. No method "
    "minimises any of the "
    "measures of dependence on this page."
)
show_answer()
show_data_set()
st.caption(
    "The command `fairdash bench` compares methods on your data in the same way, including your own methods."
)
