"""Page “Which method?”: methods of fair training, compared under the same conditions."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.learn import show_answer, show_data_set

st.title("Which method has the smallest error at equal dependence?")
st.markdown(
    "Each method is trained at several weights λ. Validation rows choose the λ at which the dependence is "
    "75, 50 or 25 % of the standard network's, and test rows give the error. No method minimises the "
    "measures of dependence used here."
)
show_answer()
show_data_set()
st.caption("`fairdash bench` compares methods on your data by the same protocol, including your own methods.")
