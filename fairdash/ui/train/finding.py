"""A search on the Train page: how far it is, what it has found, and the way into the form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd
import streamlit as st

from fairdash.errors import FairdashError
from fairdash.runs.searches import SearchJob
from fairdash.runs.status import DONE
from fairdash.training.lam_search import LamSearch
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.search import SearchResult, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.ui.frame import show_problems
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status
from fairdash.ui.keys import Keys
from fairdash.ui.state import choose_search
from fairdash.ui.text import number, safe
from fairdash.ui.train.fields import GRID, METHOD, OBJECTIVE, OWN_GRID, TAKEN, lams_key

KEY = Keys(__file__)


def show_search(search: SearchJob) -> None:
    """The search in view: how far it is, or what it has found."""
    with st.container(border=True):
        try:
            _show(search)
        except FairdashError as error:
            show_problems(error)
        st.button("Close", key=KEY("close"), icon=":material/close:", on_click=choose_search, args=(None,))


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
        _show_result(search.read_result(), spec.plan)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(search: SearchJob) -> None:
    show_progress(search)


def _show_result(result: SearchResult, plan: SettingsSearch | LamSearch) -> None:
    for note in result.notes:
        st.info(safe(note))
    if result.best is not None:
        best = result.frame.iloc[0]
        near = int((result.frame["behind"] <= result.frame["behind_se"]).sum()) - 1
        st.markdown(
            f"**Units {best['hidden']}, dropout {best['dropout']:g}, learning rate {best['lr']:g}, "
            f"weight decay {best['weight_decay']:g}**: {safe(result.rule)}. "
            f"{near} of the other {len(result.frame) - 1} are within one standard error of it."
        )
        _table(result.frame, _SETTINGS_COLUMNS)
        st.button(
            "Use these settings",
            type="primary",
            icon=":material/check:",
            on_click=_take_settings,
            args=(plan, result.best),
        )
        return
    assert result.lam is not None
    (st.markdown if result.reached else st.warning)(safe(result.rule))
    _table(result.frame, _LAM_COLUMNS)
    if result.lam > 0:
        st.button(
            f"Use λ = {result.lam:.4g}",
            type="primary",
            icon=":material/check:",
            on_click=_take_lam,
            args=(plan, result.lam),
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
    st.dataframe(shown, hide_index=True, key=KEY("found"))


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
    st.session_state[TAKEN] = times + 1, settings
    st.session_state[METHOD] = [plan.method]
    st.session_state[OBJECTIVE] = plan.objective
    choose_search(None)


def _take_lam(plan: LamSearch, lam: float) -> None:
    """Put a weight into the form, with the method, objective and settings that it was found for."""
    _take_settings(plan, plan.settings)
    st.session_state[GRID] = OWN_GRID
    st.session_state[lams_key(OWN_GRID)] = f"{lam:.4g}"
