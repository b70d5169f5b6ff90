"""Fig. 1: the estimated χ² beside HGR² and χ², and what the paper says of it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from fairdash.figures.gaussian_curves import along_rho_figure
from fairdash.reproduction import read_result
from fairdash.reproduction.fig1 import in_words, sides_of_bound
from fairdash.studies.gaussians import exact_curves, means_along_rho
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.paper.figures import about

KEY = Keys(__file__)


def show_fig1() -> None:
    result = read_result("fig1")
    values, exact = result.tables["values"], result.tables["exact"]
    below = in_words(sides_of_bound(values, exact, bound="chi2", above=False))
    above = in_words(sides_of_bound(values, exact, bound="hgr2", above=True))
    st.markdown(
        f"- *“The estimated χ² divergence is below the real χ²”*: {below}.\n"
        f"- *The estimate “always remains above the HGR²”*: {above}."
    )
    chart(
        along_rho_figure(
            exact_curves(np.linspace(0, 0.99, 199)),
            means_along_rho(values, base="nats"),
            ids=["hgr_nn", "chi2_nn", "chi2_kde", "mi_mine"],
            base="nats",
            rho=0.0,
            subtitle="lines: true values; points: estimates",
            theme=theme(),
        ),
        key=KEY("fig1"),
        alt="HGR squared, chi squared and mutual information against ρ, true and estimated.",
    )
    st.caption(
        f"Points are means of {result.about.options['repeats']} data sets of "
        f"{result.about.options['rows']:,} rows, each estimate on rows that its networks have not seen."
    )
    about(result)
