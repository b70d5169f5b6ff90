"""The Train page's form: what to train, on what, and with which weights."""

from __future__ import annotations

import streamlit as st

from fairdash.api import DEFAULT_LAMS
from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError
from fairdash.runs.launch import start_run
from fairdash.runs.searches import SearchJob
from fairdash.text import counted
from fairdash.training.losses import LOSSES
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.plan import SearchPlan
from fairdash.training.suggested_loss import suggested_loss
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import page
from fairdash.ui.state import choose_run
from fairdash.ui.text import safe
from fairdash.ui.train.advanced import ask_for_settings
from fairdash.ui.train.fields import GRID, METHOD, OBJECTIVE, OWN_GRID, lams_key, numbers
from fairdash.ui.train.finding import show_search
from fairdash.ui.train.searching import ask_for_searches

KEY = Keys(__file__)

GRIDS = {
    "Whole front, 8 weights": DEFAULT_LAMS,
    "Quick look, 4 weights": (0.5, 1.0, 2.0, 4.0),
    "Fine, 16 weights": tuple(round(0.1 * 60 ** (k / 15), 3) for k in range(16)),
    OWN_GRID: (),
}
#: As fair as the adversarial methods at the same error, by measures that are not its own, and quickest
#: (docs/training.md).
DEFAULT_METHOD = "hgr_spline"
FAIR_METHODS = [name for name in METHODS if name != STANDARD]


def show_form(source: DatasetSource, dataset: Dataset, search: SearchJob | None) -> None:
    st.markdown(
        f"**{safe(dataset.title)}** · {counted(dataset.n_rows, 'row')} · predicts "
        f"**{safe(dataset.roles.target)}{per_exposure(dataset)}** from "
        f"{counted(len(dataset.roles.features), 'feature')} · "
        f"sensitive: **{safe(', '.join(dataset.roles.sensitive))}**, which the model never sees"
    )
    st.page_link(page("data"), label="Other data or roles", icon=":material/table:")
    # Not the widgets' defaults: what a search was made for may have been put here.
    st.session_state.setdefault(OBJECTIVE, "demographic_parity")
    st.session_state.setdefault(METHOD, [DEFAULT_METHOD])
    objective = str(
        st.segmented_control(
            "What must not depend on the sensitive attribute?",
            list(OBJECTIVES),
            required=True,
            format_func=lambda each: OBJECTIVES[each].title,
            key=OBJECTIVE,
        )
    )
    st.caption(OBJECTIVES[objective].meaning)
    methods = st.multiselect(
        "Fair methods",
        methods_for(dataset),
        format_func=lambda each: METHODS[each].title,
        key=METHOD,
        placeholder="Choose at least one",
        help="Several are trained beside each other on the same splits, to be compared.",
    )
    for method in methods:
        adversary = " An adversary takes time." if METHODS[method].adversarial else ""
        st.caption(f"**{METHODS[method].title}:** {METHODS[method].meaning}{adversary}")
    loss = ask_for_loss(dataset)
    if search is not None:
        show_search(search)
    lams = ask_for_lams()
    n_splits = st.slider(
        "Random splits into training (80 %) and test rows (20 %)",
        1,
        20,
        2,
        key=KEY("splits"),
        help="Every weight is trained once a split. More splits give steadier figures and take longer.",
    )
    advanced = ask_for_settings(loss)
    if advanced is not None and methods:
        shared = {name: advanced[name] for name in ("settings", "random_state", "device")}
        ask_for_searches(source, SearchPlan(method=methods[0], objective=objective, **shared))
    if st.button(
        "Train", type="primary", icon=":material/play_arrow:", disabled=advanced is None or not methods
    ):
        assert advanced is not None
        try:
            plan = Sweep(
                methods=(STANDARD, *methods),
                lams=numbers(lams, column="λ"),
                objective=objective,
                n_splits=n_splits,
                **advanced,
            )
        except FairdashError as error:
            show_problems(error)
            return
        choose_run(start_run(source, plan, owner=current_owner()))
        st.rerun()


def per_exposure(dataset: Dataset) -> str:
    """What is behind the target's name where it is a rate."""
    return f" ÷ {safe(str(dataset.roles.weight))}" if dataset.per_exposure else ""


def ask_for_lams() -> str:
    """The λ grid, as text that the form hands over."""
    left, right = st.columns(2)
    preset = left.selectbox(
        "Weights of fairness, λ",
        list(GRIDS),
        key=GRID,
        help="One model is trained for each weight and split. They are spread on a logarithmic scale; "
        "the standard model is always trained beside them.",
    )
    # Not the widget's default: a weight that a search has found may have been put here.
    st.session_state.setdefault(lams_key(preset), " ".join(f"{lam:g}" for lam in GRIDS[preset]))
    return right.text_input(
        "The weights",
        disabled=preset != OWN_GRID,
        placeholder="0.1 0.3 1 3",
        key=lams_key(preset),
        help="Numbers from 0 up, separated by spaces.",
    )


def methods_for(dataset: Dataset) -> list[str]:
    """The fair methods that take as many sensitive columns as the data set has."""
    several = len(dataset.roles.sensitive) > 1
    return [method for method in FAIR_METHODS if METHODS[method].multivariate or not several]


def ask_for_loss(dataset: Dataset) -> tuple[str, bool]:
    """What accurate means: id of a loss that suits the target, and whether predictions are balanced."""
    y = dataset.target.to_numpy()
    suitable = [
        name for name, loss in LOSSES.items() if loss.target_problem(y, column=dataset.roles.target) is None
    ]
    suggested, why = suggested_loss(y, None if dataset.weight is None else dataset.weight.to_numpy())
    left, right = st.columns(2, vertical_alignment="bottom")
    loss = left.selectbox(
        "What counts as accurate?",
        suitable,
        index=suitable.index(suggested),
        format_func=lambda each: LOSSES[each].title,
        key=KEY("loss"),
        help="\n".join(f"- {LOSSES[each].title}: {LOSSES[each].meaning}" for each in suitable),
    )
    balance = right.checkbox(
        "Balance: predictions add up to the target",
        key=KEY("balance"),
        help="Each model is shifted, or scaled, so that over its training rows the predictions add up to "
        "what was observed.",
    )
    if why and loss == suggested:
        st.caption(f"{LOSSES[loss].title}, as {why}.")
    return loss, balance
