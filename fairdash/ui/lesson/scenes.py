"""Which scene of the lesson is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from fairdash.simulations.lesson.scenes import SCENES
from fairdash.ui.address import choose
from fairdash.ui.glossary import explain
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.curve import show_curve
from fairdash.ui.lesson.duel import show_duel
from fairdash.ui.lesson.noise import show_noise
from fairdash.ui.lesson.payers import show_payers
from fairdash.ui.lesson.stage import show_notes
from fairdash.ui.lesson.straight import show_straight

KEY = Keys(__file__)

_STAGES: Mapping[str, Callable[[], None]] = MappingProxyType(
    {"1": show_curve, "2": show_straight, "3": show_noise, "4": show_duel, "5": show_payers}
)


def show_lesson() -> None:
    """The scene that the address names, under its question; the control stands below the stage."""
    heading, stage = st.container(), st.container()
    titles = {name: scene.title for name, scene in SCENES.items()}
    name = choose("Scene", titles, name=Address.SCENE, key=KEY("scene"), hidden_label=True)
    with heading:
        st.title(SCENES[name].question)
    with stage:
        _STAGES[name]()
    show_notes(SCENES[name])
    explain()
