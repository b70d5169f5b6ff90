"""Searches on the Train page, with forms, progress, results, and a button to copy a result to the form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd
import streamlit as st

from fairdash.data.source import DatasetSource
from fairdash.dependence import REGISTRY
from fairdash.errors import FairdashError, OptionError
from fairdash.evaluation import DEFAULT_MEASURE
from fairdash.runs.launch import start_search
from fairdash.runs.searches import SearchJob
from fairdash.runs.state import DONE
from fairdash.training.defaults import LAMS
from fairdash.training.lam_search import ERROR, EXCESS, MEASURE, LamSearch, Target
from fairdash.training.methods import METHODS
from fairdash.training.search import GRIDS, SearchResult, SettingsSearch
from fairdash.training.settings import OBJECTIVES, TrainingSettings
from fairdash.training.sweep import SearchPlan
from fairdash.ui.access import current_owner
from fairdash.ui.frame import show_problems
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status
from fairdash.ui.keys import Keys
from fairdash.ui.state import choose_search
from fairdash.ui.text import number, safe
from fairdash.ui.widgets import ask
from fairdash.utils.text import counted

KEY = Keys(__file__)

#: Session key of the number of times that settings were copied from a search, and of the last copied
#: settings.
ADOPTED = KEY("taken-over")
#: Session keys of the fields of the form.
METHOD, OBJECTIVE, GRID = KEY("method"), KEY("objective"), KEY("grid")
OWN_GRID = "My own"


def lams_key(grid: str) -> str:
    """Return the session key of the text field with the weights of a grid."""
    return KEY("lams", grid)


def numbers(text: str, *, column: str) -> tuple[float, ...]:
    """Parse numbers separated by commas, semicolons or spaces. Raise an OptionError for other text."""
    words = text.replace(",", " ").replace(";", " ").split()
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise OptionError.of(
            "Not a list of numbers", "Write numbers such as 0.1 0.5 1 2.", column=column
        ) from None


_GRID_WORDS: Mapping[str, str] = MappingProxyType(
    {"small": "Small: one network", "default": "Full: networks of 3 to 5 layers"}
)
_TARGET_WORDS: Mapping[str, str] = MappingProxyType(
    {
        MEASURE: "Limit the dependence to a given value",
        EXCESS: "Limit the dependence to a given value above the noise floor",
        ERROR: "Limit the error to a given percentage above the standard model's error",
    }
)
_WHERE = (
    "The search uses only the training rows of the first split. With one split, the search uses no test "
    "rows. With several splits, some of these rows are test rows of other splits."
)


def ask_for_searches(source: DatasetSource, plan: SearchPlan) -> None:
    """Show two collapsed forms for the options in `plan`, one to search for settings and one to find λ."""
    with st.expander("Search for good settings first"):
        _ask_for_settings(source, plan)
    with st.expander("Find the weight automatically"):
        _ask_for_lam(source, plan)


def _ask_for_settings(source: DatasetSource, plan: SearchPlan) -> None:
    left, centre_column, right = st.columns(3)
    grid = left.selectbox(
        "What to try", list(_GRID_WORDS), format_func=_GRID_WORDS.__getitem__, key=KEY("tried")
    )
    lam = ask(centre_column, SettingsSearch, "lam", key=KEY("lam"))
    folds = ask(right, SettingsSearch, "n_folds", key=KEY("folds"))
    count = len(GRIDS[grid].candidates(plan.settings))
    st.caption(
        f"{counted(count, 'combination')} of network, dropout, learning rate and weight decay, each trained "
        f"{folds} times. Held-out rows show the error and the dependence; the measure of dependence is not "
        f"the one in the penalty. {_WHERE}"
    )
    if st.button("Search", icon=":material/search:"):
        _start(
            source, lambda: SettingsSearch(**vars(plan) | {"lam": lam, "grid": GRIDS[grid], "n_folds": folds})
        )


def _ask_for_lam(source: DatasetSource, plan: SearchPlan) -> None:
    kind = st.radio("What do you want?", list(_TARGET_WORDS), format_func=_TARGET_WORDS.__getitem__)
    left, centre_column, right = st.columns(3)
    if kind == ERROR:
        percent = left.number_input("Percent above the standard model's error", 0.0, 1000.0, 10.0)
        measure, at_most = "", percent / 100
    else:
        fit = [measure.id for measure in REGISTRY.values() if measure.quick and not measure.discrete]
        measure = left.selectbox(
            "Measure of dependence",
            fit,
            index=fit.index(DEFAULT_MEASURE),
            format_func=lambda measure: REGISTRY[measure].title,
            key=KEY("target-measure"),
        )
        start = 0.05 if kind == EXCESS else 0.15
        at_most = centre_column.number_input(
            "At most", 0.0, 1000.0, start, step=0.01, format="%.3f", key=KEY("at-most", kind)
        )
    folds = ask(right, LamSearch, "n_folds", key=KEY("lam-folds"))
    closer = st.checkbox("In a second round, try more weights between the two that are nearest to the target")
    st.caption(
        f"{counted(len(LAMS), 'weight')} λ from pilot training are compared by cross-validation. {_WHERE}"
    )
    if st.button("Find the weight", icon=":material/search:"):
        _start(
            source,
            lambda: LamSearch(
                **vars(plan)
                | {
                    "target": Target(kind=kind, at_most=at_most, measure=measure),
                    "lams": LAMS,
                    "find_lams": True,
                    "n_folds": folds,
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


def show_search(search: SearchJob) -> None:
    """Show the progress of the selected search or, at the end, its result."""
    with st.container(border=True):
        try:
            _show(search)
        except FairdashError as error:
            show_problems(error)
        st.button("Close", key=KEY("close"), icon=":material/close:", on_click=choose_search, args=(None,))


def _show(search: SearchJob) -> None:
    spec, status = search.spec, search.status
    subject = "Settings" if isinstance(spec.plan, SettingsSearch) else f"Weight for {spec.plan.target.words}"
    st.markdown(
        f"**{safe(subject)}** · {safe(spec.source.title)} · {METHODS[spec.plan.method].title} · "
        f"{OBJECTIVES[spec.plan.objective].title}"
    )
    if not status.is_over:
        st.caption(
            "The work continues if you close the page. To return to this work, use the address of this page."
        )
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
        n_equal = int((result.frame["behind"] <= result.frame["behind_se"]).sum()) - 1
        st.markdown(
            f"**Units {best['hidden']}, dropout {best['dropout']:g}, learning rate {best['lr']:g}, weight "
            f"decay {best['weight_decay']:g}**: {safe(result.rule)}. {n_equal} of the other "
            f"{len(result.frame) - 1} combinations have a score within one standard error of the best score."
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


#: Number formats of columns whose values are not means over cross-validation folds.
_FORMATS = {"lam": ".4g", "dropout": "g", "lr": "g", "weight_decay": "g", "increase": "+.1%"}


def _table(frame: pd.DataFrame, columns: Mapping[str, str]) -> None:
    """Show columns with titles, means with standard errors, and "–" for settings that diverged."""
    text_table = pd.DataFrame({title: _texts(frame, name) for name, title in columns.items()})
    st.dataframe(text_table, hide_index=True, key=KEY("found"))


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
    """Copy the best settings of a search to the Train form, with the search's method and objective."""
    times, _ = st.session_state.get(ADOPTED, (0, None))
    st.session_state[ADOPTED] = times + 1, settings
    st.session_state[METHOD] = [plan.method]
    st.session_state[OBJECTIVE] = plan.objective
    choose_search(None)


def _take_lam(plan: LamSearch, lam: float) -> None:
    """Copy the weight that a search found to the Train form, with its method, objective and settings."""
    _take_settings(plan, plan.settings)
    st.session_state[GRID] = OWN_GRID
    st.session_state[lams_key(OWN_GRID)] = f"{lam:.4g}"
