"""Which run the trade-off page shows; where there is none yet, a first look starts by itself."""

from __future__ import annotations

import streamlit as st

from fairdash.data.source import DatasetSource
from fairdash.reports.comparison import Comparison
from fairdash.runs.launch import start_again, start_run
from fairdash.runs.listing import list_runs
from fairdash.runs.store import FIRST, Run
from fairdash.training.defaults import share_of_rows
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import STANDARD, default_plan, preview_of
from fairdash.ui.cached import dataset_of
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_go_on, show_progress, show_status
from fairdash.ui.owner import current_owner
from fairdash.ui.state import choose_run, chosen_run, chosen_source
from fairdash.ui.text import safe

DEFAULT_OBJECTIVE = "demographic_parity"


def run_in_view() -> Run | None:
    """The run that the address names, else the newest of the data in use, else a first look that starts now.

    None where the run in view has nothing to show yet; the page then says how far it is.
    """
    run = chosen_run()
    if run is None:
        source = chosen_source()
        run = next(iter(list_runs(owner=current_owner()).of(source)), None)
        if run is None:
            with st.spinner("Reading the data…"):
                run = start_quick(source, DEFAULT_OBJECTIVE)
        choose_run(run)
    if run.look is None:
        _show_wait(run)
        return None
    return run


def start_quick(source: DatasetSource, objective: str) -> Run:
    """Start a first look and what follows it."""
    dataset = dataset_of(source)
    plan = default_plan(dataset, objective=objective)
    share = share_of_rows(dataset.n_rows)
    return start_run(source, plan, first=preview_of(plan), first_share=share, owner=current_owner())


def show_other_training(comparison: Comparison, run: Run) -> None:
    """Where models are judged by an objective that they were not trained for: the way to those that were."""
    spec, objective = run.spec, comparison.objective
    if objective == spec.plan.objective:
        return
    others = list_runs(owner=current_owner()).of(spec.source)
    trained = next((each for each in others if each.spec.plan.objective == objective and each.look), None)
    title = OBJECTIVES[objective].title.lower()
    if trained is not None:
        if st.button(f"See models trained for {title}", icon=":material/swap_horiz:"):
            _switch(trained)
    elif st.button(f"Train models for {title}", icon=":material/model_training:"):
        _switch(start_quick(spec.source, objective))


def _switch(run: Run) -> None:
    choose_run(run)
    st.rerun()


def show_stage(run: Run, comparison: Comparison) -> None:
    """How far a run is that already has something to show; nothing once it is whole."""
    if run.look != FIRST:
        return
    if run.status.is_over:
        st.warning(
            f"This is the first look: {_seen_by(comparison)}. What should have followed was not finished."
        )
        show_status(run, run.status)
        show_go_on(run)
        return
    _follow(run, _seen_by(comparison))


def _seen_by(comparison: Comparison) -> str:
    """What a first look saw."""
    return f"{comparison.sample}; one split, rough floors" if comparison.sample else "one split, rough floors"


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(run: Run, seen: str) -> None:
    if run.look != FIRST:
        st.rerun()
    plan = run.spec.plan
    methods = [METHODS[method].title for method in plan.methods if method != STANDARD]
    rows = "all rows, " if run.spec.first_share < 1 else ""
    st.info(
        f"**First look:** {seen}. Being refined with {rows}{plan.n_splits} splits and "
        f"{', '.join(methods)}; the page then changes by itself.",
        icon=":material/hourglass_top:",
    )
    show_progress(run)


def _show_wait(run: Run) -> None:
    spec, status = run.spec, run.status
    st.markdown(f"**{safe(spec.source.title)}** · {OBJECTIVES[spec.plan.objective].title}")
    if status.is_over:
        show_status(run, status)
        show_go_on(run)
        if st.button("Start again", icon=":material/replay:", type="primary"):
            choose_run(start_again(run, owner=current_owner()))
            st.rerun()
        return
    st.caption(
        "A first look is being trained: eight weights of fairness on one split"
        + (", on a random sample of the rows. " if spec.first_share < 1 else ". ")
        + "It takes seconds."
        if spec.first is not None
        else "This run is still at work. It goes on if you close the page."
    )
    _wait(run)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS / 2)
def _wait(run: Run) -> None:
    if run.look is not None:
        st.rerun()
    show_progress(run)
