"""Train: a whole range of models, from most accurate to most fair."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from fairdash.api import DEFAULT_LAMS
from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.data.wording import counted
from fairdash.errors import FairdashError, OptionError, Problem
from fairdash.figures.curves import curves_figure
from fairdash.runs.launch import start_run
from fairdash.runs.quick import VALIDATION_SHARE
from fairdash.runs.searches import SearchJob
from fairdash.runs.store import DONE, Run
from fairdash.training.losses import LOSSES
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import chart, show_problems, theme
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status
from fairdash.ui.pages import page
from fairdash.ui.searching import (
    GRID,
    METHOD,
    OBJECTIVE,
    OWN_GRID,
    TAKEN,
    Basis,
    ask_for_searches,
    show_search,
)
from fairdash.ui.state import choose_run, chosen_run, chosen_search, chosen_source
from fairdash.ui.text import safe

GRIDS = {
    "Whole front, 8 weights": DEFAULT_LAMS,
    "Quick look, 4 weights": (0.5, 1.0, 2.0, 4.0),
    "Fine, 16 weights": tuple(round(0.1 * 60 ** (k / 15), 3) for k in range(16)),
    OWN_GRID: (),
}
DEVICES = ("auto", "cpu", "cuda", "mps")
#: As fair as the adversarial methods at the same error, by measures that are not its own, and quickest
#: (docs/training.md).
DEFAULT_METHOD = "hgr_spline"
FAIR_METHODS = [name for name in METHODS if name != STANDARD]


def numbers(text: str, *, column: str) -> tuple[float, ...]:
    """Numbers separated by commas, semicolons or spaces; OptionError naming `column` otherwise."""
    words = text.replace(",", " ").replace(";", " ").split()
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise OptionError(
            Problem(column=column, what="Not a list of numbers", mend="Write numbers such as 0.1 0.5 1 2.")
        ) from None


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
    st.session_state.setdefault(f"lams {preset}", " ".join(f"{lam:g}" for lam in GRIDS[preset]))
    return right.text_input(
        "The weights",
        disabled=preset != OWN_GRID,
        placeholder="0.1 0.3 1 3",
        key=f"lams {preset}",
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
    left, right = st.columns(2, vertical_alignment="bottom")
    loss = left.selectbox(
        "What counts as accurate?",
        suitable,
        format_func=lambda each: LOSSES[each].title,
        key="loss",
        help="\n".join(f"- {LOSSES[each].title}: {LOSSES[each].meaning}" for each in suitable),
    )
    balance = right.checkbox(
        "Balance: predictions add up to the target",
        key="balance",
        help="Each model is shifted, or scaled, so that over its training rows the predictions add up to "
        "what was observed.",
    )
    return loss, balance


@dataclass(frozen=True)
class Advanced:
    """What stands under "advanced"."""

    settings: TrainingSettings
    seed: int
    device: str
    validation_share: float


def ask_for_settings(loss: tuple[str, bool]) -> Advanced | None:
    """Everything under "advanced"; None, with the reason shown, if it can't be used."""
    times, taken = st.session_state.get(TAKEN, (0, None))
    default = TrainingSettings() if taken is None else TrainingSettings.from_json(taken)

    def key(name: str) -> str:
        # Widgets of their own each time: what was typed before gives way to what is taken over.
        return f"{name} {times}"

    with st.expander("Advanced: networks and schedule"):
        left, middle, right = st.columns(3)
        hidden = left.text_input(
            "Units of the predictor's hidden layers", " ".join(map(str, default.hidden)), key=key("hidden")
        )
        adversary = middle.text_input(
            "Units of the adversary's hidden layers",
            " ".join(map(str, default.adversary_hidden)),
            key=key("adversary"),
        )
        steps = right.number_input(
            "Adversary's steps a predictor's step",
            1,
            100,
            default.adversary_steps,
            key=key("steps"),
            help="More is steadier.",
        )
        epochs = left.number_input(
            "Epochs (passes over the rows)", 2, 2000, default.n_epochs, key=key("epochs")
        )
        batch = middle.number_input("Rows a mini-batch", 16, 100_000, default.batch_size, key=key("batch"))
        decay = right.number_input(
            "Weight decay (L2)", 0.0, 10.0, default.weight_decay, format="%.3f", key=key("decay")
        )
        lr = left.number_input("Learning rate", 1e-5, 1.0, default.lr, format="%.4f", key=key("lr"))
        dropout = middle.number_input("Dropout", 0.0, 0.9, default.dropout, step=0.05, key=key("dropout"))
        seed = right.number_input("Seed", 0, 2**31, 0)
        device = left.selectbox("Device", ["auto", "cpu", "cuda", "mps"], help="auto: a GPU if there is one.")
        validation = middle.number_input(
            "Share of the training rows kept for choices",
            0.0,
            0.5,
            VALIDATION_SHARE,
            step=0.05,
            help="On these validation rows a point of the trade-off is chosen, and training stopped early. "
            "Without them no choice can be made that the test rows have not seen.",
        )
        patience = right.number_input(
            "Stop early after so many epochs without gain",
            0,
            500,
            default.patience or 0,
            key=key("patience"),
            help="On the validation rows. 0: every epoch is trained.",
        )
        try:
            settings = TrainingSettings(
                hidden=tuple(int(width) for width in numbers(hidden, column="hidden layers")),
                adversary_hidden=tuple(
                    int(width) for width in numbers(adversary, column="adversary's layers")
                ),
                adversary_steps=int(steps),
                n_epochs=int(epochs),
                warm_up_epochs=min(default.warm_up_epochs, int(epochs) // 4),
                batch_size=int(batch),
                weight_decay=decay,
                lr=lr,
                dropout=dropout,
                loss=loss[0],
                balance=loss[1],
                patience=int(patience) or None,
            )
        except FairdashError as error:
            show_problems(error)
            return None
    return Advanced(settings, int(seed), device, validation)


def show_form(source: DatasetSource, dataset: Dataset, search: SearchJob | None) -> None:
    st.markdown(
        f"**{safe(dataset.title)}** · {counted(dataset.n_rows, 'row')} · predicts "
        f"**{safe(dataset.roles.target)}** from {counted(len(dataset.roles.features), 'feature')} · "
        f"sensitive: **{safe(', '.join(dataset.roles.sensitive))}**, which the model never sees"
    )
    st.page_link(page("data"), label="Other data or roles", icon=":material/table:")
    # Not the widgets' defaults: what a search was made for may have been put here.
    st.session_state.setdefault(OBJECTIVE, "demographic_parity")
    st.session_state.setdefault(METHOD, [DEFAULT_METHOD])
    objective = st.segmented_control(
        "What must not depend on the sensitive attribute?",
        list(OBJECTIVES),
        required=True,
        format_func=lambda each: OBJECTIVES[each].title,
        key=OBJECTIVE,
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
        key="splits",
        help="Every weight is trained once a split. More splits give steadier figures and take longer.",
    )
    advanced = ask_for_settings(loss)
    if advanced is not None and methods:
        ask_for_searches(
            Basis(
                source=source,
                method=methods[0],
                objective=objective,
                settings=advanced.settings,
                random_state=advanced.seed,
                device=advanced.device,
            )
        )
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
                validation_share=advanced.validation_share,
                settings=advanced.settings,
                random_state=advanced.seed,
                device=advanced.device,
            )
        except FairdashError as error:
            show_problems(error)
            return
        choose_run(start_run(source, plan))
        st.rerun()


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
        chart(curves_figure(curves, "mse", theme=theme()), key="curve-error", alt="Training error by epoch.")
    if curves["dependence"].notna().any():
        with right:
            chart(
                curves_figure(curves, "dependence", theme=theme()),
                key="curve-dependence",
                alt="Dependence found by the penalty by epoch, a line a weight.",
            )


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
    left, right, _ = st.columns([1, 1, 3])
    if status.state == DONE and left.button(
        "See what fairness costs", type="primary", icon=":material/balance:"
    ):
        st.switch_page(page("tradeoff"), query_params={"run": run.id})
    if right.button("Train again", icon=":material/replay:"):
        choose_run(None)
        st.rerun()
    show_curves(run)


st.title("How far should fairness go?")
run_in_view = chosen_run()
if run_in_view is not None:
    show_run(run_in_view)
else:
    search_in_view = chosen_search()
    chosen = chosen_source()
    with st.spinner("Reading the data…"):
        data = dataset_of(chosen)
    show_form(chosen, data, search_in_view)
