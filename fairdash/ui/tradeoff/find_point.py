"""Find the point: the user says what is wanted, validation rows choose, test rows report."""

from __future__ import annotations

import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.evaluation import Choice, knee, least_dependence, least_error
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.reports.words import of_choice
from fairdash.ui.keys import Keys
from fairdash.ui.text import number, safe
from fairdash.ui.tradeoff.controls import go_to

KEY = Keys(__file__)

WISHES = ("Dependence at most …", "Cost at most …", "The knee")


def show_find_point(comparison: Comparison) -> None:
    """Ask, choose, report, and offer to go there."""
    path = comparison.front.validation
    if path.empty:
        st.info(
            "This run set no rows aside for choices, and choosing by test rows flatters. Train with a share "
            "of validation rows (Train page, Advanced) to find a point here."
        )
        return
    left, right = st.columns(2, vertical_alignment="bottom")
    wish = left.segmented_control(
        "What do you want?", WISHES, default=WISHES[0], required=True, key=KEY("wish")
    )
    choice, goal = _choose(comparison, str(wish), right)
    st.markdown(f"**{safe(of_choice(comparison, choice, goal))}**")
    st.caption(
        "Chosen among all methods, trained weights and blends by the means over the splits' validation rows, "
        "which no model was trained on; the figures are those of the test rows, which had no say."
    )
    st.button(
        "Go there",
        icon=":material/my_location:",
        on_click=go_to,
        args=(choice.method, choice.lam),
        disabled=Point(choice.method, choice.lam) == comparison.b,
    )


def _choose(
    comparison: Comparison, wish: str, place: st.delta_generator.DeltaGenerator
) -> tuple[Choice, str]:
    """The choice, and what was asked for in words."""
    path, measure, error = comparison.front.validation, comparison.measure, comparison.front.error
    symbol = REGISTRY[measure].symbol
    if wish == WISHES[0]:
        standard, edge = (
            comparison.mean(measure, Point(comparison.b.method, 0.0)),
            comparison.edge(comparison.b),
        )
        limit = place.number_input(
            f"{symbol} at most",
            min_value=0.0,
            value=float(f"{edge:.2g}"),
            step=float(f"{max(standard, edge) / 50:.1g}"),
            format="%.3g",
            key=KEY("limit", measure, comparison.objective),
            help=f"The standard model reads {number(standard)}; independence stays below {number(edge)} in "
            "95 % of cases, so that is the least one can ask for.",
        )
        return least_error(path, measure, at_most=limit, error=error), f"{symbol} at most {limit:g}"
    if wish == WISHES[1]:
        percent = place.number_input(
            "Error at most … % above the standard model's",
            min_value=0.0,
            value=10.0,
            step=1.0,
            key=KEY("growth"),
        )
        choice = least_dependence(path, measure, growth=percent / 100, error=error)
        return choice, f"an error at most {percent:g} % above the standard model's"
    return knee(
        path, measure, error=error
    ), "the knee, where more fairness begins to cost more than it brings"
