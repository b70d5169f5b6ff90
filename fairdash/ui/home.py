"""Home page with prices by age, a fairness slider, three links to other pages, and recent runs.

The module also contains the guided tour of five steps, which users can leave at any step.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from fairdash.runs.listing import list_runs
from fairdash.runs.store import Run
from fairdash.ui.access import current_owner
from fairdash.ui.blocks import show_stage
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import go_to, page
from fairdash.ui.runs import line_of, page_of, title_of
from fairdash.ui.text import safe
from fairdash.utils.text import error_change

KEY = Keys(__file__)
_POSITION = KEY("at")
#: Initial λ of the slider.
BEGIN = 1.0
RUNS_SHOWN = 8
#: Page, title and text of each card.
CARDS = (
    (
        "lesson",
        "Start the lesson",
        "A lesson of five screens about links that correlation misses, about noise, and about who pays.",
    ),
    (
        "audit",
        "Audit a price",
        "Test whether an existing tariff follows age or income, at which values, and whether expected cost "
        "justifies the difference.",
    ),
    (
        "data",
        "Explore your data",
        "Use a built-in example or your own table. See models from the most accurate to the fairest.",
    ),
)


def show_curve() -> None:
    """Show a sentence, a slider and a curve, from numbers included in the package."""
    data = _numbers()
    lams = data["lam"]
    index = st.session_state.get(_POSITION, lams.index(BEGIN))

    def store_position(at: int) -> None:
        st.session_state[_POSITION] = at

    st.markdown(f"**{sentence(data, index)}**")
    picture = data["dark" if st.context.theme.type == "dark" else "light"]
    stage = {
        "slider": {
            "label": "Weight of fairness, λ: drag it",
            "symbol": "λ",
            "help": "In training, λ weights the dependence on age against the error. Ticks mark trained "
            "models. Points between ticks average the prices of two models.",
            "stops": [f"{lam:g}" for lam in lams],
            "ticks": [k for k, is_trained in enumerate(data["trained"]) if is_trained],
            "at": index,
        },
        "figures": [
            {
                "spec": picture["spec"],
                "alt": "Average price by age: the most accurate model and a fairer one.",
            }
        ],
        "moves": picture["moves"],
        "cards": [],
        "table": {
            "title": "Average price as a table",
            "head": ["Age", "standard model"],
            "rows": [
                [f"{low:.3g} to {high:.3g}", f"{mean:.1f}"]
                for low, high, mean in zip(data["s_low"], data["s_high"], data["mean"][0], strict=True)
            ],
            "move": 1,
        },
    }
    show_stage(stage, key=KEY("stage"), on_release=store_position)


def sentence(data: dict[str, Any], at: int) -> str:
    """State how the chosen weight λ changes the error, and the prices by age."""
    gap, gap_before = (max(data["mean"][k]) - min(data["mean"][k]) for k in (at, 0))
    if at == 0:
        return (
            f"The most accurate price follows age: average prices differ by up to {gap:.0f} € between ages."
        )
    error = error_change(data["rmse"][0], data["rmse"][at], of_average=data["rmse_of_average"], unit="€")
    link = "no longer finds a link with age" if data["p"][at] > 0.05 else "still finds a link with age"
    return (
        f"At λ = {data['lam'][at]:g} average prices differ by {gap:.0f} € between ages instead of "
        f"{gap_before:.0f} €, {error}, and a test {link}."
    )


@cache
def _numbers() -> dict[str, Any]:
    text = Path(__file__).with_name("home_curve.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def show_cards() -> None:
    for column, (name, title, words) in zip(st.columns(3), CARDS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {title}")
            st.markdown(words)
            st.page_link(page(name), label=title, icon=":material/arrow_forward:")


def show_recent_runs() -> None:
    """Show the newest runs, and name runs that can't be read. Show nothing if there are no runs."""
    runs = list_runs(owner=current_owner())
    if not (runs.runs or runs.damaged):
        return
    st.subheader("Recent runs")
    for recent_run in runs.runs[:RUNS_SHOWN]:
        _show_run(recent_run)
    if runs.runs:
        st.page_link(page("runs"), label="All runs: find, name, compare, export", icon=":material/history:")
    if runs.damaged:
        st.warning(
            f"These runs can't be read and were left unchanged: {', '.join(runs.damaged)}. Other runs are "
            "unaffected."
        )


def _show_run(run: Run) -> None:
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(f"**{safe(title_of(run))}** · {line_of(run, run.status)}")
    right.page_link(
        page(page_of(run)),
        label="Open",
        icon=":material/open_in_new:",
        query_params={Address.RUN.value: run.id},
    )


#: Steps of the tour, each with the name of a page and the user's actions on this page.
STEPS = (
    ("data", "Data: choose a table, a target and a sensitive attribute."),
    ("lesson", "Trade-off: make a guess to see all models."),
    ("home", "Move λ, the weight of fairness. Prices by age change as you drag."),
    (
        "home",
        "The sentence above the slider says how much prices differ between ages, and how the error rises.",
    ),
    ("train", "Train here, then download tariff and report from the Trade-off page."),
)
#: Query parameters with which the tour opens a page, in addition to the step of the tour.
_ADDRESS = {"lesson": {Address.SCENE.value: "5", Address.WEIGHT.value: "3"}}


def show_tour_link() -> None:
    """Show the button that starts the tour."""
    st.page_link(
        page(STEPS[0][0]),
        label="New here? Take the two-minute tour",
        icon=":material/tour:",
        query_params={Address.VISIT.value: "1"},
    )


def show_tour_step(shown: StreamlitPage) -> None:
    """Show the current step of the tour above the page. Show nothing outside the tour.

    The step is in the address or, if a link without the step opened the page, in the session.
    """
    visit = st.query_params.get(Address.VISIT) or st.session_state.get(Address.VISIT)
    if visit is None:
        return
    step_by_number = {str(number): step for number, step in enumerate(STEPS, 1)}
    if visit not in step_by_number:
        _end_tour()
        return
    st.session_state[Address.VISIT] = visit
    if st.query_params.get(Address.VISIT) != visit:
        st.query_params[Address.VISIT] = visit
    (name, words), following = step_by_number[visit], str(int(visit) + 1)
    with st.container(border=True, key=KEY("visit")):
        st.markdown(f"**Tour, {visit} of {len(STEPS)}.** {words}")
        with st.container(horizontal=True):
            if shown.url_path != page(name).url_path:
                if st.button("Show me", key=KEY("show")):
                    _go_to_step(name, visit)
            elif following in step_by_number and st.button("Next", key=KEY("next"), type="primary"):
                _go_to_step(step_by_number[following][0], following)
            st.button("Leave", key=KEY("leave"), shortcut="Esc", on_click=_end_tour)


def _go_to_step(name: str, step: str) -> None:
    go_to(name, address={**_ADDRESS.get(name, {}), Address.VISIT.value: step})


def _end_tour() -> None:
    st.session_state.pop(Address.VISIT, None)
    st.query_params.pop(Address.VISIT, None)
