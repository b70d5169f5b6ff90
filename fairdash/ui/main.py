"""Script that Streamlit runs for every page. It sets options, shows the navigation, and runs the page."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from fairdash.jobs.queue import ensure_workers
from fairdash.ui.access import require_sign_in, show_user
from fairdash.ui.cached import drop_deleted_entries
from fairdash.ui.frame import (
    PRESENTED,
    ask_for_presentation,
    freeze_imports,
    make_folders_private,
    plain_errors,
    presented,
)
from fairdash.ui.home import show_tour_step
from fairdash.ui.pages import sections
from fairdash.ui.state import source_title
from fairdash.ui.text import safe

HERE = Path(__file__).parent

# The browser tab's icon is a file, because Streamlit would load a named icon from another server.
st.set_page_config(page_title="fairdash", page_icon=HERE / "icon.svg", layout="wide")
st.logo(HERE / "wordmark.svg", icon_image=HERE / "icon.svg")
# Pages begin directly below the header, so that the answer is visible without scrolling.
st.html("<style>[data-testid=stMainBlockContainer] { padding-top: 4rem }</style>")
if st.context.theme.type == "dark":
    # Streamlit's buttons have white text on the theme's colour, which is light here, so the text is dark.
    st.html(
        "<style>[data-testid=stBaseButton-primary], [data-testid=stMultiSelect] span[title] "
        "{ color: #0b0f14 }</style>"
    )
if presented():
    st.html(PRESENTED)
drop_deleted_entries()
chosen = st.navigation(sections())
require_sign_in()
with plain_errors():
    make_folders_private()
    ensure_workers()
with plain_errors():
    show_tour_step(chosen)
    chosen.run()
    ask_for_presentation()
with plain_errors(), st.sidebar:
    show_user()
    # The caption is drawn after the page, because the page may change the data set in use.
    st.caption(f"Data in use: {safe(source_title()) or 'none'}")
freeze_imports()
