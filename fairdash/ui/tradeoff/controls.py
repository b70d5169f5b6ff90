"""What is chosen on the trade-off page besides λ, which is the stage's: objective, method, measure and A."""

from __future__ import annotations

import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.evaluation import curve_points
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import THE_STANDARD, Front, Point, middle_weight, parse_point
from fairdash.runs.store import Run
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.ui.cached import fronts_of, result_of
from fairdash.ui.keys import Address
from fairdash.ui.text import safe


def choose(run: Run) -> Comparison:
    """The controls above the stage, and the comparison that they and the address ask for."""
    plan, result = run.available_plan, result_of(run)
    sensitive, *others = result.sensitive.columns
    first = sensitive
    if others:
        sensitive = st.segmented_control(
            "Sensitive attribute in view",
            list(result.sensitive.columns),
            default=sensitive,
            required=True,
            # Labels of these are Markdown.
            format_func=lambda each: safe(result.names.get(each, each)),
            key=Address.SENSITIVE,
            bind="query-params",
        )
        # An address may name none: ?sensitive=
        sensitive = first if sensitive is None else sensitive
    left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    with left:
        objective = _ask_for_objective(plan.objective)
    fronts = fronts_of(run, sensitive=sensitive)
    front = fronts[objective]
    method = front.methods[0]
    if len(front.methods) > 1:
        method = middle.selectbox(
            "Method",
            front.methods,
            format_func=lambda each: METHODS[each].title,
            key=Address.METHOD,
            bind="query-params",
        )
    measure = right.selectbox(
        "Measure of dependence",
        front.measures,
        index=front.measures.index(front.default_measure),
        format_func=lambda each: REGISTRY[each].symbol,
        key=Address.MEASURE,
        bind="query-params",
        help="\n".join(f"- {REGISTRY[each].symbol}: {REGISTRY[each].title}" for each in front.measures),
    )
    lam = lam_in_view(plan)
    if not ((front.test["method"] == method) & (front.test["lam"] == lam)).any():
        st.warning("The models around this weight diverged in every split; the standard model is shown.")
        lam = 0.0
    return Comparison(
        title=run.spec.source.title,
        plan=plan,
        result=result,
        fronts=fronts,
        objective=objective,
        measure=measure,
        a=_kept_point(front),
        b=Point(method, lam),
    )


def show_comparison_control(comparison: Comparison) -> None:
    """What the chosen point is compared with, and the button that keeps it as the next one's A."""
    left, right, _ = st.columns([1.2, 1.2, 2], vertical_alignment="center")
    left.button(
        "Keep this point to compare with",
        icon=":material/keep:",
        on_click=keep,
        args=(comparison.b,),
        disabled=comparison.is_of_one_point,
        width="stretch",
        help="Everything on this page then compares the slider's point with the one that was kept.",
    )
    if not comparison.a.is_standard:
        right.button(
            "Compare with the standard model again",
            icon=":material/undo:",
            on_click=keep,
            args=(THE_STANDARD,),
            width="stretch",
        )


def go_to(method: str, lam: float) -> None:
    """Move the slider, for a button's callback."""
    st.session_state[Address.METHOD] = method
    st.query_params[Address.LAM] = f"{lam:g}"


def keep(point: Point) -> None:
    """Compare with this point from now on."""
    if point.is_standard:
        st.query_params.pop(Address.AGAINST, None)
    else:
        st.query_params[Address.AGAINST] = f"{point.method}:{point.lam:g}"


def _kept_point(front: Front) -> Point:
    """Point A: what the address names if it is there, else the standard model."""
    try:
        return parse_point(front, st.query_params.get(Address.AGAINST, STANDARD))
    except OptionError:
        return THE_STANDARD


def _ask_for_objective(trained_for: str) -> str:
    chosen = st.segmented_control(
        "What must not depend on the sensitive attribute?",
        list(OBJECTIVES),
        default=trained_for,
        required=True,
        format_func=lambda each: OBJECTIVES[each].title,
        key=Address.OBJECTIVE,
        bind="query-params",
    )
    # An address may name none: ?objective=
    return str(chosen or trained_for)


def lam_in_view(plan: Sweep) -> float:
    """The weight that the address names if the path stops there, else the middle one."""
    asked = st.query_params.get(Address.LAM)
    stops = (stop.lam for stop in curve_points(plan.lams))
    return next((lam for lam in stops if f"{lam:g}" == asked), middle_weight(plan))


def show_whose(comparison: Comparison) -> None:
    """What the page is about, in one quiet line."""
    seen, trained = comparison.objective_seen, OBJECTIVES[comparison.plan.objective]
    line = f"{safe(comparison.title)} · {seen.meaning}"
    if seen != trained:
        line += f" These models were trained for {trained.title.lower()}."
    columns = (comparison.target, *comparison.result.sensitive.columns)
    headers = [
        f"{comparison.called_column(each)}: column {each}"
        for each in columns
        if each in comparison.result.names
    ]
    st.caption(line, help=safe("; ".join(headers)) or None)
