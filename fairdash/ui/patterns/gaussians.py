"""Panel with exact and estimated HGR², χ² and mutual information of a bivariate normal against ρ."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence.exact import gaussian
from fairdash.lab import Scene
from fairdash.lab.estimates import continuous_measures, target_of, values_of
from fairdash.lab.figures.estimates import along_rho_figure, estimate_name, inequality_figure
from fairdash.lab.figures.simulations import scatter_figure, short_name
from fairdash.lab.studies import Study, gaussian_pairs, gaussian_study, means_along_rho
from fairdash.lab.truth import BASES, bound_crossing, exact_curves, mi_crossing, printed_threshold, unit_of
from fairdash.ui.frame import chart, theme
from fairdash.ui.jobs import follow, tables_so_far
from fairdash.ui.keys import Address, Keys
from fairdash.ui.text import explain, fixed
from fairdash.ui.widgets import download

KEY = Keys(__file__)

SEED = 0
ROWS = (200, 500, 1000, 2000)
#: Estimators that the chart shows initially. The user can select others.
SHOWN = ("hgr_spline", "hgr_nn", "chi2_kde", "mi_ksg")
PRINTED = 0.345  # Threshold t in the inequality of the paper's supplement.


def show_gaussians() -> None:
    """Show the answer, the controls and the figures for bivariate normal distributions."""
    container = st.container()
    rho, n, base = ask_for_law()
    with container:
        st.markdown(answer_in_words(rho, base))
        explain()
    show_curves(rho, n, base)
    show_estimates(rho, n, base)
    show_supplement(base)
    show_take_away(n)


def ask_for_law() -> tuple[float, int, str]:
    """Show controls for ρ, the number of rows, and the unit of mutual information."""
    left, centre_column, right = st.columns([2, 1.2, 1])
    rho = left.slider("Correlation, ρ", 0.0, 0.95, 0.6, 0.05, key=Address.RHO, bind="query-params")
    n = centre_column.select_slider("Rows, n", ROWS, value=2000, key=Address.ROWS, bind="query-params")
    base = right.segmented_control(
        "Mutual information in",
        list(BASES),
        default="nats",
        required=True,
        key=Address.BASE,
        bind="query-params",
        help="Bits use the logarithm to base 2, nats to base e. One bit is 0.69 nats.",
    )
    return rho, n, str(base)


def answer_in_words(rho: float, base: str) -> str:
    """State the exact values of the three measures at ρ, and their order."""
    truth = gaussian(rho)
    mi = truth.mi / unit_of(base)
    square = truth.hgr**2
    side = "below" if mi < square else "above"
    if rho == 0:
        first = "**At ρ = 0 all three measures are 0: the variables are independent.**"
    else:
        first = (
            f"**At ρ = {rho:g}: HGR² = {fixed(square)}, χ² = {fixed(truth.chi2)}, mutual information = "
            f"{fixed(mi)} {base}.** At this ρ, mutual information is {side} HGR²."
        )
    return (
        f"{first} χ² is never below HGR², so a lower χ² means a lower bound on HGR². Mutual "
        f"information gives no bound on HGR². In {base} mutual information is below HGR² for ρ up to "
        f"{math.sqrt(mi_crossing(base)):.3f}, and above HGR² for larger ρ."
    )


def all_values(n: int) -> tuple[pd.DataFrame, bool]:
    """Return every estimator's values at several ρ, and whether the slow estimators are finished."""
    quick_values = gaussian_values(n, SEED)
    slow, is_finished = tables_so_far(slow_study(n))
    if "values" not in slow:
        return quick_values, is_finished
    return pd.concat([quick_values, slow["values"]], ignore_index=True), is_finished


def slow_study(n: int) -> Study:
    return Study("gaussians", Scene(n=n, seed=SEED))


def show_curves(rho: float, n: int, base: str) -> None:
    values, complete = all_values(n)
    ids = [id for id in continuous_measures() if target_of(id)]
    chosen = st.pills(
        "Estimators",
        ids,
        default=[id for id in ids if id in SHOWN],
        selection_mode="multi",
        format_func=estimate_name,
        key=KEY("gaussian-estimators"),
        label_visibility="collapsed",
    )
    left, right = st.columns([1.6, 1])
    with left:
        chart(
            along_rho_figure(
                exact_curves(np.linspace(0, 0.99, 199)),
                means_along_rho(values, base=base),
                ids=list(chosen),
                base=base,
                rho=rho,
                subtitle=f"lines: true; points: estimated, 3 data sets of {n:,} rows",
                theme=theme(),
            ),
            key=KEY("along-rho"),
            alt="HGR squared, chi squared and mutual information against ρ, true and estimated.",
        )
    with right:
        show_rows(rho, n)
    if not complete:
        st.caption("The neural estimators are still training. Their values will appear here.")
        follow(slow_study(n), None, slot="gaussians")


def show_rows(rho: float, n: int) -> None:
    u, v = gaussian_pairs([rho], n, repeats=1, seed=SEED)
    line = np.array([-3.0, 3.0])
    chart(
        scatter_figure(
            u[0],
            v[0],
            (line, rho * line),
            title=f"Rows with ρ = {rho:g}",
            subtitle=f"{n:,} rows; line: mean of V given U",
            curve_name="ρ·U",
            theme=theme(),
            height=480,
        ),
        key=KEY("gaussian-rows"),
        alt=f"Scatter of {n} rows of a bivariate normal with correlation {rho:g}.",
    )


