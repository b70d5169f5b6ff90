"""Trade-off: what does fairness cost?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from fairdash.assessment import of_sensitive, pareto_efficient
from fairdash.dependence import REGISTRY
from fairdash.figures.front import front_figure
from fairdash.figures.profile import profile_figure
from fairdash.runs.store import DONE, Run, RunResult, RunSpec, list_runs
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES, Objective
from fairdash.training.sweep import STANDARD
from fairdash.ui.cached import profile_of, result_of, summary_of
from fairdash.ui.frame import chart, download, theme
from fairdash.ui.pages import page
from fairdash.ui.state import choose_run, chosen_run
from fairdash.ui.text import label, number, safe, with_unit

FIGURES = ("mse", "hgr_kde", "fairquant", "fairquant_cumulative")


@dataclass(frozen=True)
class View:
    """The run in view and what the user chose to see of it."""

    spec: RunSpec
    result: RunResult
    summary: pd.DataFrame  # test rows, means over splits
    method: str
    lam: float
    measure: str
    sensitive: str

    @property
    def objective(self) -> Objective:
        return OBJECTIVES[self.spec.plan.objective]

    @property
    def unit(self) -> str:
        return self.result.units.get(self.result.target_name, "")

    def mean(self, figure: str, *, standard: bool = False) -> float:
        """Mean over the splits of the chosen, or of the standard model."""
        return float(self._row(standard)[figure])

    def shown(self, figure: str, *, standard: bool = False) -> str:
        """The same, with the digits that its standard error leaves it."""
        row = self._row(standard)
        return number(float(row[figure]), error=float(row.get(f"{figure}_se", float("nan"))))

    def _row(self, standard: bool) -> pd.Series:
        method, lam = (STANDARD, 0.0) if standard else (self.method, self.lam)
        rows = self.summary[(self.summary["method"] == method) & (self.summary["lam"] == lam)]
        return rows.iloc[0]

    def in_both(self) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]]:
        """Of each split: its number, its test rows, the standard and the chosen model's predictions there."""
        plain = self.result.predictions_of(STANDARD, 0.0)
        fair = self.result.predictions_of(self.method, self.lam)
        for split in sorted(plain.keys() & fair.keys()):
            rows = self.result.splits[split].test
            yield split, rows, plain[split][rows], fair[split][rows]


def run_in_view() -> Run | None:
    """The run that the address names, else the newest finished one."""
    run = chosen_run()
    if run is None:
        run = list_runs().newest(DONE)
        if run is not None:
            choose_run(run)
    return run


def show_nothing_yet(run: Run | None) -> None:
    if run is None:
        st.info(
            "There is no finished run yet. Train a range of models first; on the built-in example it "
            "takes about a quarter of a minute."
        )
        st.page_link(page("train"), label="Train fair models", icon=":material/arrow_forward:")
        return
    st.info(f"This run is not finished: it is {run.status.state}.")
    st.page_link(page("train"), label="Look at its progress", query_params={"run": run.id})


