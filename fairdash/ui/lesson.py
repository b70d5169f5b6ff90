"""Lesson page: one scene per screen, navigation, a recap, and texts in separate windows."""

from __future__ import annotations

import streamlit as st

from fairdash.lab import lesson
from fairdash.lab.lesson import SCENES
from fairdash.ui.frame import presented
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson_scenes import HALL_TEXT, STAGES, guess_in_words
from fairdash.ui.state import choose
from fairdash.ui.text import explain

KEY = Keys(__file__)

#: Title of the step after the scenes.
RECAP = "recap"
#: Glossary terms of each scene.
_TERMS = {"1": ("hgr",), "2": ("hgr", "f_and_g"), "3": ("hgr",), "4": ("hgr", "f_and_g"), "5": ("hgr", "lam")}
#: Style for a lecture hall: text larger than in presentation mode elsewhere, and titles twice as large.
_HALL = f"""<style>html:root {{ font-size: {HALL_TEXT}px }}
[data-testid=stMain] h1 {{ font-size: 2rem !important }}</style>"""
#: Print style without the app's frame.
_PRINT = """<style>@media print {
[data-testid=stSidebar], [data-testid=stHeader], [data-testid=stCheckbox] { display: none }
}</style>"""


def show_lesson() -> None:
    """The scene of the address under its question, the recap, or a text in a window of its own."""
    if (window := st.query_params.get(Address.WINDOW)) in lesson.TEXTS:
        st.html(_PRINT)
        st.markdown(lesson.text(window))
        return
    heading, stage = st.container(), st.container()
    name = _ask_for_scene()
    with heading:
        st.title(SCENES[name].question if name in SCENES else "What have we learned?")
    with stage:
        if name in SCENES:
            STAGES[name]()
        else:
            _show_recap()
    if presented():
        st.html(_HALL)
        # In presentation mode the lecturer explains the terms, and the scene fills the screen.
        return
    with st.container(horizontal=True):
        for window, title in lesson.TEXTS.items():
            st.link_button(title, f"lesson?{Address.WINDOW}={window}", icon=":material/open_in_new:")
    explain(*_TERMS.get(name, ()))


def _ask_for_scene() -> str:
    """All scenes in a row, between the ways back and on."""
    titles = {name: scene.title for name, scene in SCENES.items()} | {RECAP: "Recap"}
    key, names = KEY("scene"), list(titles)
    with st.container(horizontal=True, vertical_alignment="center"):
        back, row, on = (st.container(width="content") for _ in range(3))
    with row:
        name = choose("Scene", titles, name=Address.SCENE, key=key, hidden_label=True)

    def go(to: str) -> None:
        st.session_state[key] = st.query_params[Address.SCENE] = to

    at = names.index(name)
    if at > 0:
        back.button("Back", key=KEY("back"), on_click=go, args=(names[at - 1],))
    if at + 1 < len(names):
        on.button("Next scene", key=KEY("next"), type="primary", on_click=go, args=(names[at + 1],))
    return name


def _show_recap() -> None:
    """Recap of each scene, beside the reader's own guess."""
    st.markdown("Ada is 30 and Ben is 40. Their prices followed age without any correlation.")
    for name, scene in SCENES.items():
        st.markdown(f"**{scene.title}**  \n{scene.learned} {guess_in_words(name)}")
