"""Scene 5 on the page: what fairness costs, and who pays."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import streamlit as st

from fairdash.figures.lesson import payers_age_figure, payers_front_figure
from fairdash.figures.theme import Theme
from fairdash.simulations.lesson import payers
from fairdash.ui.address import choose
from fairdash.ui.frame import presented, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.stage import Control, drawn, guessed, show_moving, to_lab

KEY = Keys(__file__)

_WEIGHT = Control(
    label="Weight of fairness, λ",
    symbol="λ",
    name=Address.WEIGHT,
    values=MappingProxyType({f"{each:g}": f"{each:g}" for each in (0.0, *payers.LAMS)}),
    default="1",
)


def show_payers() -> None:
    stage, words = st.columns([3, 1])
    with words:
        answered = guessed("5")
        said, way = st.empty(), st.container()
    with stage:
        # The two ask different questions, on different axes.
        objective = choose("Fair means", payers.OBJECTIVES, name=Address.OBJECTIVE, key=KEY("objective"))
        pictures = _pictures(objective, answered=answered, look=theme(), large=presented())
        show_moving("5", pictures, slider=_WEIGHT)
    if answered:
        said.markdown(payers.sentence(objective, payers.lams()[_WEIGHT.at()]))
    with way:
        to_lab("paper", {"part": "household", "objective": objective})


@st.cache_data(show_spinner=False)
def _pictures(objective: str, *, answered: bool, look: Theme, large: bool) -> list[dict[str, Any]]:
    points, standard = payers.points(objective), payers.by_age(objective, 0.0)
    edge, around = payers.floor(objective), payers.ages_of(objective)
    # Before the guess there is the standard model alone.
    shown = [lam if answered else 0.0 for lam in payers.lams()]
    fronts = [
        payers_front_figure(points if answered else points[:1], lam=lam, edge=edge, around=points, theme=look)
        for lam in shown
    ]
    profiles = [
        payers_age_figure(
            standard,
            payers.by_age(objective, lam) if lam else None,
            column="price" if objective == "demographic_parity" else "residual",
            ages=(payers.YOUNGER, payers.OLDER),
            around=around,
            theme=look,
        )
        for lam in shown
    ]
    return [
        drawn(
            profiles,
            alt="Average by age of the standard model and of the chosen one.",
            large=large,
            table=("The chosen model's averages as a table", "chosen", "Age"),
        ),
        drawn(
            fronts,
            alt="Root mean squared error against HGR for each weight, with the noise floor.",
            large=large,
        ),
    ]
