"""Form of the Train page, which asks for a run's weights, networks and schedule, and starts the run."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError, Problem
from fairdash.runs.launch import start_run
from fairdash.runs.searches import SearchJob
from fairdash.runs.state import DONE
from fairdash.runs.store import Run
from fairdash.training import defaults
from fairdash.training.defaults import VALIDATION_SHARE, default_settings, suggested_loss
from fairdash.training.losses import LOSSES
from fairdash.training.methods import DEFAULT_METHOD, METHODS, separation_in_words
from fairdash.training.settings import ARCHITECTURES, OBJECTIVES, TrainingSettings
from fairdash.training.split_kinds import SPLITS, default_share, kinds_for
from fairdash.training.sweep import STANDARD, SearchPlan, Sweep
from fairdash.ui.access import current_owner
from fairdash.ui.frame import chart, show_problems, theme
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, offer_to_resume, show_progress, show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import go_to, page
from fairdash.ui.state import choose_run
from fairdash.ui.text import safe
from fairdash.ui.train.searching import (
    ADOPTED,
    GRID,
    METHOD,
    OBJECTIVE,
    OWN_GRID,
    ask_for_searches,
    lams_key,
    numbers,
    show_search,
)
from fairdash.ui.widgets import ask
from fairdash.utils.classes import attributes_of
from fairdash.utils.options import options_of
from fairdash.utils.text import counted
from fairdash.views.figures.data import training_curves_figure

KEY = Keys(__file__)
LOSS, BALANCE, TARIFF = KEY("loss"), KEY("balance"), KEY("tariff")

#: Label of the option to use weights λ from pilot training at the start of a run.
AUTO = "8 weights found by pilot training"
GRIDS = {
    AUTO: (),
    "Quick look, 4 weights": (0.5, 1.0, 2.0, 4.0),
    "Fine, 16 weights": tuple(round(0.1 * 60 ** (k / 15), 3) for k in range(16)),
    OWN_GRID: (),
}
FAIR_METHODS = [name for name in METHODS if name != STANDARD]


def show_form(source: DatasetSource, dataset: Dataset, search: SearchJob | None) -> None:
    st.markdown(
        f"**{safe(dataset.title)}** · {counted(dataset.n_rows, 'row')} · predicts "
        f"**{safe(dataset.roles.target)}{per_exposure(dataset)}** from "
        f"{counted(len(dataset.roles.features), 'feature')} · sensitive: "
        f"**{safe(', '.join(dataset.roles.sensitive))}**, which the model never sees"
    )
    st.page_link(page("data"), label="Other data or roles", icon=":material/table:")
    # The session state sets these two values, because a finished search can also set them.
    st.session_state.setdefault(OBJECTIVE, "demographic_parity")
    st.session_state.setdefault(METHOD, [DEFAULT_METHOD])
    objective = str(
        st.segmented_control(
            "What must not depend on the sensitive attribute?",
            list(OBJECTIVES),
            required=True,
            format_func=lambda objective: OBJECTIVES[objective].title,
            key=OBJECTIVE,
        )
    )
    st.caption(OBJECTIVES[objective].meaning)
    methods = st.multiselect(
        "Fair methods",
        methods_for(dataset),
        format_func=lambda method: METHODS[method].title,
        key=METHOD,
        placeholder="Choose at least one",
    )
    for method in methods:
        slower = " The adversary of this method makes training slower."
        adversary = slower if METHODS[method].adversarial else ""
        st.caption(f"**{METHODS[method].title}:** {METHODS[method].meaning}{adversary}")
        if note := separation_in_words(method, len(attributes_of(dataset.sensitive))):
            st.caption(safe(note))
    loss = ask_for_loss(dataset)
    if search is not None:
        show_search(search)
    # The section is open after a search, so that the user sees the weight that the search has set.
    with st.expander("Balance, tariffs, weights and splits", expanded=search is not None):
        if needs_default(BALANCE, loss):
            st.session_state[BALANCE] = LOSSES[loss].has_log_link
        balance = st.checkbox(
            "Balance: the sum of predictions equals the sum of the target",
            key=BALANCE,
            help="On training rows, the sum of the predictions then equals the sum of the target. The "
            "option is on by default for counts and costs.",
        )
        if needs_default(TARIFF, loss):
            st.session_state[TARIFF] = LOSSES[loss].has_log_link
        tariff = st.checkbox(
            "Also fit fair tariffs",
            key=TARIFF,
            help="A tariff is an additive model that you can file as a table of relativities. Tariffs are "
            "fitted at the same weights λ as the networks. At λ = 0 a tariff is a GLM. The option is on "
            "by default for counts and costs.",
        )
        lams = ask_for_lams()
        split = ask_for_split(dataset)
        n_splits = st.slider(
            f"{SPLITS[split].phrase.capitalize()} splits into training (80 %) and test rows (20 %)",
            1,
            20,
            2,
            key=KEY("splits"),
            help=options_of(Sweep)["n_splits"].metadata["help"],
        )
        confirmation = ask_for_confirmation(dataset)
    advanced = ask_for_settings(dataset, loss, balance=balance)
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
            is_found = st.session_state[GRID] == AUTO
            plan = Sweep(
                methods=(STANDARD, *methods),
                lams=defaults.LAMS if is_found else numbers(lams, column="λ"),
                find_lams=is_found,
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
    """Return the string after the target's name, which is " ÷ exposure" if the target is a rate, else ""."""
    return f" ÷ {safe(str(dataset.roles.weight))}" if dataset.per_exposure else ""