def show_estimates(rho: float, n: int, base: str) -> None:
    """Show the value of each quick estimator at ρ, and the true value."""
    truth = gaussian(rho)
    exact = {"hgr": truth.hgr, "chi2": truth.chi2, "mi": truth.mi / unit_of(base)}
    rows = []
    for id, value in gaussian_estimates(rho, n, SEED).items():
        target = target_of(id) or ""
        estimate = value / unit_of(base) if target == "mi" else value
        rows.append(
            {
                # Estimate, true value and difference are in the first columns, because a phone shows no
                # others.
                "Estimator": short_name(id),
                "Reads": estimate,
                "True": exact[target],
                "Difference": estimate - exact[target],
                "Quantity": {"hgr": "HGR", "chi2": "χ²", "mi": f"mutual information ({base})"}[target],
            }
        )
    table = pd.DataFrame(rows)
    digits = {
        name: st.column_config.NumberColumn(name, format="%.3f") for name in ("True", "Reads", "Difference")
    }
    rounded = table.assign(**{name: table[name].map(lambda value: float(fixed(value))) for name in digits})
    st.dataframe(
        rounded, hide_index=True, column_config=digits, alt="The value of each estimator and the true value."
    )
    st.caption(
        f"The estimates use the {n:,} rows of the scatter plot. Cross-fitted values can be below 0 by chance."
    )
    download(table, label="This table (CSV)", name="gaussian-readings", key=KEY("csv-gaussian"))


def show_take_away(n: int) -> None:
    st.subheader("Download")
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(all_values(n)[0], label="Estimates (CSV)", name="gaussians", key=KEY("csv-estimates"))
    with right:
        exact = exact_curves(np.linspace(0, 0.99, 100))
        download(exact, label="True values (CSV)", name="gaussians-true", key=KEY("csv-true"))


def show_supplement(base: str) -> None:
    st.subheader("Check the paper's inequality")
    st.markdown("For the bivariate normal, the supplement states, with a threshold $t ≈ 0.345$:")
    st.latex(r"\mathrm{HGR}^2 \le 1 - 2^{-2I} \le \chi^2 \ \text{ if } \chi^2 \ge t,")
    st.latex(r"\mathrm{HGR}^2 \le \chi^2 \le 1 - 2^{-2I} \ \text{ otherwise.}")
    left, right = st.columns([1.2, 1])
    with left:
        chart(
            inequality_figure(base=base, printed=PRINTED, crossing=bound_crossing(base), theme=theme()),
            key=KEY("inequality"),
            alt="HGR squared, the supplement's middle term and chi squared, all against chi squared.",
        )
    with right:
        st.markdown(findings(base))


def findings(base: str) -> str:
    if base == "bits":
        unit = (
            "**In bits** $2^{-2I} = 1 - ρ^2$, so the middle term *is* HGR², and it is below χ² at every ρ "
            "except 0. There is no threshold, and the second case never occurs."
        )
    else:
        unit = (
            "**In nats** the middle term is $1 - (1 - ρ^2)^{0.69}$. The middle term is below HGR² at every ρ "
            "except 0, so the first inequality fails. The middle term is also below χ², so the second case "
            "never occurs."
        )
    printed = f"−{abs(printed_threshold()):.3f}"
    bound_bits, bound_nats = map(bound_crossing, BASES)
    mi_bits, mi_nats = (math.sqrt(mi_crossing(base)) for base in BASES)
    return (
        f"{unit}\n\n"
        "**The printed formula** for $t$ results from replacing $I$ by its bound $\\log(1 + χ^2)$ "
        f"(dashed line). The dashed line crosses χ² at {bound_nats:.3f} with the natural logarithm and "
        f"at {bound_bits:.3f} with base 2, not at 0.345. For the bivariate normal, $I = \\tfrac12 \\log(1 "
        "+ χ^2)$ is half of the bound $\\log(1 + χ^2)$, so the crossing says nothing about $I$.\n\n"
        f"**The value of the printed formula** is {printed}, not +0.345, although χ² can't be negative. The "
        "crossing in nats equals {printed} if $\\ln(1 + t) / \\ln(1 - t)$ is mistaken for "
        "$\\ln\\frac{1 + t}{1 - t}$.\n\n"
        "**HGR² ≤ χ² holds** in any base, and fair training with χ² needs only this inequality. Mutual "
        "information crosses "
        f"HGR² at ρ = {mi_nats:.3f} in nats and at {mi_bits:.3f} in bits, so their order depends on the unit."
    )


@st.cache_data(max_entries=50, show_spinner=False)
def gaussian_values(n: int, seed: int) -> pd.DataFrame:
    """Return the quick estimators' values at several ρ, from :func:`fairdash.lab.gaussian_study`."""
    ids = [id for id in continuous_measures(quick=True) if target_of(id)]
    *_, last = gaussian_study(n=n, seed=seed, ids=ids, repeats=3)
    return last.tables["values"]


@st.cache_data(max_entries=200, show_spinner=False)
def gaussian_estimates(rho: float, n: int, seed: int) -> dict[str, float]:
    """Return values of the quick estimators of HGR, χ² and mutual information on one data set."""
    u, v = gaussian_pairs([rho], n, repeats=1, seed=seed)
    return {id: float(values_of(id, u, v)[0]) for id in continuous_measures(quick=True) if target_of(id)}
