"""Scene 3 on the page: an adversary that learns noise by heart."""

from __future__ import annotations

import streamlit as st

from fairdash.figures.lesson import noise_figure
from fairdash.lesson import noise
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.stage import guessed, to_lab

KEY = Keys(__file__)


def show_noise() -> None:
    left, right = st.columns([2, 1])
    with right:
        answered = guessed("3")
        said = st.empty()
        way = st.container()
    with left:
        rows, steps = st.columns(2)
        n = rows.select_slider("Rows", noise.ROWS, value=200, key=Address.N, bind="query-params")
        at = steps.select_slider("Steps", noise.STEPS, value=500, key=Address.TRAINED, bind="query-params")
        readings = noise.readings(n)
        chart(
            noise_figure(readings, steps=at, answered=answered, subtitle=f"{n:,} rows", theme=theme()),
            key=KEY("noise"),
            alt=f"HGR by networks against steps of training on {n} rows: their own, new and shuffled ones.",
        )
    if answered:
        said.markdown(noise.sentence(n, at))
    scene = noise.scene_of(n)
    with way:
        to_lab(
            "patterns",
            {"pattern": scene.pattern, "n": str(n), "noise": f"{scene.noise:g}", "draw": str(scene.seed)},
        )
