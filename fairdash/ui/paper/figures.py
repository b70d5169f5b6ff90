"""Figures of the Paper page, drawn from our results, with sentences on which claims of the paper hold."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.lab import SHAPES
from fairdash.lab.figures.estimates import along_rho_figure
from fairdash.lab.figures.paper import architecture_figure, by_age_figure
from fairdash.lab.figures.simulations import fig2_figure
from fairdash.lab.paper import HOUSEHOLD_TARGETS, StudyResult, judgements_of, read_result
from fairdash.lab.studies import lines_of, means_along_rho
from fairdash.lab.truth import exact_curves
from fairdash.training.methods import METHODS
from fairdash.training.settings import OBJECTIVES
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.paper.table1 import show_table1
from fairdash.ui.state import choose
from fairdash.ui.text import duration
from fairdash.ui.widgets import download

KEY = Keys(__file__)

READINGS = {"household": "all three features", "household_surface": "the surface alone"}
NETWORKS = {
    "authors": "as the authors' code trains it",
    "published": "fairdash's networks, evaluated on their training rows",
    "ours": "ours, cross-fitted",
}


def show_part() -> None:
    """Show a control that selects a part of the page, and the selected part."""
    part_titles = {name: title for name, (_, title) in _PARTS.items()}
    part = choose("Part", part_titles, name=Address.PART, key=KEY("part"), hidden_label=True)
    _PARTS[part][0]()


def show_fig1() -> None:
    """Show χ² and HGR of normal distributions, and state if estimates are above or below the true values."""
    result = read_result("fig1")
    values = result.tables["values"]
    st.markdown(judgements_of("fig1")["answer"])
    chart(
        along_rho_figure(
            exact_curves(np.linspace(0, 0.99, 199)),
            means_along_rho(values, base="nats"),
            ids=["hgr_nn", "chi2_nn", "chi2_kde", "mi_mine"],
            base="nats",
            rho=0.0,
            subtitle="lines: true values; points: estimated values",
            theme=theme(),
        ),
        key=KEY("fig1"),
        alt="HGR squared, chi squared and mutual information against ρ, true and estimated.",
    )
    st.caption(
        f"Points are means of {result.options['repeats']} data sets of {result.options['rows']:,} rows. "
        "Each network is trained on some rows, and its estimate is computed on other rows."
    )
    about(result)


def show_fig2() -> None:
    """Show HGR against noise, and state whether the paper's statements on noise hold."""
    result = read_result("fig2")
    networks = choose("HGR_NN", NETWORKS, name=Address.NETWORKS, key=KEY("networks"))
    values, exact, options = result.tables["values"], result.tables["exact"], result.options
    statements = result.tables["statements"].query("networks == @networks")
    st.markdown(
        f"**{statements['holds'].sum()} of the paper's {len(statements)} statements on Fig. 2 hold in our "
        f"data**, with HGR_NN {NETWORKS[networks]}."
    )
    for statement in statements.itertuples():
        mark = ":green-badge[holds]" if statement.holds else ":orange-badge[does not hold]"
        st.markdown(f"{mark} *“{statement.quote}”* {statement.finding}")
    published_method = values["id"].map({"hgr_nn": networks, "hgr_kde": "published", "hgr_rdc": "published"})
    shown_values = values[values["evaluation"] == published_method].assign(evaluation="published")
    chart(
        fig2_figure(
            lines_of(shown_values),
            exact,
            ids=["hgr_nn", "hgr_kde", "hgr_rdc"],
            evaluation="published",
            titles={id: SHAPES[id].title for id in SHAPES},
            subtitle=f"{options['rows']:,} rows, means of {options['repeats']} data sets",
            theme=theme(),
        ),
        key=KEY("fig2"),
        alt="Four panels, one per pattern: HGR by network, KDE and RDC against noise, and the exact value.",
    )
    st.caption("The paper gives no formulas for its patterns. We use patterns of the same four kinds.")
    about(result)


def show_fig3() -> None:
    """Show the networks, with the values and gradients after each epoch."""
    result = read_result("fig3")
    flow = result.tables["flow"]
    epoch = st.select_slider(
        "After epoch", [int(epoch) for epoch in flow["epoch"]], value=int(flow["epoch"].iloc[-1]),
        key=KEY("epoch"),
    )  # fmt: skip
    row = flow[flow["epoch"] == epoch].iloc[0]
    first = flow.iloc[0]
    st.markdown(
        f"After {epoch} epochs the adversary's correlation J is **{row['j']:+.3f}** and the error "
        f"**{row['mse']:.3f}** (at the start {first['j']:+.3f} and {first['mse']:.3f})."
    )
    features = "<br>".join(result.options["features"])
    chart(
        architecture_figure(
            {str(name): float(value) for name, value in row.items()},
            lam=result.options["lam"], features=features, theme=theme(),
        ),
        key=KEY("fig3"),
        alt="The networks h, f and g as boxes with their formulas and values. Arrows in the opposite "
        "direction show gradients.",
    )  # fmt: skip
    st.caption(
        f"The figure shows a short training run on {result.options['rows']:,} household policies. All "
        "columns are standardised. Touch a box to see its role. Grey arrows show values. Coloured arrows "
        "show gradients, and thicker arrows show larger gradients. Training moves φ down its gradient (▼) "
        "and θ up its gradient (▲)."
    )
    about(result)


