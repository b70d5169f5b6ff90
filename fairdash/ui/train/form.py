"""The Train page's form: what to train, on what, and with which weights."""

from __future__ import annotations

import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError, Problem
from fairdash.runs.launch import start_run
from fairdash.runs.searches import SearchJob
from fairdash.training import defaults
from fairdash.training.losses import LOSSES
from fairdash.training.methods import DEFAULT_METHOD, METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.plan import SearchPlan
from fairdash.training.set_aside import default_share
from fairdash.training.split_kinds import SPLITS, kinds_for
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
from fairdash.utils.text import counted

KEY = Keys(__file__)
LOSS, BALANCE, TARIFF = KEY("loss"), KEY("balance"), KEY("tariff")

GRIDS = {
    "Whole front, 8 weights": defaults.LAMS,
    "Quick look, 4 weights": (0.5, 1.0, 2.0, 4.0),
    "Fine, 16 weights": tuple(round(0.1 * 60 ** (k / 15), 3) for k in range(16)),
    OWN_GRID: (),
}
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
    if follows(TARIFF, loss[0]):
        st.session_state[TARIFF] = LOSSES[loss[0]].has_log_link
    tariff = st.checkbox(
        "Fair tariffs beside the networks",
        key=TARIFF,
        help="Additive models that can be filed as a table of relativities, fitted at the same weights; "
        "λ = 0 is a GLM. On by default where predictions are scaled, as they are by counts and costs.",
    )
    if search is not None:
        show_search(search)
    lams = ask_for_lams()
    split = ask_for_split(dataset)
    n_splits = st.slider(
        f"{SPLITS[split].phrase.capitalize()} splits into training (80 %) and test rows (20 %)",
        1,
        20,
        2,
        key=KEY("splits"),
        help="Every weight is trained once a split. More splits give steadier figures and take longer.",
    )
    confirmation = ask_for_confirmation(dataset)
    advanced = ask_for_settings(loss)
    if advanced is not None and methods:
        shared = {name: advanced[name] for name in ("settings", "random_state", "device")} | {
            "split": split,
            "confirmation_share": confirmation,
        }
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
                split=split,
                confirmation_share=confirmation,
                tariff=tariff,
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


def ask_for_split(dataset: Dataset) -> str:
    """How test rows are chosen; asked where the data set has a group or a time."""
    kinds = kinds_for(dataset)
    if len(kinds) == 1:
        return kinds[0]
    split = st.selectbox(
        "Test rows are chosen",
        kinds,
        format_func=lambda each: SPLITS[each].title.lower(),
        # What was chosen where there was no group must not part those of another table.
        key=KEY("split-kind", dataset.roles.group, dataset.roles.time),
    )
    st.caption(SPLITS[split].meaning)
    return split


def ask_for_confirmation(dataset: Dataset) -> float:
    """Share of the rows that is set aside to confirm the choice."""
    return st.number_input(
        "Share of the rows set aside to confirm the choice",
        0.0,
        0.5,
        default_share(dataset.n_rows),
        step=0.05,
        # Another table has another default.
        key=KEY("confirmation", dataset.n_rows),
        help="Nothing is trained on, tested on or chosen by these rows until you open them, once, for the "
        "point that you mean to use. At most 10,000 rows, whole groups where there are groups, the latest "
        "rows for splits by time. By default a fifth from 5,000 rows on, and none of fewer.",
    )


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
    y, target = dataset.target.to_numpy(), dataset.roles.target
    problems = {name: loss.target_problem(y, column=target) for name, loss in LOSSES.items()}
    suitable = [name for name, problem in problems.items() if problem is None]
    suggested, why = suggested_loss(y, None if dataset.weight is None else dataset.weight.to_numpy())
    # Another target has another loss: what was chosen for one says nothing of the next.
    if follows(LOSS, [target, dataset.per_exposure, suitable, suggested]):
        st.session_state[LOSS] = suggested
    left, right = st.columns(2, vertical_alignment="bottom")
    loss = left.selectbox(
        "What counts as accurate?",
        suitable,
        format_func=lambda each: LOSSES[each].title,
        key=LOSS,
        help="\n".join(f"- {LOSSES[each].title}: {LOSSES[each].meaning}" for each in suitable),
    )
    if follows(BALANCE, loss):
        st.session_state[BALANCE] = LOSSES[loss].has_log_link
    balance = right.checkbox(
        "Balance: predictions add up to the target",
        key=BALANCE,
        help="Each model is shifted, or scaled, so that over its training rows the predictions add up to "
        "what was observed. On by default where predictions are scaled, as they are by counts and costs.",
    )
    if why and loss == suggested:
        st.caption(f"{LOSSES[loss].title}, as {why}.")
    for name, problem in problems.items():
        if problem is not None:
            st.caption(safe(not_offered(LOSSES[name].title, problem)))
    return loss, balance


def follows(widget: str, what: object) -> bool:
    """Whether what a widget's default follows is new, or the widget was not on the page just now."""
    state = KEY("follows", widget)
    new = widget not in st.session_state or st.session_state.get(state) != what
    st.session_state[state] = what
    return new


def not_offered(title: str, problem: Problem) -> str:
    """Why a loss can't be chosen, in a sentence."""
    rows = f": in {counted(problem.count, 'row')} it is not" if problem.count else ""
    needs = problem.what.partition(" needs ")[2]
    return f"{title} is not offered: it needs {needs}{rows}."
