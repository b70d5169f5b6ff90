"""Gaussians: how HGR², χ² and mutual information compare where all three are known."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.dependence.exact import gaussian
from fairdash.figures.lab import scatter_figure
from fairdash.figures.lab_gaussians import along_rho_figure, estimate_name, inequality_figure
from fairdash.studies import Scene
from fairdash.studies.gaussians import exact_curves, gaussian_pairs
from fairdash.studies.stack import studied, target_of
from fairdash.studies.store import Study
from fairdash.studies.supplement import BASES, Thresholds, thresholds
from fairdash.ui.frame import chart, download, theme
from fairdash.ui.lab import gaussian_readings, gaussian_values
from fairdash.ui.studies import follow, so_far

ROWS = (200, 500, 1000, 2000)
SEED = 0
PRINTED = 0.345  # the supplement's threshold
#: Estimators drawn at first; the rest is a click away.
SHOWN = ("hgr_spline", "hgr_nn", "chi2_kde", "chi2_nn", "mi_ksg", "mi_mine")


def ask() -> tuple[float, int, str]:
    """The controls: ρ, rows, and the unit of mutual information."""
    left, middle, right = st.columns([2, 1.2, 1])
    rho = left.slider("Correlation, ρ", 0.0, 0.95, 0.6, 0.05, key="rho", bind="query-params")
    n = middle.select_slider("Rows, n", ROWS, value=2000, key="rows", bind="query-params")
    base = right.segmented_control(
        "Mutual information in",
        list(BASES),
        default="nats",
        required=True,
        key="base",
        bind="query-params",
        help="One bit is 0.69 nats: the logarithm's base is 2, or e.",
    )
    return rho, n, str(base)


def answer(rho: float, base: str, crossings: Thresholds) -> str:
    truth = gaussian(rho)
    mi = truth.mi if base == "nats" else truth.mi / math.log(2)
    square = truth.hgr**2
    edge = crossings.mi_hgr2_nats if base == "nats" else crossings.mi_hgr2_bits
    side = "below" if mi < square else "above"
    if rho == 0:
        first = "**At ρ = 0 all three are 0: the variables are independent.**"
    else:
        first = (
            f"**At ρ = {rho:g}: HGR² = {square:.3f}, χ² = {truth.chi2:.3f}, mutual information = {mi:.3f} "
            f"{base}.** Mutual information lies {side} HGR² here."
        )
    return (
        f"{first} χ² is never below HGR², so lowering χ² lowers a bound on HGR². Mutual information is no "
        f"such bound: in {base} it is below HGR² up to ρ = {math.sqrt(edge):.3f} and above it beyond."
    )


def estimates(values: pd.DataFrame, base: str) -> pd.DataFrame:
    """Means and ranges of the estimators in the units of the lines: HGR squared, MI in the base wanted."""
    ours = values[values["evaluation"] == "ours"]
    hgr = ours["id"].str.startswith("hgr_")
    mi = ours["id"].str.startswith("mi_") & (base == "bits")
    value = ours["value"].where(~hgr, ours["value"] * ours["value"].abs())
    value = value.where(~mi, value / math.log(2))
    grouped = ours.assign(value=value).groupby(["id", "rho"])["value"]
    return grouped.agg(["mean", "min", "max"]).reset_index()


def all_values(n: int) -> tuple[pd.DataFrame, bool]:
    """Every estimator along ρ; whether the slow ones are among them."""
    quick = gaussian_values(n, SEED)
    if not [id for id in studied(quick=False) if target_of(id)]:
        return quick, True
    slow, done = so_far(slow_study(n))
    if "values" not in slow:
        return quick, done
    return pd.concat([quick, slow["values"]], ignore_index=True), done


def slow_study(n: int) -> Study:
    return Study("gaussians", Scene(n=n, seed=SEED))


def show_curves(rho: float, n: int, base: str) -> None:
    values, complete = all_values(n)
    ids = [id for id in studied() if target_of(id)]
    chosen = st.pills(
        "Estimators",
        ids,
        default=[
            id for id in ids if id in ("hgr_spline", "hgr_nn", "chi2_kde", "chi2_nn", "mi_ksg", "mi_mine")
        ],
        selection_mode="multi",
        format_func=estimate_name,
        key="gaussian-estimators",
        label_visibility="collapsed",
    )
    left, right = st.columns([1.6, 1])
    with left:
        chart(
            along_rho_figure(
                exact_curves(np.linspace(0, 0.99, 199)),
                estimates(values, base),
                ids=list(chosen),
                base=base,
                rho=rho,
                subtitle=f"lines: true; points: estimated, 3 data sets of {n:,} rows",
                theme=theme(),
            ),
            key="along-rho",
            alt="HGR squared, chi squared and mutual information against ρ, true and estimated.",
        )
    with right:
        show_rows(rho, n)
    if not complete:
        st.caption("The neural estimators follow: they are trained beside the page.")
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
        key="gaussian-rows",
        alt=f"Scatter of {n} rows of a normal law with correlation {rho:g}.",
    )


def show_readings(rho: float, n: int, base: str) -> None:
    """What each quick estimator reads at this ρ, beside the truth."""
    truth = gaussian(rho)
    unit = 1.0 if base == "nats" else math.log(2)
    exact = {"hgr": truth.hgr, "chi2": truth.chi2, "mi": truth.mi / unit}
    rows = []
    for id, value in gaussian_readings(rho, n, SEED).items():
        target = target_of(id) or ""
        reading = value / unit if target == "mi" else value
        rows.append(
            {
                "Estimator": REGISTRY[id].title,
                "Quantity": {"hgr": "HGR", "chi2": "χ²", "mi": f"mutual information ({base})"}[target],
                "True": exact[target],
                "Reads": reading,
                "Difference": reading - exact[target],
            }
        )
    table = pd.DataFrame(rows)
    digits = {
        name: st.column_config.NumberColumn(name, format="%.3f") for name in ("True", "Reads", "Difference")
    }
    st.dataframe(table, hide_index=True, column_config=digits, alt="Each estimator beside the true value.")
    st.caption(f"On the {n:,} rows of the scatter. Cross-fitted values may lie below 0 by chance.")
    download(table, label="This table (CSV)", name="gaussian-readings", key="csv-gaussian")


def show_supplement(base: str, crossings: Thresholds) -> None:
    st.subheader("The paper's inequality, checked")
    st.markdown("The supplement says of normal laws, with a threshold $t ≈ 0.345$:")
    st.latex(r"\mathrm{HGR}^2 \le 1 - 2^{-2I} \le \chi^2 \ \text{ if } \chi^2 \ge t,")
    st.latex(r"\mathrm{HGR}^2 \le \chi^2 \le 1 - 2^{-2I} \ \text{ otherwise.}")
    left, right = st.columns([1.2, 1])
    with left:
        chart(
            inequality_figure(
                base=base,
                printed=PRINTED,
                crossing=crossings.bound_nats if base == "nats" else crossings.bound_bits,
                theme=theme(),
            ),
            key="inequality",
            alt="HGR squared, the supplement's middle term and chi squared, all against chi squared.",
        )
    with right:
        st.markdown(findings(base, crossings))


def findings(base: str, crossings: Thresholds) -> str:
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
    printed = f"−{abs(crossings.printed):.3f}"
    return (
        f"{unit}\n\n"
        "**Where a threshold comes from.** The proof puts the bound $\\log(1 + χ^2)$ in the place of $I$ "
        f"(dashed line). That line crosses χ² at {crossings.bound_nats:.3f} with the natural logarithm and "
        f"at {crossings.bound_bits:.3f} with base 2, not at 0.345. And a normal law has exactly half of that "
        "bound, $I = \\tfrac12 \\log(1 + χ^2)$: where the bound crosses says nothing of $I$.\n\n"
        f"**The printed formula** for $t$ gives {printed}, not +0.345; no χ² is negative. It is what comes "
        "out if $\\ln(1 + t) / \\ln(1 - t)$ is taken for $\\ln\\frac{1 + t}{1 - t}$.\n\n"
        "**What stays true**, and is all that fair training needs: HGR² ≤ χ², in any base. Mutual "
        f"information crosses HGR² at ρ = {math.sqrt(crossings.mi_hgr2_nats):.3f} in nats and at "
        f"{math.sqrt(crossings.mi_hgr2_bits):.3f} in bits: which of the two is larger is a matter of units."
    )


def show_take_away(n: int) -> None:
    st.subheader("Take it away")
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(all_values(n)[0], label="Estimates (CSV)", name="gaussians", key="csv-estimates")
    with right:
        exact = exact_curves(np.linspace(0, 0.99, 100))
        download(exact, label="True values (CSV)", name="gaussians-true", key="csv-true")


st.title("Which bounds the maximal correlation: χ² or mutual information?")
crossings_found = thresholds()
place = st.container()
chosen_rho, chosen_n, chosen_base = ask()
place.markdown(answer(chosen_rho, chosen_base, crossings_found))
show_curves(chosen_rho, chosen_n, chosen_base)
show_readings(chosen_rho, chosen_n, chosen_base)
show_supplement(chosen_base, crossings_found)
show_take_away(chosen_n)
