"""Two folded forms of the Train page: look for settings, or for the weight that meets a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from fairdash.data.source import DatasetSource
from fairdash.dependence import REGISTRY
from fairdash.errors import FairdashError
from fairdash.evaluation import DEFAULT_MEASURE
from fairdash.runs.launch import start_search
from fairdash.training.defaults import LAMS
from fairdash.training.lam_search import LamSearch
from fairdash.training.plan import SearchPlan
from fairdash.training.search import GRIDS, SettingsSearch
from fairdash.training.target import ERROR, EXCESS, MEASURE, Target
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.state import choose_search
from fairdash.utils.text import counted

KEY = Keys(__file__)

_GRID_WORDS: Mapping[str, str] = MappingProxyType(
    {"small": "Small: one network", "default": "Full: networks of 3 to 5 layers"}
)
_TARGET_WORDS: Mapping[str, str] = MappingProxyType(
    {
        MEASURE: "Dependence is at most a number",
        EXCESS: "Dependence is at most a number above what independent data read",
        ERROR: "The error is at most a percentage above the standard model's",
    }
)
_WHERE = (
    "Only the training rows of the first split are used. With one split the test figures are of rows that "
    "took no part in the choice; with more, the other splits' test rows did."
)


def ask_for_searches(source: DatasetSource, plan: SearchPlan) -> None:
    """Two folded forms: search settings, find a weight; `plan` is what the form says so far."""
    with st.expander("Search good settings first"):
        _ask_for_settings(source, plan)
    with st.expander("Find the weight for me"):
        _ask_for_lam(source, plan)


def _ask_for_settings(source: DatasetSource, plan: SearchPlan) -> None:
    left, middle, right = st.columns(3)
    grid = left.selectbox(
        "What to try", list(_GRID_WORDS), format_func=_GRID_WORDS.__getitem__, key=KEY("tried")
    )
    lam = middle.number_input(
        "At the weight λ",
        0.0,
        1000.0,
        1.0,
        key=KEY("lam"),
        help="Also the price of dependence: settings are ranked by loss + λ × excess dependence.",
    )
    folds = right.number_input("Folds", 2, 20, 5, key=KEY("folds"))
    count = len(GRIDS[grid].candidates(plan.settings))
    st.caption(
        f"{counted(count, 'combination')} of network, dropout, learning rate and weight decay, each trained "
        f"{folds} times and judged on rows it has not seen, by a measure that is not its own penalty. "
        f"{_WHERE}"
    )
    if st.button("Search", icon=":material/search:"):
        _start(
            source,
            lambda: SettingsSearch(**vars(plan) | {"lam": lam, "grid": GRIDS[grid], "n_folds": int(folds)}),
        )


def _ask_for_lam(source: DatasetSource, plan: SearchPlan) -> None:
    kind = st.radio("What do you want?", list(_TARGET_WORDS), format_func=_TARGET_WORDS.__getitem__)
    left, middle, right = st.columns(3)
    if kind == ERROR:
        percent = left.number_input("Percent above the standard model's error", 0.0, 1000.0, 10.0)
        measure, at_most = "", percent / 100
    else:
        fit = [each.id for each in REGISTRY.values() if each.quick and not each.discrete]
        measure = left.selectbox(
            "Measure of dependence",
            fit,
            index=fit.index(DEFAULT_MEASURE),
            format_func=lambda each: REGISTRY[each].title,
            key=KEY("target-measure"),
        )
        start = 0.05 if kind == EXCESS else 0.15
        at_most = middle.number_input(
            "At most", 0.0, 1000.0, start, step=0.01, format="%.3f", key=KEY("at-most", kind)
        )
    folds = right.number_input("Folds", 2, 20, 10, key=KEY("lam-folds"))
    closer = st.checkbox("Look closer in a second round, between the two nearest weights")
    st.caption(f"{counted(len(LAMS), 'weight')} λ, cross-validated. {_WHERE}")
    if st.button("Find the weight", icon=":material/search:"):
        _start(
            source,
            lambda: LamSearch(
                **vars(plan)
                | {
                    "target": Target(kind=kind, at_most=at_most, measure=measure),
                    "lams": LAMS,
                    "n_folds": int(folds),
                    "refine": 3 if closer else 0,
                }
            ),
        )


def _start(source: DatasetSource, plan: Callable[[], SettingsSearch | LamSearch]) -> None:
    try:
        choose_search(start_search(source, plan(), owner=current_owner()))
    except FairdashError as error:
        show_problems(error)
        return
    st.rerun()
