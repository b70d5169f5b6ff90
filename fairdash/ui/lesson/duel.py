"""Scene 4 on the page: the duel of a predictor with its adversary."""

from __future__ import annotations

import streamlit as st

from fairdash.figures.lesson import duel_curve_figure, duel_path_figure
from fairdash.lesson import duel
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.stage import guessed, to_lab

KEY = Keys(__file__)


def show_duel() -> None:
    stage, words = st.columns([3, 1])
    with words:
        answered = guessed("4")
        said = st.empty()
        to_lab("paper", {"part": "fig3"})
    with stage:
        steps, switch = st.columns([2, 1], vertical_alignment="bottom")
        at = steps.select_slider("Step", duel.STEPS, value=0, key=Address.STEP, bind="query-params")
        frozen = switch.toggle(
            f"Freeze the adversary at step {duel.FROZEN_AT}", key=Address.FROZEN, bind="query-params"
        )
        left, right = st.columns(2)
        with left:
            curve = duel.by_age(frozen, at)
            chart(
                duel_curve_figure(curve, average=duel.average_price(), theme=theme()),
                key=KEY("curve"),
                alt=f"Average price by age after {at} steps, and the adversary's g of age.",
            )
        with right:
            shown = duel.states(frozen)
            chart(
                duel_path_figure(
                    shown if answered else shown[shown["step"] <= at],
                    step=at,
                    frozen_at=duel.FROZEN_AT if frozen else None,
                    theme=theme(),
                ),
                key=KEY("path"),
                alt="What the adversary reads, what a fresh estimator reads, and the error, against steps.",
            )
    if answered:
        said.markdown(duel.sentence(frozen, at))
