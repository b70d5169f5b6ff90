"""A run on the Train page: how far it is, its curves, and where to go from it."""

from __future__ import annotations

import streamlit as st

from fairdash.figures.curves import curves_figure
from fairdash.runs.status import DONE
from fairdash.runs.store import Run
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.frame import chart, theme
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_go_on, show_progress, show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import go_to
from fairdash.ui.state import choose_run
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)


def show_run(run: Run) -> None:
    spec = run.spec
    st.markdown(
        f"**{safe(spec.source.title)}** · {OBJECTIVES[spec.plan.objective].title} · "
        f"{counted(len(spec.plan.methods) - 1, 'fair method')} × {counted(len(spec.plan.lams), 'weight')} λ "
        f"× {counted(spec.plan.n_splits, 'split')}, trained as stacks"
    )
    status = run.status
    if not status.is_over:
        st.caption("This goes on if you close the page; its address brings you back.")
        follow(run)
        return
    show_status(run, status)
    show_go_on(run)
    left, right, _ = st.columns([1, 1, 3])
    if status.state == DONE and left.button(
        "See what fairness costs", type="primary", icon=":material/balance:"
    ):
        go_to("tradeoff", address={Address.RUN.value: run.id})
    if right.button("Train again", icon=":material/replay:"):
        choose_run(None)
        st.rerun()
    show_curves(run)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def follow(run: Run) -> None:
    show_progress(run)
    show_curves(run)


def show_curves(run: Run) -> None:
    curves = run.curves()
    if curves.empty:
        return
    left, right = st.columns(2)
    with left:
        chart(
            curves_figure(curves, "mse", theme=theme()),
            key=KEY("curve-error"),
            alt="Training error by epoch.",
        )
    if curves["dependence"].notna().any():
        with right:
            chart(
                curves_figure(curves, "dependence", theme=theme()),
                key=KEY("curve-dependence"),
                alt="Dependence found by the penalty by epoch, a line a weight.",
            )
