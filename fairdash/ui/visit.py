"""The guided first visit: five sentences on the app's own pages, which can be left at any time."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import go_to, page

KEY = Keys(__file__)


#: Where the visit goes: the page's name, and what to look at there.
STEPS = (
    ("data", "See the data: a table, what it predicts, and what must not matter."),
    ("lesson", "See what fairness costs: make a guess, and the whole range of models shows."),
    ("home", "Move λ, the weight of fairness: prices by age follow your hand."),
    ("home", "Read the sentence above the slider: how far apart prices lie, and at what cost."),
    ("train", "Take it away: train here, and the Trade-off page hands out tariff and report."),
)
#: What the address asks for besides.
_ADDRESS = {"lesson": {Address.SCENE.value: "5", Address.WEIGHT.value: "3"}}


def show_start() -> None:
    """The way into the visit."""
    st.page_link(
        page(STEPS[0][0]),
        label="First time here? Take the two-minute visit",
        icon=":material/tour:",
        query_params={Address.VISIT.value: "1"},
    )


def show_visit(shown: StreamlitPage) -> None:
    """The step of who takes the visit, above the page that is shown; nothing for anybody else.

    The address says which step, or, on a page to which a link led, the session.
    """
    asked = st.query_params.get(Address.VISIT) or st.session_state.get(Address.VISIT)
    if asked is None:
        return
    known = {str(place): step for place, step in enumerate(STEPS, 1)}
    if asked not in known:
        _leave()
        return
    st.session_state[Address.VISIT] = asked
    if st.query_params.get(Address.VISIT) != asked:
        st.query_params[Address.VISIT] = asked
    (name, words), following = known[asked], str(int(asked) + 1)
    with st.container(border=True, key=KEY("visit")):
        st.markdown(f"**Visit, {asked} of {len(STEPS)}.** {words}")
        with st.container(horizontal=True):
            if shown.url_path != page(name).url_path:
                if st.button("Show me", key=KEY("show")):
                    _go_to(name, asked)
            elif following in known and st.button("Next", key=KEY("next"), type="primary"):
                _go_to(known[following][0], following)
            st.button("Leave", key=KEY("leave"), shortcut="Esc", on_click=_leave)


def _go_to(name: str, step: str) -> None:
    go_to(name, address={**_ADDRESS.get(name, {}), Address.VISIT.value: step})


def _leave() -> None:
    st.session_state.pop(Address.VISIT, None)
    st.query_params.pop(Address.VISIT, None)
