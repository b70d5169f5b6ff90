"""The two parts of the page: estimators on patterns, and three quantities on bivariate normal laws."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.address import choose
from fairdash.ui.frame import presented
from fairdash.ui.glossary import explain, in_lines
from fairdash.ui.keys import Address, Keys
from fairdash.ui.patterns.controls import ask_for_scene, show_examples
from fairdash.ui.patterns.gaussians import show_gaussians
from fairdash.ui.patterns.more import show_more, show_take_away
from fairdash.ui.patterns.picture import all_estimates, follow_slow, show_picture
from fairdash.ui.simulations import exact_of

KEY = Keys(__file__)


def show_part() -> None:
    """The title with the control beside it, and the part; presented, the control comes last.

    Above the title it would push the picture off the screen.
    """
    if presented():
        heading = body = st.container()
        place = st.container()
    else:
        heading, place = st.columns([3, 1], vertical_alignment="center")
        body = st.container()
    parts = {"patterns": "Patterns", "gaussians": "Gaussians"}
    part = choose("Part", parts, name=Address.PART, key=KEY("part"), place=place, hidden_label=True)
    if part == "gaussians":
        heading.title("Which bounds the maximal correlation: χ² or mutual information?")
        with body:
            show_gaussians()
    else:
        # The meanings where they are used first; the lines themselves would take the picture's place.
        heading.title("Which measure sees the link?", help=in_lines())
        with body:
            show_patterns()


def show_patterns() -> None:
    """A scene with what every estimator reads on it, and below the picture what else there is to see."""
    scene = ask_for_scene()
    if scene is None:
        show_examples(None)
        explain()
        return
    estimates, truth = all_estimates(scene), exact_of(scene)
    show_picture(scene, estimates, truth)
    follow_slow(scene)
    show_examples(scene)
    explain()
    show_more(scene, estimates, truth)
    show_take_away(scene, estimates, truth)
