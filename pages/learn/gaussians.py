"""Gaussians: how HGR², χ² and mutual information compare where all three are known."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.gaussians.controls import ask_for_law
from fairdash.ui.gaussians.curves import answer, show_curves, show_estimates, show_take_away
from fairdash.ui.gaussians.supplement import show_supplement
from fairdash.ui.glossary import explain

st.title("Which bounds the maximal correlation: χ² or mutual information?")
place = st.container()
rho, n, base = ask_for_law()
with place:
    st.markdown(answer(rho, base))
    explain()
show_curves(rho, n, base)
show_estimates(rho, n, base)
show_supplement(base)
show_take_away(n)
