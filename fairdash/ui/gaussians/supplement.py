"""The inequality of the paper's supplement, drawn and checked."""

from __future__ import annotations

import math

import streamlit as st

from fairdash.figures.gaussian_curves import inequality_figure
from fairdash.studies.supplement import BASES, bound_crossing, mi_crossing, printed_threshold
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys

KEY = Keys(__file__)

PRINTED = 0.345  # the supplement's threshold


def show_supplement(base: str) -> None:
    st.subheader("The paper's inequality, checked")
    st.markdown("The supplement says of the bivariate normal, with a threshold $t ≈ 0.345$:")
    st.latex(r"\mathrm{HGR}^2 \le 1 - 2^{-2I} \le \chi^2 \ \text{ if } \chi^2 \ge t,")
    st.latex(r"\mathrm{HGR}^2 \le \chi^2 \le 1 - 2^{-2I} \ \text{ otherwise.}")
    left, right = st.columns([1.2, 1])
    with left:
        chart(
            inequality_figure(
                base=base,
                printed=PRINTED,
                crossing=bound_crossing(base),
                theme=theme(),
            ),
            key=KEY("inequality"),
            alt="HGR squared, the supplement's middle term and chi squared, all against chi squared.",
        )
    with right:
        st.markdown(findings(base))


def findings(base: str) -> str:
    if base == "bits":
        unit = (
            "**In bits** $2^{-2I} = 1 - ρ^2$, so the middle term *is* HGR²: the first inequality is an "
            "equality, and the middle term is below χ² at every ρ but 0. There is no threshold, and the "
            "second case never happens."
        )
    else:
        unit = (
            "**In nats** the middle term is $1 - (1 - ρ^2)^{0.69}$. It lies *below* HGR² at every ρ but 0: "
            "the first inequality fails. It is below χ², too: the second case never happens."
        )
    printed = f"−{abs(printed_threshold()):.3f}"
    bound_bits, bound_nats = map(bound_crossing, BASES)
    mi_bits, mi_nats = (math.sqrt(mi_crossing(each)) for each in BASES)
    return (
        f"{unit}\n\n"
        "**The printed formula** for $t$ comes from putting the bound $\\log(1 + χ^2)$ in the place of $I$ "
        f"(dashed line). That line crosses χ² at {bound_nats:.3f} with the natural logarithm and "
        f"at {bound_bits:.3f} with base 2, not at 0.345. And the bivariate normal has exactly half "
        "of that bound, $I = \\tfrac12 \\log(1 + χ^2)$: where the bound crosses says nothing of $I$.\n\n"
        f"**Evaluated**, it gives {printed}, not +0.345; no χ² is negative. That is what comes out of the "
        "crossing in nats if $\\ln(1 + t) / \\ln(1 - t)$ is taken for $\\ln\\frac{1 + t}{1 - t}$.\n\n"
        "**What stays true**, and is all that fair training needs: HGR² ≤ χ², in any base. Mutual "
        f"information crosses HGR² at ρ = {mi_nats:.3f} in nats and at "
        f"{mi_bits:.3f} in bits: which of the two is larger is a matter of units."
    )
