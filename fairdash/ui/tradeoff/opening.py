"""The run that the trade-off page shows: a first look that starts by itself, rows set aside, its log."""

from __future__ import annotations

import streamlit as st

from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError, RunError
from fairdash.reports.comparison import Comparison
from fairdash.reports.tables import history
from fairdash.reports.words import not_opened, of_opening, of_openings, opening_of, refit_includes
from fairdash.runs.confirmations import confirm_run, read_confirmations
from fairdash.runs.launch import start_again, start_run
from fairdash.runs.listing import list_runs
from fairdash.runs.log import read
from fairdash.runs.store import FIRST, RESULT, Run
from fairdash.training.defaults import share_of_rows
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import STANDARD, default_plan, preview_of
from fairdash.ui.blocks import show_table
from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import show_problems
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_go_on, show_progress, show_status
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.state import choose_run, chosen_run, chosen_source
from fairdash.ui.text import safe

KEY = Keys(__file__)
_FAULT = KEY("fault")

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


def show_confirmation(comparison: Comparison, run: Run) -> None:
    """What the rows set aside have shown so far, and the button that opens them; nothing without any."""
    aside = comparison.result.set_aside
    if run.look != RESULT or aside is None:
        return
    st.subheader("Does it hold on rows set aside?")
    if fault := st.session_state.pop(_FAULT, None):
        show_problems(fault)
    try:
        openings = read_confirmations(run)
    except RunError as error:
        show_problems(error)
        return
    names, times = comparison.result.names, len(openings)
    own = opening_of(comparison, openings)
    if own is not None:
        first, *rest = of_opening(own, times=times, names=names)
        st.markdown(f"**{safe(first)}**")
        st.markdown(safe(" ".join(rest)))
    elif openings:
        st.warning(
            safe(
                f"These rows were opened already, for another point. What they show of this one will be no "
                f"confirmation: it would be opening number {times + 1}."
            )
        )
    else:
        st.markdown(safe(not_opened(len(aside.rows))))
    if own is None:
        st.button(
            "Confirm on rows set aside" if not openings else "Open them again for this point",
            icon=":material/lock_open:",
            on_click=_open,
            args=(comparison, run),
            key=KEY("open"),
            help="One test of the chosen point on rows that had no part in anything so far. It is valid "
            "once: choose first, open then.",
        )
    others = [each for each in openings if each != own]
    if others:
        with st.expander("What they have shown of other points"):
            for paragraph in of_openings(others, names):
                st.markdown(safe(paragraph))
    st.caption(safe(refit_includes(len(aside.rows))))


def _open(comparison: Comparison, run: Run) -> None:
    point, owner = comparison.b, current_owner()
    try:
        # Asked again: the run may have been deleted since the button was drawn.
        confirm_run(
            Run(run.id, owner=owner),
            method=point.method,
            lam=0.0 if point.is_standard else point.lam,
            objective=comparison.objective,
            owner=owner,
        )
    except FairdashError as error:
        st.session_state[_FAULT] = error


def show_history(run: Run) -> None:
    """The log, folded up, and a warning where it is not as it was written."""
    log = read(run.folder)
    if not log.is_whole:
        st.warning("The log of this run is not as it was written: lines were altered, or are missing.")
    if log.events:
        with st.expander("Who did what with this run"):
            show_table(history(log), KEY)