def choose(run: Run) -> View:
    """The controls: sensitive column where there are several, method, λ and measure."""
    spec, result = run.spec, result_of(run)
    sensitive, *others = result.sensitive.columns
    if others:
        sensitive = st.segmented_control(
            "Sensitive attribute in view",
            list(result.sensitive.columns),
            default=sensitive,
            required=True,
            key="sensitive",
            bind="query-params",
        )
    summary = summary_of(run.id, sensitive)
    methods = [method for method in spec.plan.methods if method != STANDARD]
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    method = methods[0]
    if len(methods) > 1:
        method = right.selectbox("Method", methods, format_func=lambda each: METHODS[each].title)
    lams = sorted(summary.loc[summary["method"] == method, "lam"])
    lam = left.select_slider(
        "Weight of fairness, λ",
        lams,
        value=lams[len(lams) // 2],
        format_func=lambda each: f"{each:g}",
        key="lam",
        bind="query-params",
        help="How much a unit of dependence counts against a unit of squared error in training. "
        "Each stop is a trained model.",
    )
    measures = [name for name in REGISTRY if name in summary]
    measure = right.selectbox(
        "Measure of dependence",
        measures,
        format_func=lambda each: REGISTRY[each].symbol,
        key="measure",
        bind="query-params",
        help="\n".join(f"- {REGISTRY[each].symbol}: {REGISTRY[each].title}" for each in measures),
    )
    return View(spec, result, summary, method, float(lam), measure, sensitive)


def answer(view: View) -> str:
    """The finding in one sentence or two, in words that fit what was found."""
    what = f"the {view.objective.audited} of {safe(view.result.target_name)}"
    value, edge = view.mean(view.measure), view.mean(f"{view.measure}_floor_q95")
    symbol = REGISTRY[view.measure].symbol
    figures = f"({safe(symbol)} {view.shown(view.measure)}; independence stays below {number(edge)})"
    sensitive = safe(view.sensitive)
    if value <= edge:
        finding = f"{what} can no longer be told from independent of {sensitive} {figures}"
    elif value < view.mean(view.measure, standard=True):
        finding = f"{what} depends less on {sensitive} than before, but still does {figures}"
    else:
        finding = f"{what} depends on {sensitive} no less than with the standard model {figures}"
    growth = view.mean("mse") / view.mean("mse", standard=True) - 1
    cost = f"grows by {growth:.0%}" if growth >= 0.005 else "hardly changes"
    return f"**At λ = {view.lam:g} {finding}. The test error {cost}.**"


def subtitle(view: View) -> str:
    n_splits = len(view.result.splits)
    splits = "1 random split" if n_splits == 1 else f"mean of {n_splits} random splits"
    return f"{len(view.result.splits[0].test):,} test rows, {splits}; {view.objective.title.lower()}"


def show_charts(view: View, run: Run) -> None:
    target, sensitive = view.result.target_name, view.sensitive
    zero = view.objective.uses_target
    profile = profile_figure(
        profile_of(run.id, STANDARD, 0.0, sensitive),
        profile_of(run.id, view.method, view.lam, sensitive),
        chosen_name=f"λ = {view.lam:g}",
        audited=view.objective.audited,
        sensitive=label(sensitive, view.result.units.get(sensitive, "")),
        level=label(
            f"Average {view.objective.audited}" + (" (predicted − true)" if zero else ""),
            view.unit,
        ),
        reference=0.0 if zero else float(view.result.target.mean()),
        reference_name="no error on average" if zero else f"average {target}",
        subtitle=subtitle(view),
        theme=theme(),
    )
    test = of_sensitive(view.result.frame, sensitive)
    test = test[(test["part"] == "test") & ~test["diverged"]]
    front = front_figure(
        test,
        view.summary,
        measure=view.measure,
        measure_title=f"{REGISTRY[view.measure].symbol} between {view.objective.audited} and {sensitive}",
        method=view.method,
        chosen_lam=view.lam,
        subtitle=subtitle(view),
        theme=theme(),
    )
    left, right = st.columns(2)
    with left:
        chart(
            profile,
            key="profile",
            alt=f"Average {view.objective.audited} in groups of {sensitive}: the standard model and "
            f"the model at λ = {view.lam:g}, with 95 % intervals.",
        )
    with right:
        chart(
            front,
            key="front",
            alt="Test error against dependence for every trained λ; the chosen one is marked.",
        )


def show_four_numbers(view: View) -> None:
    y = view.result.target
    moved = float(np.mean([np.abs(fair - plain).mean() for _, _, plain, fair in view.in_both()]))
    growth = view.mean("mse") / view.mean("mse", standard=True) - 1
    cards = (
        (
            "Test error",
            view.shown("mse"),
            f"{growth:+.0%} against standard",
            "Mean squared error divided by the variance of the target: 0 is perfect, 1 is what predicting "
            "the mean reaches.",
        ),
        (
            REGISTRY["hgr_kde"].symbol,
            view.shown("hgr_kde"),
            f"noise floor {number(view.mean('hgr_kde_floor'))}",
            f"0: {REGISTRY['hgr_kde'].zero}; 1: {REGISTRY['hgr_kde'].one}. The floor is what the same "
            "estimator reads on average when the sensitive attribute is shuffled.",
        ),
        (
            "FairQuant",
            with_unit(view.shown("fairquant"), view.unit),
            f"noise floor {with_unit(number(view.mean('fairquant_floor')), view.unit)}",
            "How far the averages of 50 equal-sized groups of the sensitive attribute lie from the overall "
            "average, on average (fewer groups where ties or few rows demand it).",
        ),
        (
            "A prediction moves by",
            with_unit(number(moved), view.unit),
            f"target's spread: {with_unit(number(float(y.std())), view.unit)}",
            "Mean absolute difference between this model's and the standard model's prediction of a row; "
            "below it the standard deviation of the target.",
        ),
    )
    for column, (title, value, below, meaning) in zip(st.columns(4), cards, strict=True):
        column.metric(
            title, value, border=True, help=safe(meaning), delta=below, delta_color="off", delta_arrow="off"
        )


def metrics_table(view: View) -> pd.DataFrame:
    """Standard and chosen model side by side, each figure beside its noise floor."""
    rows = []
    for figure in FIGURES:
        unit = view.unit if figure.startswith("fairquant") else ""
        row = {"Figure (test rows)": "MSE ÷ variance" if figure == "mse" else REGISTRY[figure].symbol}
        for title, standard in (("Standard model", True), (f"λ = {view.lam:g}", False)):
            row[title] = with_unit(view.shown(figure, standard=standard), unit)
            row[f"{title}: noise floor (95 %)"] = (
                "–"
                if figure == "mse"
                else f"{number(view.mean(f'{figure}_floor', standard=standard))} "
                f"({number(view.mean(f'{figure}_floor_q95', standard=standard))})"
            )
        rows.append(row)
    return pd.DataFrame(rows)


def front_table(view: View) -> pd.DataFrame:
    """Every trained λ with its means over the splits."""
    table = view.summary[view.summary["method"].isin([STANDARD, view.method])].drop(columns="part")
    table.insert(3, "not beaten by another", pareto_efficient(table["mse"], table[view.measure]))
    return table


def show_numbers(view: View) -> None:
    shown = st.segmented_control(
        "More",
        ["This model", "Every λ", "How to read this"],
        default="This model",
        label_visibility="collapsed",
        key="more",
    )
    if shown == "This model":
        st.dataframe(metrics_table(view), hide_index=True, alt="The chosen and the standard model's figures.")
        st.caption(
            "Means over the random splits, test rows only. The noise floor is what the same estimator reads "
            "when the sensitive attribute is shuffled: its mean, and in brackets the value that "
            "independence exceeds in 5 % of cases."
        )
    elif shown == "Every λ":
        st.dataframe(front_table(view), hide_index=True, alt="The figures of every trained weight.")
    elif shown == "How to read this":
        for figure in FIGURES[1:]:
            entry = REGISTRY[figure]
            st.markdown(
                f"**{safe(entry.title)}** · 0: {safe(entry.zero)}; 1: {safe(entry.one)}. "
                f"*It misleads when:* {safe(entry.fails_when)} *Source:* {safe(entry.source)}."
            )


def show_take_away(view: View, run: Run) -> None:
    st.subheader("Take it away")
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(view.result.frame, label="All figures (CSV)", name=f"{run.id}-figures", key="csv-figures")
    with right:
        download(
            scored_table(view), label="Test predictions (CSV)", name=f"{run.id}-predictions", key="csv-rows"
        )
    st.caption("The camera on each chart saves it as a picture. Every file is made on this machine.")


def scored_table(view: View) -> pd.DataFrame:
    """Each split's test rows with the standard and the chosen model's prediction."""
    result, s = view.result, view.result.sensitive[view.sensitive].to_numpy()
    parts = [
        pd.DataFrame(
            {
                "split": split + 1,
                "row": rows + 1,
                view.sensitive: s[rows],
                result.target_name: result.target[rows],
                "standard model": plain,
                f"λ = {view.lam:g}": fair,
            }
        )
        for split, rows, plain, fair in view.in_both()
    ]
    return pd.concat(parts, ignore_index=True)


def show(run: Run) -> None:
    answer_place = st.container()
    view = choose(run)
    answer_place.markdown(answer(view))
    answer_place.caption(f"{safe(view.spec.source.title)} · {view.objective.meaning}")
    show_charts(view, run)
    show_four_numbers(view)
    for note in view.result.notes:
        st.warning(safe(note))
    show_numbers(view)
    show_take_away(view, run)


st.title("What does fairness cost?")
in_view = run_in_view()
if in_view is None or in_view.status.state != DONE:
    show_nothing_yet(in_view)
else:
    show(in_view)
