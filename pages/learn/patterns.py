"""Association patterns: which measure sees the link?"""

from __future__ import annotations

import streamlit as st

from fairdash.ui.glossary import explain, in_lines
from fairdash.ui.patterns.controls import ask_for_scene
from fairdash.ui.patterns.details import show_take_away
from fairdash.ui.patterns.examples import show_examples
from fairdash.ui.patterns.more import show_more
from fairdash.ui.patterns.picture import all_estimates, follow_slow, show_picture
from fairdash.ui.simulations import exact_of

# Where they are used first; the lines themselves would push the picture off the first screen.
st.title("Which measure sees the link?", help=in_lines())
scene = ask_for_scene()
if scene is not None:
    estimates, truth = all_estimates(scene), exact_of(scene)
    show_picture(scene, estimates, truth)
    follow_slow(scene)
# Below the picture, which should stand whole on the first screen.
show_examples(scene)
explain()
if scene is not None:
    show_more(scene, estimates, truth)
    show_take_away(scene, estimates, truth)
