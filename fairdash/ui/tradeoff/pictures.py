"""What the trade-off page answers, and the pictures that follow its slider."""

from __future__ import annotations

import streamlit as st

from fairdash.reports import comparison_figures, stage, words
from fairdash.reports.comparison import Comparison
from fairdash.reports.point_values import of_older_values
from fairdash.runs.store import Run
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.cached import stops_of
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.stage import show_stage
from fairdash.ui.text import safe
from fairdash.ui.tradeoff.controls import lam_in_view

KEY = Keys(__file__)


def show_answer(comparison: Comparison) -> None:
    """What was found, in two or three sentences."""
    st.markdown(f"**{safe(words.answer(comparison))}**")


def show_notes(comparison: Comparison) -> None:
    """What the run has to say of itself."""
    for note in comparison.result.notes:
        st.warning(safe(note))
    for sentence in of_older_values(comparison):
        st.info(safe(sentence))


def show_pictures(comparison: Comparison, run: Run) -> None:
    """The stage: λ, the averages, the front and four numbers that follow the hand."""
    stops = stops_of(run, comparison)
    at = stops.lams.index(f"{lam_in_view(comparison.plan):g}")

    def let_go(at: int) -> None:
        st.query_params[Address.LAM] = stops.lams[at]

    drawn = stage.stage_of(comparison, stops, at=at, theme=theme())
    # Below an answer of three lines and two rows of controls.
    show_stage(drawn, key=KEY("stage"), on_release=let_go, presented_share=0.5)
    show_place(comparison)


def show_profile(comparison: Comparison, *, objective: str, key: str, by_value: bool = False) -> None:
    """Average prediction or residual in groups of the sensitive attribute, A and B."""
    chart(
        comparison_figures.profile(comparison, objective=objective, theme=theme(), by_value=by_value),
        key=key,
        alt=f"Average {OBJECTIVES[objective].audited} in groups of {comparison.sensitive_called}: "
        f"{comparison.a.title} and {comparison.b.title}, with 95 % intervals.",
    )


def show_place(comparison: Comparison) -> None:
    """What the chosen point is, where it is no trained model."""
    curve_point = comparison.curve_point(comparison.b)
    if not curve_point.is_trained:
        share = f"{curve_point.share:.0%} of the model at λ = {curve_point.high:g}"
        rest = "the standard model" if curve_point.low == 0 else f"the one at λ = {curve_point.low:g}"
        st.caption(f"The chosen point is a blend: {share}, the rest of {rest}. A hollow mark says so.")
    if comparison.is_worse_than_both_ends():
        st.warning(
            "This blend shows more dependence than both trained models beside it: take one of them instead."
        )
