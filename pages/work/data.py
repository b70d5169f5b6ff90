"""Data: which table, and what must not matter?"""

from __future__ import annotations

import streamlit as st

from fairdash.data.wording import counted
from fairdash.runs.quick import is_quick
from fairdash.runs.standby import prepare
from fairdash.ui.data.choice import ask_for_data, current_source
from fairdash.ui.data.mends import data_or_mends
from fairdash.ui.data.shown import show_dataset
from fairdash.ui.pages import page
from fairdash.ui.state import choose_run, choose_source
from fairdash.ui.text import safe

st.title("Which table, and what must not matter?")
source = ask_for_data(current_source())
data = None if source is None else data_or_mends(source)
if source is not None and data is not None:
    choose_source(source)
    st.divider()
    heading, buttons = st.columns([3, 1], vertical_alignment="center")
    heading.subheader(safe(data.title), anchor=False)
    heading.caption(
        f"{counted(data.n_rows, 'row')} · {counted(len(data.roles.features), 'feature')} · sensitive: "
        f"{safe(', '.join(data.roles.sensitive))} · target: {safe(data.roles.target)}"
        + (f" · exposure: {safe(data.roles.weight)}" if data.roles.weight else "")
    )
    with buttons:
        if st.button("See what fairness costs", type="primary", icon=":material/balance:", width="stretch"):
            choose_run(None)
            st.switch_page(page("tradeoff"), query_params={"dataset": source.id})
        if st.button("Train on this data", icon=":material/tune:", width="stretch"):
            choose_run(None)
            st.switch_page(page("train"), query_params={"dataset": source.id})
    if is_quick(data.n_rows):
        # A first look is likely to be the next thing; its worker needs seconds to start.
        prepare()
    show_dataset(data, source)
