"""Scene 2 on the page: the two functions that straighten the cloud."""

from __future__ import annotations

import streamlit as st

from fairdash.figures.lesson import straight_figure
from fairdash.lesson import curve
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.curve import current_points, lab_of
from fairdash.ui.lesson.stage import guessed

KEY = Keys(__file__)

FRAMES = 20


def show_straight() -> None:
    points = current_points()
    left, right = st.columns([2, 1])
    with left:
        shown = st.slider(
            "How far (percent)", 0, 100, 0, 100 // FRAMES, key=Address.BENT, bind="query-params"
        )
        chart(
            straight_figure(_clouds(points), shown=shown * FRAMES // 100, theme=theme()),
            key=KEY("cloud"),
            alt="A cloud of age and price that f and g bend into a line.",
        )
    with right:
        if guessed("2"):
            st.markdown(curve.straight_sentence(points, shown / 100))
        lab_of(points)


@st.cache_data(max_entries=20, show_spinner=False)
def _clouds(points: curve.Points) -> list[tuple[curve.Array, curve.Array]]:
    return [curve.straightened(points, k / FRAMES) for k in range(FRAMES + 1)]
