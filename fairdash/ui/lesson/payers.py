"""Scene 5 on the page: what fairness costs, and whom."""

from __future__ import annotations

import streamlit as st

from fairdash.figures.lesson import payers_age_figure, payers_front_figure
from fairdash.lesson import payers
from fairdash.ui.address import choose
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.stage import guessed, to_lab

KEY = Keys(__file__)


def show_payers() -> None:
    stage, words = st.columns([3, 1])
    with words:
        answered = guessed("5")
        said = st.empty()
        way = st.container()
    with stage:
        weight, kind = st.columns([1.6, 1])
        lam = weight.select_slider(
            "Weight of fairness, λ",
            payers.lams(),
            value=1.0,
            format_func="{:g}".format,
            key=Address.WEIGHT,
            bind="query-params",
        )
        objective = choose(
            "Fair means", payers.OBJECTIVES, name=Address.OBJECTIVE, key=KEY("objective"), place=kind
        )
        # Before the guess there is the standard model alone.
        points, shown = payers.points(objective), lam if answered else 0.0
        left, right = st.columns(2)
        with left:
            chart(
                payers_front_figure(points if answered else points[:1], lam=shown, theme=theme()),
                key=KEY("front"),
                alt="Typical error against HGR for each weight, with the noise floor.",
            )
        with right:
            chart(
                payers_age_figure(
                    payers.by_age(objective, 0.0),
                    payers.by_age(objective, shown) if shown else None,
                    column="price" if objective == "demographic_parity" else "residual",
                    ages=(payers.YOUNGER, payers.OLDER),
                    theme=theme(),
                ),
                key=KEY("by-age"),
                alt="Average by age of the standard model and of the chosen one.",
            )
    if answered:
        said.markdown(payers.sentence(objective, lam))
    with way:
        to_lab("paper", {"part": "household", "objective": objective})
