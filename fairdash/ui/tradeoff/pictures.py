"""The two charts and the four numbers of the trade-off page."""

from __future__ import annotations

import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.reports import drawing
from fairdash.reports.comparison import Comparison, Point
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.frame import chart, theme
from fairdash.ui.text import number, safe, signed, with_unit


def show_charts(found: Comparison) -> None:
    """Averages by the sensitive attribute on the left, the front on the right."""
    left, right = st.columns(2)
    with left:
        show_profile(found, objective=found.objective, key="profile")
    with right:
        show_front(found)


def show_profile(found: Comparison, *, objective: str, key: str, by_value: bool = False) -> None:
    """Average prediction or residual in groups of the sensitive attribute, A and B."""
    chart(
        drawing.profile(found, objective=objective, theme=theme(), by_value=by_value),
        key=key,
        alt=f"Average {OBJECTIVES[objective].audited} in groups of {found.sensitive}: {found.a.title} and "
        f"{found.b.title}, with 95 % intervals.",
    )


def show_front(found: Comparison) -> None:
    """Test error against dependence: all methods, references, floor, the two points."""
    chart(
        drawing.front(found, theme=theme()),
        key="front",
        alt="Test error against dependence for every method and trained weight, with standard errors; the "
        "noise floor, references that use the sensitive attribute, and the chosen point are marked.",
    )
    stop = found.stop(found.b)
    if not stop.is_trained:
        share = f"{stop.share:.0%} of the model at λ = {stop.high:g}"
        rest = "the standard model" if stop.low == 0 else f"the one at λ = {stop.low:g}"
        st.caption(f"The chosen point is a blend: {share}, the rest of {rest}. A hollow mark says so.")
    if found.is_worse_than_both_ends():
        st.warning(
            "This blend shows more dependence than both trained models beside it: take one of them instead."
        )


def show_four_numbers(found: Comparison) -> None:
    """Error, dependence beside its floor, FairQuant, and how far predictions move."""
    floor = f"{found.measure}_floor"
    cards = (
        (
            "Test error",
            found.shown(found.front.error, found.b),
            f"{signed(100 * found.growth)} % against {_short(found, found.a)}",
            f"{found.error_title}: 0 is perfect, 1 is what predicting the mean reaches.",
        ),
        (
            REGISTRY[found.measure].symbol,
            found.shown(found.measure, found.b),
            f"noise floor {number(found.mean(floor, found.b))}",
            f"0: {REGISTRY[found.measure].zero}; 1: {REGISTRY[found.measure].one}. The floor is what the "
            "same "
            "estimator reads on average when the sensitive attribute is shuffled.",
        ),
        (
            "FairQuant",
            with_unit(found.shown("fairquant", found.b), found.unit),
            f"noise floor {with_unit(number(found.mean('fairquant_floor', found.b)), found.unit)}",
            "How far the averages of 50 equal-sized groups of the sensitive attribute lie from the overall "
            "average, on average (fewer groups where ties or few rows demand it).",
        ),
        (
            "A prediction moves by",
            with_unit(number(found.mean_change), found.unit),
            f"target's spread: {with_unit(number(float(found.result.target.std())), found.unit)}",
            "Mean absolute difference between the two models' predictions of a row; below it the standard "
            "deviation of the target.",
        ),
    )
    for column, (title, value, below, meaning) in zip(st.columns(4), cards, strict=True):
        column.metric(
            title, value, border=True, help=safe(meaning), delta=below, delta_color="off", delta_arrow="off"
        )


def _short(found: Comparison, point: Point) -> str:
    return "standard" if point.is_standard else found.called(point)
