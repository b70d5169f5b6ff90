"""Data page: selection of data and of a sensitive attribute."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.data.choice import ask_for_data, current_source, show_heading
from fairdash.ui.data.profile import show_dataset
from fairdash.ui.data.roles import data_or_fixes
from fairdash.ui.state import choose_source

st.title("Choose data and a sensitive attribute")
source = ask_for_data(current_source())
data = None if source is None else data_or_fixes(source)
if source is not None and data is not None:
    choose_source(source)
    st.divider()
    show_heading(data, source)
    show_dataset(data, source)
