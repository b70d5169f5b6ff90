"""Home: three doors and the recent runs."""

from __future__ import annotations

import streamlit as st

from fairdash.runs.store import Run, list_runs
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.pages import page
from fairdash.ui.text import safe

RUNS_SHOWN = 8
DOORS = (
    (
        "patterns",
        "Learn how dependence is measured",
        "Bend a cloud of points, add noise, and see which measure notices and which is fooled.",
    ),
    (
        "data",
        "Choose data and train",
        "A built-in example, or your own table: a whole range of models, from most accurate to most fair.",
    ),
    (
        "tradeoff",
        "See what fairness costs",
        "Move one slider; read how the averages of each group and the error change.",
    ),
)


def show_doors() -> None:
    for column, (name, title, words) in zip(st.columns(3), DOORS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {title}")
            st.markdown(words)
            st.page_link(page(name), label=title, icon=":material/arrow_forward:")


def show_run(run: Run) -> None:
    spec, status = run.spec, run.status
    objective = OBJECTIVES[spec.plan.objective].title
    name = "tradeoff" if run.look else "train"
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(
        f"**{safe(spec.source.title)}** · {objective} · "
        f"{len(spec.plan.lams)} λ × {spec.plan.n_splits} splits · "
        f"{status.state} · {spec.created[:16].replace('T', ' ')} UTC"
    )
    right.page_link(page(name), label="Open", icon=":material/open_in_new:", query_params={"run": run.id})


st.title("How fair is a price, and what does fairness cost?")
st.markdown(
    "fairdash trains regressors whose predictions, or errors, depend less and less on a continuous sensitive "
    "attribute such as age or income, and shows the trade-off with accuracy."
)
show_doors()
st.page_link(
    page("paper"),
    label="Check the paper behind it: its tables and figures, theirs beside ours",
    icon=":material/article:",
)
st.subheader("Recent runs")
found = list_runs()
if not found.runs:
    st.info("No run yet. The trade-off page trains a first look at the built-in example within seconds.")
for recent in found.runs[:RUNS_SHOWN]:
    show_run(recent)
if found.damaged:
    st.warning(
        f"These runs can't be read and are left as they are: {', '.join(found.damaged)}. "
        "The others are not concerned."
    )
