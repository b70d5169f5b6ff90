"""Association patterns: which measure sees the link?"""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.studies import SCENES, Scene, Truth
from fairdash.ui.lab import exact_of
from fairdash.ui.patterns.axis import show_fig2, show_noise_axis, show_power
from fairdash.ui.patterns.controls import ask_for_scene
from fairdash.ui.patterns.details import show_curves, show_numbers, show_take_away
from fairdash.ui.patterns.examples import show_failures
from fairdash.ui.patterns.picture import all_readings, answer, show_picture, slow_study
from fairdash.ui.studies import follow

AXIS, FIG2, CURVES, POWER, FAILS, NUMBERS = (
    "Whole noise axis",
    "The paper's four patterns",
    "Learned f and g",
    "How often detected",
    "When each fails",
    "All numbers",
)


def show(scene: Scene, answer_place: DeltaGenerator) -> None:
    readings, complete = all_readings(scene)
    truth = exact_of(scene)
    with answer_place:
        st.markdown(answer(readings, truth))
        example = next((each for each in SCENES if each.scene == scene), None)
        if example is not None:
            st.info(example.look_at, icon=":material/visibility:")
    show_picture(scene, readings, truth)
    if not complete:
        st.caption("The neural estimators follow: they are trained beside the page.")
        follow(slow_study(scene), None, slot="scene")
    show_more(scene, readings, truth)
    show_take_away(scene, readings, truth)


def show_more(scene: Scene, readings: pd.DataFrame, truth: Truth) -> None:
    shown = st.segmented_control(
        "More",
        [AXIS, FIG2, CURVES, POWER, FAILS, NUMBERS],
        default=AXIS,
        label_visibility="collapsed",
        key="more",
    )
    if shown == AXIS:
        show_noise_axis(scene)
    elif shown == FIG2:
        show_fig2(scene)
    elif shown == CURVES:
        show_curves(scene, truth)
    elif shown == POWER:
        show_power(scene)
    elif shown == FAILS:
        show_failures()
    elif shown == NUMBERS:
        show_numbers(readings, truth)


st.title("Which measure sees the link?")
place = st.container()
chosen = ask_for_scene()
if chosen is not None:
    show(chosen, place)