def ask_for_split(dataset: Dataset) -> str:
    """Return the way to select test rows. Ask the user if the data set has a group or time column."""
    kinds = kinds_for(dataset)
    if len(kinds) == 1:
        return kinds[0]
    split = st.selectbox(
        "Choose test rows",
        kinds,
        format_func=lambda kind: SPLITS[kind].title.lower(),
        # The key contains group and time, so that the choice for one table does not apply to another table.
        key=KEY("split-kind", dataset.roles.group, dataset.roles.time),
    )
    st.caption(SPLITS[split].meaning)
    return split


def ask_for_confirmation(dataset: Dataset) -> float:
    """Ask for the share of rows to set aside as a holdout."""
    share: float = ask(
        st.container(),
        Sweep,
        "confirmation_share",
        value=default_share(dataset.n_rows),
        # The key contains the number of rows, because the default depends on it.
        key=KEY("confirmation", dataset.n_rows),
    )
    return share


def ask_for_lams() -> str:
    """Ask for the grid of weights λ, as a string that the form submits."""
    left, right = st.columns(2)
    preset = left.selectbox(
        "Weights of fairness, λ",
        list(GRIDS),
        key=GRID,
        help="Pilot training fits sixteen models first, to find weights whose dependence is evenly spaced.",
    )
    # The session state sets this value, because a finished search can also set it.
    st.session_state.setdefault(lams_key(preset), " ".join(f"{lam:g}" for lam in GRIDS[preset]))
    return right.text_input(
        "The weights",
        disabled=preset != OWN_GRID,
        placeholder="found at the start of training" if preset == AUTO else "0.1 0.3 1 3",
        key=lams_key(preset),
        help="Numbers from 0 up, separated by spaces.",
    )


def methods_for(dataset: Dataset) -> list[str]:
    """Return the fair methods that accept as many sensitive columns as the data set has."""
    has_several = len(dataset.roles.sensitive) > 1
    return [method for method in FAIR_METHODS if METHODS[method].multivariate or not has_several]


def ask_for_loss(dataset: Dataset) -> str:
    """Ask for a loss that suits the target, and return its id."""
    y, target = dataset.target.to_numpy(), dataset.roles.target
    problems = {name: loss.target_problem(y, column=target) for name, loss in LOSSES.items()}
    suitable = [name for name, problem in problems.items() if problem is None]
    suggested, reason = suggested_loss(y, None if dataset.weight is None else dataset.weight.to_numpy())
    # If the target has changed, the loss that the user chose for the former target is discarded.
    if needs_default(LOSS, [target, dataset.per_exposure, suitable, suggested]):
        st.session_state[LOSS] = suggested
    loss = st.selectbox(
        "Measure of accuracy (loss)",
        suitable,
        format_func=lambda loss: LOSSES[loss].title,
        key=LOSS,
        help="\n".join(f"- {LOSSES[loss].title}: {LOSSES[loss].meaning}" for loss in suitable),
    )
    if reason and loss == suggested:
        st.caption(f"{LOSSES[loss].title}, as {reason}.")
    for name, problem in problems.items():
        if problem is not None:
            st.caption(safe(reason_of_absence(LOSSES[name].title, problem)))
    return loss


def needs_default(widget: str, source: object) -> bool:
    """Return whether a widget is new, or whether `source`, which determines its default, has changed."""
    state = KEY("follows", widget)
    new = widget not in st.session_state or st.session_state.get(state) != source
    st.session_state[state] = source
    return new


