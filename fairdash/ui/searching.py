"""The part of the Train page that looks for settings, or for the weight that meets a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd
import streamlit as st

from fairdash.api import DEFAULT_LAMS
from fairdash.data.source import DatasetSource
from fairdash.data.wording import counted
from fairdash.dependence import REGISTRY
from fairdash.errors import FairdashError
from fairdash.runs.launch import start_search
from fairdash.runs.searches import Finding, SearchJob
from fairdash.runs.store import DONE
from fairdash.training.lam_search import LamSearch
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.search import GRIDS, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.training.target import ERROR, EXCESS, MEASURE, Target
from fairdash.ui.frame import show_problems
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status
from fairdash.ui.state import choose_search
from fairdash.ui.text import number, safe

#: Session key of how often the form has taken settings over from a search, and of the last ones.
TAKEN = "settings taken over"
#: Session keys of the form's fields that a search may fill; the grid's choice of free weights.
METHOD, OBJECTIVE, GRID = "method", "objective", "grid"
OWN_GRID = "My own"

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


@dataclass(frozen=True, kw_only=True)
class Basis:
    """What the form says so far: a search starts from it.

    Parameters
    ----------
    source, method, objective, settings, random_state, device
        As in a plan.
    """

    source: DatasetSource
    method: str
    objective: str
    settings: TrainingSettings
    random_state: int
    device: str


def ask_for_searches(basis: Basis) -> None:
    """Two folded forms: search settings, find a weight."""
    with st.expander("Search good settings first"):
        _ask_for_settings(basis)
    with st.expander("Find the weight for me"):
        _ask_for_lam(basis)


def _ask_for_settings(basis: Basis) -> None:
    left, middle, right = st.columns(3)
    grid = left.selectbox("What to try", list(_GRID_WORDS), format_func=_GRID_WORDS.__getitem__, key="tried")
    lam = middle.number_input(
        "At the weight λ",
        0.0,
        1000.0,
        1.0,
        key="search lam",
        help="Also the price of dependence: settings are ranked by loss + λ × excess dependence.",
    )
    folds = right.number_input("Folds", 2, 20, 5, key="search folds")
    count = len(GRIDS[grid].candidates(basis.settings))
    st.caption(
        f"{counted(count, 'combination')} of network, dropout, learning rate and weight decay, each trained "
        f"{folds} times and judged on rows it has not seen, by a measure that is not its own penalty. "
        f"{_WHERE}"
    )
    if st.button("Search", icon=":material/search:"):
        _start(
            basis,
            lambda: SettingsSearch(
                method=basis.method,
                objective=basis.objective,
                lam=lam,
                grid=GRIDS[grid],
                n_folds=int(folds),
                random_state=basis.random_state,
                settings=basis.settings,
                device=basis.device,
            ),
        )


def _ask_for_lam(basis: Basis) -> None:
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
            index=fit.index("hgr_kde"),
            format_func=lambda each: REGISTRY[each].title,
            key="target measure",
        )
        start = 0.05 if kind == EXCESS else 0.15
        at_most = middle.number_input(
            "At most", 0.0, 1000.0, start, step=0.01, format="%.3f", key=f"at most {kind}"
        )
    folds = right.number_input("Folds", 2, 20, 10, key="lam folds")
    closer = st.checkbox("Look closer in a second round, between the two nearest weights")
    st.caption(f"{counted(len(DEFAULT_LAMS), 'weight')} λ, cross-validated. {_WHERE}")
    if st.button("Find the weight", icon=":material/search:"):
        _start(
            basis,
            lambda: LamSearch(
                target=Target(kind=kind, at_most=at_most, measure=measure),
                lams=DEFAULT_LAMS,
                method=basis.method,
                objective=basis.objective,
                n_folds=int(folds),
                refine=3 if closer else 0,
                random_state=basis.random_state,
                settings=basis.settings,
                device=basis.device,
            ),
        )


def _start(basis: Basis, plan: Callable[[], SettingsSearch | LamSearch]) -> None:
    try:
        choose_search(start_search(basis.source, plan()))
    except FairdashError as error:
        show_problems(error)
        return
    st.rerun()


def show_search(search: SearchJob) -> None:
    """The search in view: how far it is, or what it has found."""
    with st.container(border=True):
        try:
            _show(search)
        except FairdashError as error:
            show_problems(error)
        st.button("Close", key="close search", icon=":material/close:", on_click=choose_search, args=(None,))


def _show(search: SearchJob) -> None:
    spec, status = search.spec, search.status
    what = "Settings" if isinstance(spec.plan, SettingsSearch) else f"Weight for {spec.plan.target.words}"
    st.markdown(
        f"**{safe(what)}** · {safe(spec.source.title)} · {METHODS[spec.plan.method].title} · "
        f"{OBJECTIVES[spec.plan.objective].title}"
    )
    if not status.is_over:
        st.caption("This goes on if you close the page; its address brings you back.")
        _follow(search)
        return
    show_status(search, status)
    if status.state == DONE:
        _show_finding(search.read_finding(), spec.plan)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(search: SearchJob) -> None:
    show_progress(search)


def _show_finding(finding: Finding, plan: SettingsSearch | LamSearch) -> None:
    for note in finding.notes:
        st.info(safe(note))
    if finding.settings is not None:
        best = finding.frame.iloc[0]
        near = int((finding.frame["behind"] <= finding.frame["behind_se"]).sum()) - 1
        st.markdown(
            f"**Units {best['hidden']}, dropout {best['dropout']:g}, learning rate {best['lr']:g}, "
            f"weight decay {best['weight_decay']:g}**: {safe(finding.rule)}. "
            f"{near} of the other {len(finding.frame) - 1} are within one standard error of it."
        )
        _table(finding.frame, _SETTINGS_COLUMNS)
        st.button(
            "Use these settings",
            type="primary",
            icon=":material/check:",
            on_click=_take_settings,
            args=(plan, finding.settings),
        )
        return
    assert finding.lam is not None
    (st.markdown if finding.reached else st.warning)(safe(finding.rule))
    _table(finding.frame, _LAM_COLUMNS)
    if finding.lam > 0:
        st.button(
            f"Use λ = {finding.lam:.4g}",
            type="primary",
            icon=":material/check:",
            on_click=_take_lam,
            args=(plan, finding.lam),
        )


_SETTINGS_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "hidden": "Units",
        "dropout": "Dropout",
        "lr": "Learning rate",
        "weight_decay": "Weight decay",
        "loss": "Loss",
        "dependence": "Dependence",
        "floor": "Noise floor",
        "score": "Score",
        "behind": "Behind the best",
    }
)
_LAM_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "lam": "λ",
        "loss": "Loss",
        "increase": "Above the standard model",
        "dependence": "Dependence",
        "floor": "Noise floor",
        "meets": "Meets the target",
    }
)


#: How columns are written that are no means over folds.
_FORMATS = {"lam": ".4g", "dropout": "g", "lr": "g", "weight_decay": "g", "increase": "+.1%"}


def _table(frame: pd.DataFrame, columns: Mapping[str, str]) -> None:
    """The columns under their titles; means stand with their standard errors, "–" is for what diverged."""
    shown = pd.DataFrame({title: _texts(frame, name) for name, title in columns.items()})
    st.dataframe(shown, hide_index=True, key="found")


def _texts(frame: pd.DataFrame, name: str) -> list[str] | list[bool]:
    values = frame[name]
    if name in _FORMATS:
        return ["–" if pd.isna(value) else format(value, _FORMATS[name]) for value in values]
    if f"{name}_se" in frame:
        errors = frame[f"{name}_se"]
        return [
            f"{number(value, error=error)} ± {number(error, error=error)}"
            for value, error in zip(values, errors, strict=True)
        ]
    if pd.api.types.is_float_dtype(values):
        return [number(value) for value in values]
    return values.tolist()


def _take_settings(plan: SettingsSearch | LamSearch, settings: TrainingSettings) -> None:
    """Put settings into the form, with the method and the objective that they are good for."""
    times, _ = st.session_state.get(TAKEN, (0, None))
    st.session_state[TAKEN] = times + 1, settings.to_json()
    st.session_state[METHOD] = [plan.method]
    st.session_state[OBJECTIVE] = plan.objective
    choose_search(None)


def _take_lam(plan: LamSearch, lam: float) -> None:
    """Put a weight into the form, with the method, objective and settings that it was found for."""
    _take_settings(plan, plan.settings)
    st.session_state[GRID] = OWN_GRID
    st.session_state[f"lams {OWN_GRID}"] = f"{lam:.4g}"
