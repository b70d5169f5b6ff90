"""Scenes on which an estimator fails, one click away, and when each one does."""

from __future__ import annotations

import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.lab import short_name
from fairdash.studies import SCENES, Scene
from fairdash.ui.patterns.controls import go_to
from fairdash.ui.text import safe


def show_examples(scene: Scene) -> None:
    """One click to a scene on which an estimator fails."""
    with st.container(border=True):
        st.markdown("##### See an estimator fail")
        with st.container(horizontal=True):
            for each in SCENES:
                name = short_name(each.measure) if each.measure in REGISTRY else "HGR_NN"
                st.button(
                    f"{safe(name)}: {each.button}",
                    key=f"example-{each.measure}",
                    on_click=go_to,
                    args=(each.scene,),
                    type="primary" if each.scene == scene else "secondary",
                )
        st.caption("Each button sets the controls above. Then move them: when does the estimator recover?")


def show_failures() -> None:
    examples = {id: each for each in reversed(SCENES) for id in (*each.also, each.measure)}
    for id, measure in REGISTRY.items():
        left, right = st.columns([4, 1], vertical_alignment="center")
        words = safe(measure.fails_when)
        left.markdown(f"**{safe(measure.title)}** misleads when: {words[:1].lower()}{words[1:]}")
        if id in examples:
            right.button(
                "Show me",
                key=f"fails-{id}",
                on_click=go_to,
                args=(examples[id].scene,),
                icon=":material/visibility:",
            )
