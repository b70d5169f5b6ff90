"""Script that Streamlit runs for every page: configuration, navigation, and the page."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from fairdash.jobs.queue import ensure_workers
from fairdash.ui.access import let_in, show_who
from fairdash.ui.cached import forget_what_was_deleted
from fairdash.ui.frame import (
    PRESENTED,
    ask_for_presentation,
    freeze_imports,
    plain_errors,
    presented,
    say_what_was_open,
)
from fairdash.ui.home import show_visit
from fairdash.ui.pages import sections
from fairdash.ui.state import source_title
from fairdash.ui.text import safe

HERE = Path(__file__).parent

# The tab's icon is a file, because Streamlit would load a named icon from another server.
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
forget_what_was_deleted()
chosen = st.navigation(sections())
let_in()
with plain_errors():
    say_what_was_open()
    ensure_workers()
with plain_errors():
    show_visit(chosen)
    chosen.run()
    ask_for_presentation()
with plain_errors(), st.sidebar:
    show_who()
    # Draw the caption after the page, because the page may change the data set in use.
    st.caption(f"Data in use: {safe(source_title()) or 'none'}")
freeze_imports()