def show_fig4() -> None:
    """Show average prices by age in the household scenario, and state how much fairness raises the error."""
    left, right = st.columns([1, 1.4])
    objective = choose(
        "Objective",
        {target: OBJECTIVES[target].title for target in HOUSEHOLD_TARGETS},
        name=Address.OBJECTIVE,
        key=KEY("fig4-objective"),
        container=left,
    )
    reading = choose(
        "Inputs of the network (not stated in the paper)",
        READINGS,
        name=Address.READING,
        key=KEY("reading"),
        container=right,
    )
    result = read_result(reading)
    table = result.tables["prices"].query("objective == @objective").drop(columns="objective")
    st.markdown(judgements_of(reading)["answer"][objective])
    parity = objective == "demographic_parity"
    profile = result.tables["profile"]
    (price,) = table.loc[table["method"] == "standard", "mean_price"].astype(float)
    quantity = "price" if parity else "residual"
    chart(
        by_age_figure(
            profile[profile["objective"] == objective],
            names={method: METHODS[method].title for method in table["method"]},
            level=price if parity else 0.0,
            title=f"Average {quantity} by age",
            subtitle=f"band: standard network, 95 %; dotted: {'the average price' if parity else 'no error'}",
            y=f"Average {quantity} (€)",
            theme=theme(),
        ),
        key=KEY("fig4"),
        alt=f"Average {quantity} by age, for the standard network and for the fair networks.",
    )
    st.dataframe(
        display_table(table),
        hide_index=True,
        alt="Table of the household scenario with the paper's percentages.",
    )
    st.caption(
        f"The figures are means over the test rows of {result.options['splits']} splits, ± one standard "
        "error. HGR is the cross-fitted spline correlation. The column “Held-out rows” gives the same "
        f"measure in the {result.options['folds']}-fold cross-validation that chose λ within the training "
        "rows."
    )
    with st.expander("How each λ was found"):
        choices = result.tables["choices"]
        for _, choice in choices[choices["objective"] == objective].iterrows():
            st.markdown(f"- {METHODS[choice['method']].title}: {choice['rule']}")
    about(result)
    download(table, label="This table (CSV)", name="paper-household", key=KEY("csv-household"))


def display_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of household prices with displayed titles and formatted numbers."""

    def texts(name: str) -> pd.Series:
        return table[name].map(lambda value: "–" if math.isnan(value) else f"{value:z.3f}")

    increases = table["increase"].where(table["method"] != "standard")
    columns = {
        "Method": [METHODS[method].title for method in table["method"]],
        "λ": table["lam"].map("{:.3g}".format),
        "MSE, test rows (share of the variance)": texts("mse") + " ± " + texts("mse_se"),
        "Increase": increases.map(_share),
        "The paper's": table["paper_increase"].map(_share),
        "HGR, test rows": texts("hgr_spline") + " ± " + texts("hgr_spline_se"),
        "HGR, held-out rows": texts("validation_hgr"),
        "its floor": texts("hgr_spline_floor"),
        REGISTRY["hgr_kde"].symbol: texts("hgr_kde"),
        "its floor ": texts("hgr_kde_floor"),
        "Average price": table["mean_price"].map("{:.0f} €".format),
    }
    return pd.DataFrame(columns)


def _share(value: float) -> str:
    """Format a change in per cent. A change that rounds to zero is "+0%", never "-0%"."""
    return "–" if math.isnan(value) else f"{round(value, 2) + 0.0:+.0%}"


def about(result: StudyResult) -> None:
    """State in one line how the figures were computed, and show the command that reproduces them."""
    st.caption(
        f"Seed {result.seed}; {duration(result.seconds)} of processor time on {result.machine}; torch "
        f"{result.versions['torch']}. To reproduce these results, run this command in a checkout of "
        f"fairdash: `{result.command}`"
    )


#: Function that shows a result, and its title, by name of the result. Several data sets have a Table 1.
_PARTS = {
    "table1": (show_table1, "Table 1: real data"),
    "household": (show_fig4, "Fig. 4: household prices"),
    "fig2": (show_fig2, "Fig. 2: estimating HGR"),
    "fig1": (show_fig1, "Fig. 1: χ² and HGR"),
    "fig3": (show_fig3, "Fig. 3: the networks"),
}
