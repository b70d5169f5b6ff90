"""Scenes on which an estimator fails, one click away, and when each one does."""

from __future__ import annotations

import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.simulations import short_name
from fairdash.studies import SCENES, Scene
from fairdash.ui.keys import Keys
from fairdash.ui.patterns.controls import go_to
from fairdash.ui.text import safe

KEY = Keys(__file__)


def show_hint(scene: Scene) -> None:
    """What to look at, where the scene is one of the examples."""
    for each in SCENES:
        if each.scene == scene:
            st.info(each.look_at, icon=":material/visibility:")


def show_examples(scene: Scene | None) -> None:
    """One click to a scene on which an estimator fails."""
    st.markdown("**See an estimator fail.** Then move the controls: when does it recover?")
    with st.container(horizontal=True, gap="small"):
        for each in SCENES:
            name = short_name(each.measure) if each.measure in REGISTRY else "HGR_NN"
            st.button(
                f"{safe(name)}: {each.button}",
                key=KEY("example", each.id),
                on_click=go_to,
                args=(each.scene,),
                type="primary" if each.scene == scene else "secondary",
            )


def show_failures() -> None:
    """When each measure misleads, with the scenes that show it: its own first."""
    for id, measure in REGISTRY.items():
        left, right = st.columns([3, 2], vertical_alignment="center")
        words = safe(measure.fails_when)
        left.markdown(f"**{safe(measure.title)}** misleads when: {words[:1].lower()}{words[1:]}")
        shown_by = [each for each in SCENES if each.measure == id or id in each.also]
        with right.container(horizontal=True):
            for each in sorted(shown_by, key=lambda each: each.measure != id):
                st.button(
                    each.button[0].upper() + each.button[1:],
                    key=KEY("fails", id, each.id),
                    on_click=go_to,
                    args=(each.scene,),
                    icon=":material/visibility:",
                )
