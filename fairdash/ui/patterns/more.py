"""What else there is to see of a scene; drawn only when it is asked for."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.studies import Scene, Truth
from fairdash.ui.keys import Keys
from fairdash.ui.patterns.axis import show_fig2, show_noise_axis, show_power
from fairdash.ui.patterns.details import show_curves, show_numbers
from fairdash.ui.patterns.examples import show_failures

KEY = Keys(__file__)


def show_more(scene: Scene, estimates: pd.DataFrame, truth: Truth) -> None:
    """One control for the rest; what is not chosen costs nothing."""
    parts = {
        "Whole noise axis": lambda: show_noise_axis(scene),
        "The paper's four patterns": lambda: show_fig2(scene),
        "Learned f and g": lambda: show_curves(scene, truth),
        "How often detected": lambda: show_power(scene),
        "When each fails": show_failures,
        "All numbers": lambda: show_numbers(estimates, truth),
    }
    shown = st.segmented_control(
        "More", list(parts), default=next(iter(parts)), label_visibility="collapsed", key=KEY("more")
    )
    if shown is not None:
        parts[shown]()
