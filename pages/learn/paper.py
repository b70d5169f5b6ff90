"""The paper: its tables and figures, theirs beside ours."""

from __future__ import annotations

import streamlit as st

from fairdash.reproduction import committed
from fairdash.ui.paper import figures, table1

# Names of the results that the parts show.
TABLE1, FIG1, FIG2, FIG3, FIG4 = "table1", "fig1", "fig2", "fig3", "household"
PARTS = {
    TABLE1: "Table 1: real data",
    FIG4: "Fig. 4: household prices",
    FIG2: "Fig. 2: estimating HGR",
    FIG1: "Fig. 1: χ² and HGR",
    FIG3: "Fig. 3: the networks",
}
SHOWN = {
    FIG1: figures.show_fig1,
    FIG2: figures.show_fig2,
    FIG3: figures.show_fig3,
    FIG4: figures.show_fig4,
}


def show_table1() -> None:
    names = table1.names()
    name = names[0]
    if len(names) > 1:
        name = str(
            st.segmented_control(
                "Data", names, format_func=table1.title_of, default=name, required=True, key="paper-data",
                bind="query-params",
            )
        )  # fmt: skip
    table1.show(name)


st.title("Do the paper's results hold up?")
st.markdown(table1.in_short())
made = {TABLE1, *committed()}
part = st.segmented_control(
    "Part", [each for each in PARTS if each in made],
    format_func=PARTS.__getitem__, default=TABLE1, required=True, key="paper-part",
    bind="query-params", label_visibility="collapsed",
)  # fmt: skip
if part == TABLE1:
    show_table1()
else:
    SHOWN[str(part)]()
st.caption(
    "The paper: V. Grari, B. Ruf, S. Lamprier, M. Detyniecki, “Fairness-Aware Neural Rényi Minimization for "
    "Continuous Features”. All figures of ours are read from results that come with fairdash."
)
