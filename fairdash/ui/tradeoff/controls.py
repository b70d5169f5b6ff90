"""What the user chooses on the trade-off page: objective, method, measure, the place on the path, and A."""

from __future__ import annotations

import streamlit as st

from fairdash.assessment import Stop, stops
from fairdash.data.source import DatasetSource
from fairdash.dependence import REGISTRY
from fairdash.reports.comparison import THE_STANDARD, Comparison, Front, Point
from fairdash.runs.store import Run
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.cached import front_of, result_of
from fairdash.ui.text import safe

OBJECTIVE, METHOD, MEASURE, LAM, AGAINST, SENSITIVE = (
    "objective",
    "model",
    "measure",
    "lam",
    "against",
    "sensitive",
)


def choose(run: Run) -> Comparison:
    """The controls above the charts, and the comparison that they ask for."""
    plan, result = run.plan_seen, result_of(run)
    sensitive, *others = result.sensitive.columns
    if others:
        sensitive = st.segmented_control(
            "Sensitive attribute in view",
            list(result.sensitive.columns),
            default=sensitive,
            required=True,
            # Labels of these are Markdown.
            format_func=safe,
            key=SENSITIVE,
            bind="query-params",
        )
    # The place of the slider, which needs to know the method below it.
    slider = st.container()
    left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    with left:
        objective = _ask_for_objective(plan.objective)
    front = front_of(run, objective=objective, sensitive=sensitive)
    method = front.methods[0]
    if len(front.methods) > 1:
        method = middle.selectbox(
            "Method",
            front.methods,
            format_func=lambda each: METHODS[each].title,
            key=METHOD,
            bind="query-params",
        )
    measure = right.selectbox(
        "Measure of dependence",
        front.measures,
        format_func=lambda each: REGISTRY[each].symbol,
        key=MEASURE,
        bind="query-params",
        help="\n".join(f"- {REGISTRY[each].symbol}: {REGISTRY[each].title}" for each in front.measures),
    )
    way = stops(plan.lams)
    with slider:
        lam = _ask_for_lam(way, plan.lams)
    if not ((front.test["method"] == method) & (front.test["lam"] == lam)).any():
        st.warning("The models around this weight diverged in every split; the standard model is shown.")
        lam = 0.0
    b = Point(method, lam)
    return Comparison(
        title=run.spec.source.title,
        plan=plan,
        result=result,
        front=front,
        objective=objective,
        measure=measure,
        sensitive=sensitive,
        a=_kept_point(front),
        b=b,
    )


def show_comparison_control(found: Comparison) -> None:
    """What the chosen point is compared with, and the button that keeps it as the next one's A."""
    left, right, _ = st.columns([1.2, 1.2, 2], vertical_alignment="center")
    left.button(
        "Keep this point to compare with",
        icon=":material/keep:",
        on_click=keep,
        args=(found.b,),
        disabled=found.is_of_one_point,
        width="stretch",
        help="Everything on this page then compares the slider's point with the one that was kept.",
    )
    if not found.a.is_standard:
        right.button(
            "Compare with the standard model again",
            icon=":material/undo:",
            on_click=keep,
            args=(THE_STANDARD,),
            width="stretch",
        )


def go_to(method: str, lam: float) -> None:
    """Move the slider, for a button's callback."""
    st.session_state[METHOD] = method
    st.session_state[LAM] = lam


def keep(point: Point) -> None:
    """Compare with this point from now on."""
    if point.is_standard:
        st.query_params.pop(AGAINST, None)
    else:
        st.query_params[AGAINST] = f"{point.method}:{point.lam:g}"


def _kept_point(front: Front) -> Point:
    """Point A: what the address names if it is there, else the standard model."""
    method, _, lam = st.query_params.get(AGAINST, "").partition(":")
    point = front.point(method, lam)
    return THE_STANDARD if point is None or point.is_standard else point


def _ask_for_objective(trained_for: str) -> str:
    chosen = st.segmented_control(
        "What must not depend on the sensitive attribute?",
        list(OBJECTIVES),
        default=trained_for,
        required=True,
        format_func=lambda each: OBJECTIVES[each].title,
        key=OBJECTIVE,
        bind="query-params",
    )
    return str(chosen)


def _ask_for_lam(way: tuple[Stop, ...], lams: tuple[float, ...]) -> float:
    trained = sorted({0.0, *lams})
    values = [stop.lam for stop in way]
    chosen = st.select_slider(
        "Weight of fairness, λ",
        values,
        value=trained[len(trained) // 2],
        format_func=lambda each: f"{each:g}",
        key=LAM,
        bind="query-params",
        help="How much a unit of dependence counts against a unit of error in training. A tick is a trained "
        "model; between two ticks the prediction is a blend of the two: a real predictor, judged like one.",
    )
    _ticks([100 * values.index(lam) / (len(values) - 1) for lam in trained])
    return float(chosen)


def _ticks(places: list[float]) -> None:
    """A tick under the slider at each trained weight, in per cent of its length; our own numbers only."""
    ticks = "".join(
        f'<span style="position:absolute;left:{place:.2f}%;width:2px;height:8px;background:currentColor;'
        'opacity:.55;transform:translateX(-1px)"></span>'
        for place in places
    )
    st.html(
        f'<div aria-hidden="true" style="position:relative;height:8px;margin:-1.6rem 0 .4rem">{ticks}</div>'
    )


def show_whose(found: Comparison, source: DatasetSource) -> None:
    """What the page is about, in one quiet line."""
    seen, trained = found.objective_seen, OBJECTIVES[found.plan.objective]
    line = f"{safe(source.title)} · {seen.meaning}"
    if seen != trained:
        line += f" These models were trained for {trained.title.lower()}."
    st.caption(line)