def reason_of_absence(title: str, problem: Problem) -> str:
    """Explain in a sentence why a loss can't be selected."""
    rows = f". This condition is not met in {counted(problem.count, 'row')}" if problem.count else ""
    needs = problem.what.partition(" needs ")[2]
    return f"{title} is not available: it needs {needs}{rows}."


DEVICES = ("auto", "cpu", "cuda", "mps")


def ask_for_settings(dataset: Dataset, loss: str, *, balance: bool) -> dict[str, Any] | None:
    """Ask for the options under "Advanced". If they are invalid, show the reason and return None."""
    times, seconds = st.session_state.get(ADOPTED, (0, None))
    default = seconds or default_settings(dataset, loss=loss)

    def key(name: str) -> str:
        # The key changes when settings are copied from a search, so that new widgets show these settings.
        return KEY("field", name, times)

    with st.expander("Advanced: networks and schedule"):
        tune = st.checkbox(
            "First find the learning rate and the weight decay on validation rows",
            seconds is None,
            key=key("tune"),
            help="fairdash first compares standard networks on each split's validation rows, and then "
            "trains the fair models. The search replaces the values of the fields “learning rate” and "
            "“weight decay”.",
        )
        architecture = st.selectbox(
            "Predictor's network",
            list(ARCHITECTURES),
            list(ARCHITECTURES).index(default.architecture),
            key=key("architecture"),
            format_func=lambda name: ARCHITECTURES[name].title,
            help="  \n".join(f"{kind.title}: {kind.meaning}" for kind in ARCHITECTURES.values()),
        )
        columns = st.columns(3)
        widths = {
            name: column.text_input(
                options_of(TrainingSettings)[name].metadata["label"],
                " ".join(map(str, getattr(default, name))),
                key=key(name),
            )
            for column, name in zip(columns, ("hidden", "adversary_hidden"), strict=False)
        }
        tuned = {"format": "%.4f", "disabled": tune}
        fields: dict[str, dict[str, Any]] = {
            "adversary_steps": {},
            "n_epochs": {"min_value": 2},
            "batch_size": {},
            "weight_decay": tuned,
            "lr": tuned,
            "dropout": {},
            "patience": {},
        }
        containers = islice(cycle(columns), 2, None)
        given_values = {
            name: ask(
                next(containers),
                TrainingSettings,
                name,
                value=getattr(default, name),
                key=key(name),
                **options,
            )
            for name, options in fields.items()
        }
        seed = ask(next(containers), Sweep, "random_state", key=KEY("seed"))
        device = next(containers).selectbox(
            "Device", DEVICES, help="With “auto”, a GPU is used if there is one and the training is large."
        )
        validation = ask(
            next(containers), Sweep, "validation_share", value=VALIDATION_SHARE, key=KEY("validation")
        )
        try:
            for name, text in widths.items():
                label = options_of(TrainingSettings)[name].metadata["label"]
                given_values[name] = tuple(map(int, numbers(text, column=label)))
            warm_up = min(default.warm_up_epochs, given_values["n_epochs"] // 4)
            settings = TrainingSettings(
                architecture=architecture, warm_up_epochs=warm_up, loss=loss, balance=balance, **given_values
            )
        except FairdashError as error:
            show_problems(error)
            return None
    return {
        "settings": settings,
        "tune": tune,
        "random_state": seed,
        "device": device,
        "validation_share": validation,
    }


def show_run(run: Run) -> None:
    spec = run.spec
    st.markdown(
        f"**{safe(spec.source.title)}** · {OBJECTIVES[spec.plan.objective].title} · "
        f"{counted(len(spec.plan.methods) - 1, 'fair method')} × {counted(len(spec.plan.lams), 'weight')} λ "
        f"× {counted(spec.plan.n_splits, 'split')}, trained in batches"
    )
    status = run.status
    if not status.is_over:
        st.caption(
            "The work continues if you close the page. To return to this work, use the address of this page."
        )
        follow(run)
        return
    show_status(run, status)
    offer_to_resume(run)
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
            training_curves_figure(curves, "mse", theme=theme()),
            key=KEY("curve-error"),
            alt="Training error by epoch.",
        )
    if curves["dependence"].notna().any():
        with right:
            chart(
                training_curves_figure(curves, "dependence", theme=theme()),
                key=KEY("curve-dependence"),
                alt="Dependence, as measured by the penalty, by epoch; one line per weight.",
            )
