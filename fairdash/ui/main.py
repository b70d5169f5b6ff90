"""The script that Streamlit runs for every page: configuration, navigation, and the page inside."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.frame import freeze_imports, plain_errors
from fairdash.ui.pages import sections
from fairdash.ui.state import source_title
from fairdash.ui.text import safe

st.set_page_config(page_title="fairdash", page_icon=":material/balance:", layout="wide")
chosen = st.navigation(sections())
st.sidebar.caption(f"Data in use: {safe(source_title()) or 'none'}")
with plain_errors():
    chosen.run()
freeze_imports()
