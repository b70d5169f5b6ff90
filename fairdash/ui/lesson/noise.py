"""Scene 3 on the page: an adversary that learns noise by heart."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import streamlit as st

from fairdash.figures.lesson import noise_figure
from fairdash.figures.theme import Theme
from fairdash.simulations.lesson import noise
from fairdash.ui.frame import presented, theme
from fairdash.ui.keys import Address
from fairdash.ui.lesson.stage import Control, drawn, guessed, show_moving, to_lab

_STEPS = Control(
    label="Steps of training",
    symbol="steps",
    name=Address.TRAINED,
    values=MappingProxyType({str(each): f"{each:,}" for each in noise.STEPS}),
    default="500",
)
_ROWS = Control(
    label="Rows",
    symbol="n",
    name=Address.N,
    values=MappingProxyType({str(each): f"{each:,}" for each in noise.ROWS}),
    default="200",
)


def show_noise() -> None:
    left, right = st.columns([3, 1])
    n = noise.ROWS[_ROWS.at()]
    with right:
        answered = guessed("3")
        if answered:
            st.markdown(noise.sentence(n, noise.STEPS[_STEPS.at()]))
        scene = noise.scene_of(n)
        to_lab(
            "patterns",
            {"pattern": scene.pattern, "n": str(n), "noise": f"{scene.noise:g}", "draw": str(scene.seed)},
        )
    with left:
        pictures = _pictures(answered=answered, look=theme(), large=presented())
        show_moving("3", pictures, slider=_STEPS, variants=_ROWS)


@st.cache_data(show_spinner=False)
def _pictures(*, answered: bool, look: Theme, large: bool) -> list[dict[str, Any]]:
    figures = [
        noise_figure(noise.readings(n), steps=steps, answered=answered, theme=look)
        for n in noise.ROWS
        for steps in noise.STEPS
    ]
    alt = "HGR by networks against steps of training: on their own rows, new ones and shuffled ones."
    table = ("What it reads on its own rows, as a table", "rows it has learned", "Steps")
    return [drawn(figures, alt=alt, large=large, table=table)]
