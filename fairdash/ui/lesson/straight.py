"""Scene 2 on the page: the two functions that straighten the cloud."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import streamlit as st

from fairdash.figures.lesson import straight_figure
from fairdash.figures.theme import Theme
from fairdash.simulations.lesson import curve
from fairdash.ui.frame import presented, theme
from fairdash.ui.keys import Address
from fairdash.ui.lesson.curve import current_points, lab_of
from fairdash.ui.lesson.stage import Control, drawn, guessed, show_moving

FRAMES = 20
_SLIDER = Control(
    label="How far",
    symbol="bent",
    name=Address.BENT,
    values=MappingProxyType({str(100 * k // FRAMES): f"{100 * k // FRAMES} %" for k in range(FRAMES + 1)}),
    default="0",
)


def show_straight() -> None:
    points = current_points()
    left, right = st.columns([3, 1])
    with left:
        show_moving("2", _pictures(points, look=theme(), large=presented()), slider=_SLIDER)
    with right:
        if guessed("2"):
            st.markdown(curve.straight_sentence(points, _SLIDER.at() / FRAMES))
        lab_of(points)


@st.cache_data(max_entries=20, show_spinner=False)
def _pictures(points: curve.Points, *, look: Theme, large: bool) -> list[dict[str, Any]]:
    clouds = (curve.straightened(points, k / FRAMES) for k in range(FRAMES + 1))
    figures = [straight_figure(x, y, theme=look) for x, y in clouds]
    return [drawn(figures, alt="A cloud of age and price that f and g bend into a line.", large=large)]
