"""The two charts and the four numbers of the trade-off page."""

from __future__ import annotations

import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.reports import comparison_figures, words
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.reports.point_values import of_older_values, why_so_small
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.text import number, safe, signed, with_unit

KEY = Keys(__file__)


def show_answer(comparison: Comparison) -> None:
    """What was found, in two or three sentences."""
    st.markdown(f"**{safe(words.answer(comparison))}**")
    if explained := why_so_small(comparison):
        st.caption(safe(explained))


def show_notes(comparison: Comparison) -> None:
    """What the run has to say of itself."""
    for note in comparison.result.notes:
        st.warning(safe(note))
    for sentence in of_older_values(comparison):
        st.info(safe(sentence))


def show_charts(comparison: Comparison) -> None:
    """Averages by the sensitive attribute on the left, the front on the right."""
    left, right = st.columns(2)
    with left:
        show_profile(comparison, objective=comparison.objective, key=KEY("profile"))
    with right:
        show_front(comparison)


def show_profile(comparison: Comparison, *, objective: str, key: str, by_value: bool = False) -> None:
    """Average prediction or residual in groups of the sensitive attribute, A and B."""
    chart(
        comparison_figures.profile(comparison, objective=objective, theme=theme(), by_value=by_value),
        key=key,
        alt=f"Average {OBJECTIVES[objective].audited} in groups of {comparison.sensitive_called}: "
        f"{comparison.a.title} and {comparison.b.title}, with 95 % intervals.",
    )


def show_front(comparison: Comparison) -> None:
    """Test error against dependence: all methods, references, floor, the two points."""
    chart(
        comparison_figures.front(comparison, theme=theme()),
        key=KEY("front"),
        alt="Test error against dependence for every method and trained weight, with standard errors; the "
        "noise floor, references that use the sensitive attribute, and the chosen point are marked.",
    )
    curve_point = comparison.curve_point(comparison.b)
    if not curve_point.is_trained:
        share = f"{curve_point.share:.0%} of the model at λ = {curve_point.high:g}"
        rest = "the standard model" if curve_point.low == 0 else f"the one at λ = {curve_point.low:g}"
        st.caption(f"The chosen point is a blend: {share}, the rest of {rest}. A hollow mark says so.")
    if comparison.is_worse_than_both_ends():
        st.warning(
            "This blend shows more dependence than both trained models beside it: take one of them instead."
        )


def show_four_numbers(comparison: Comparison) -> None:
    """Error, dependence and its verdict, FairQuant, and how far predictions move."""
    cards = (
        (
            "Test error",
            comparison.shown(comparison.front.error, comparison.b),
            f"{signed(100 * comparison.growth)} % against {_short(comparison, comparison.a)}",
            comparison.error_meaning,
        ),
        (
            REGISTRY[comparison.measure].symbol,
            comparison.shown(comparison.measure, comparison.b),
            words.verdict_in_short(comparison),
            f"0: {REGISTRY[comparison.measure].zero}; 1: {REGISTRY[comparison.measure].one}. "
            f"{words.how_the_verdict_is_made(comparison)}",
        ),
        (
            "FairQuant",
            with_unit(comparison.shown("fairquant", comparison.b), comparison.unit),
            "noise floor "
            f"{with_unit(number(comparison.mean('fairquant_floor', comparison.b)), comparison.unit)}",
            "How far the averages of 50 equal-sized groups of the sensitive attribute lie from the overall "
            "average, on average (fewer groups where ties or few rows demand it). It is blind to groups that "
            "differ in spread and not in average.",
        ),
        (
            "A prediction moves by",
            with_unit(number(comparison.mean_change), comparison.unit),
            f"target's spread: {with_unit(number(float(comparison.result.target.std())), comparison.unit)}",
            "Mean absolute difference between the two models' predictions of a row; below it the standard "
            "deviation of the target.",
        ),
    )
    for column, (title, value, below, meaning) in zip(st.columns(4), cards, strict=True):
        column.metric(
            title, value, border=True, help=safe(meaning), delta=below, delta_color="off", delta_arrow="off"
        )


def _short(comparison: Comparison, point: Point) -> str:
    return "standard" if point.is_standard else comparison.called(point)
