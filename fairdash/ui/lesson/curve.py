"""Scene 1 on the page: a curve that is dragged, with two dials that the browser works out as it moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from fairdash.figures.stage import d3_script
from fairdash.figures.theme import REFERENCE
from fairdash.simulations.lesson import curve
from fairdash.simulations.lesson.curve import Points
from fairdash.ui.frame import theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.stage import Lab, guessed, to_lab
from fairdash.ui.simulations import points_from_address, points_to_address

KEY = Keys(__file__)

_HERE = Path(__file__).parent
#: Dots that the browser moves with the curve.
_DOTS = 200


def current_points() -> Points:
    """The curve of the address; the hump where it has none, or one that this scene could not show."""
    if Address.POINTS not in st.query_params:
        return curve.HUMP
    points = points_from_address()
    fits = tuple(u for u, _ in points) == curve.PLACES
    return curve.points_of([f for _, f in points]) if fits else curve.HUMP


def show_curve() -> None:
    left, right = st.columns([3, 1])
    points = current_points()
    with right:
        answered = guessed("1")
        said = st.empty()
        way = st.container()
    with left:
        draw = st.components.v2.component(
            "fairdash_curve",
            css=_text("curve.css"),
            js=d3_script() + _text("curve.js"),
            html="<div class='stage'></div>",
        )
        rng = np.random.default_rng(0)
        moved = draw(
            key=KEY("stage"),
            data={
                "heights": [f for _, f in points],
                "noise": curve.NOISE,
                "range": [curve.LOWEST, curve.HIGHEST],
                "dots": np.round([rng.uniform(-10, 10, _DOTS), rng.normal(size=_DOTS)], 3).tolist(),
                "answered": answered,
                "colours": {"rows": theme().chosen, "curve": REFERENCE, "line": theme().standard},
            },
            on_heights_change=lambda: None,
        )
    if moved.heights is not None:
        points = curve.points_of([float(each) for each in moved.heights])
        points_to_address(points)
    if answered:
        said.markdown(curve.sentence(points))
    with way:
        to_lab(*lab_of(points))


def lab_of(points: Points) -> Lab:
    """The way to the patterns' page with this curve."""
    scene = curve.scene_of(points)
    address = ",".join(f"{u:g}:{f:g}" for u, f in points)
    state = {"pattern": scene.pattern, "points": address, "n": "500", "noise": f"{scene.noise:g}"}
    return "patterns", state


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
