"""The controls of the page on bivariate normal laws, all of them kept in its address."""

from __future__ import annotations

import streamlit as st

from fairdash.studies.supplement import BASES
from fairdash.ui.keys import Address

ROWS = (200, 500, 1000, 2000)


def ask_for_law() -> tuple[float, int, str]:
    """The controls: ρ, rows, and the unit of mutual information."""
    left, middle, right = st.columns([2, 1.2, 1])
    rho = left.slider("Correlation, ρ", 0.0, 0.95, 0.6, 0.05, key=Address.RHO, bind="query-params")
    n = middle.select_slider("Rows, n", ROWS, value=2000, key=Address.ROWS, bind="query-params")
    base = right.segmented_control(
        "Mutual information in",
        list(BASES),
        default="nats",
        required=True,
        key=Address.BASE,
        bind="query-params",
        help="One bit is 0.69 nats: the logarithm's base is 2, or e.",
    )
    return rho, n, str(base)
