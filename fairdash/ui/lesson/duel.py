"""Scene 4 on the page: the duel of a predictor with its adversary."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import streamlit as st

from fairdash.figures.lesson import duel_curve_figure, duel_path_figure
from fairdash.figures.theme import Theme
from fairdash.simulations.lesson import duel
from fairdash.ui.frame import presented, theme
from fairdash.ui.keys import Address
from fairdash.ui.lesson.stage import Control, drawn, guessed, show_moving, to_lab

_STEP = Control(
    label="Steps of the game",
    symbol="step",
    name=Address.STEP,
    values=MappingProxyType({str(each): str(each) for each in duel.STEPS}),
    default="0",
)
_GAME = Control(
    label="Adversary",
    symbol="",
    name=Address.FROZEN,
    values=MappingProxyType({"false": "keeps learning", "true": f"frozen at step {duel.FROZEN_AT}"}),
    default="false",
)


def show_duel() -> None:
    stage, words = st.columns([3, 1])
    with words:
        answered = guessed("4")
        if answered:
            st.markdown(duel.sentence(bool(_GAME.at()), duel.STEPS[_STEP.at()]))
        to_lab("paper", {"part": "fig3"})
    with stage:
        pictures = _pictures(answered=answered, look=theme(), large=presented())
        show_moving("4", pictures, slider=_STEP, variants=_GAME)


@st.cache_data(show_spinner=False)
def _pictures(*, answered: bool, look: Theme, large: bool) -> list[dict[str, Any]]:
    average = duel.average_price()
    curves, paths = [], []
    for frozen in (False, True):
        states = duel.states(frozen)
        for step in duel.STEPS:
            curves.append(duel_curve_figure(duel.by_age(frozen, step), average=average, theme=look))
            paths.append(duel_path_figure(states, step=step, frozen=frozen, answered=answered, theme=look))
    told = "What the adversary reads, what a fresh estimator reads, and the error, against steps."
    return [
        drawn(
            curves,
            alt="Average price by age as the game goes on, and the adversary's g of age.",
            large=large,
            table=("Average price as a table", "price", "Age"),
        ),
        drawn(paths, alt=told, large=large),
    ]
