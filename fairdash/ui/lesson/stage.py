"""What the scenes share: the question, the guess before the answer, the notes, the way into the lab."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from fairdash.lesson.scenes import SCENES, LessonScene
from fairdash.ui.keys import Keys
from fairdash.ui.pages import page

KEY = Keys(__file__)


def guessed(name: str) -> bool:
    """Ask for a guess, until there is one; whether there is."""
    scene = SCENES[name]
    key = KEY("guess", name)
    # A widget of another scene is forgotten: the guess is kept beside it.
    kept = st.session_state.setdefault(KEY("guesses"), {})
    if key not in st.session_state and name in kept:
        st.session_state[key] = kept[name]
    guess = st.radio("What do you think?", scene.guesses, index=None, key=key)
    if guess is None:
        st.caption("Guess first: the answer comes then.")
        return False
    kept[name] = guess
    verdict = ":green-badge[right]" if guess == scene.right else f"Not quite: *{scene.right}*."
    st.markdown(f"Your guess: *{guess}*. {verdict}" if guess != scene.right else f"{verdict} *{guess}*")
    return True


def show_notes(scene: LessonScene) -> None:
    """What a lecturer may say, folded."""
    with st.expander("Notes for the lecturer"):
        st.markdown("\n".join(f"- {note}" for note in scene.notes))


def to_lab(name: str, address: Mapping[str, str]) -> None:
    """The way to the page on which everything can be changed, with this scene's state."""
    st.page_link(
        page(name),
        label="Open in the lab",
        icon=":material/science:",
        query_params=dict(address),
    )
