"""The runs, the newest first: what to see of them, and which are chosen."""

from __future__ import annotations

import streamlit as st

from fairdash.runs.listing import list_runs
from fairdash.runs.status import RunStatus
from fairdash.runs.store import Run
from fairdash.ui.frame import plain_errors
from fairdash.ui.jobs import show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import page
from fairdash.ui.runs.words import STATES, line_of, methods_of, page_of, title_of
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)

RUNS_A_PAGE = 10
SECONDS_BETWEEN_LOOKS = 1.0
#: Session key of the ids that are chosen.
CHOSEN = KEY("chosen")
#: The filter by data and the page of the list.
KEY_DATA, KEY_PAGE = KEY("data"), KEY("page")


def show_runs() -> list[Run]:
    """The runs that the filters leave; those that are chosen, shown or not."""
    found = list_runs(owner=current_owner())
    by_id = {run.id: run for run in found.runs}
    _adopt_address(by_id)
    if found.runs:
        _show_page(_filtered(found.runs))
    else:
        _show_empty()
    if found.damaged:
        st.warning(
            f"These runs can't be read and are left as they are: {', '.join(found.damaged)}. Other runs are "
            "unaffected. The command fairdash runs delete takes one away."
        )
    choose([id for id in st.session_state.get(CHOSEN, []) if id in by_id])
    return [by_id[id] for id in st.session_state[CHOSEN]]


def choose(ids: list[str]) -> None:
    """Choose these runs; the address names the one, if it is one."""
    st.session_state[CHOSEN] = ids
    if len(ids) == 1 and st.query_params.get(Address.RUN) != ids[0]:
        st.query_params[Address.RUN] = ids[0]
    elif len(ids) != 1 and Address.RUN in st.query_params:
        del st.query_params[Address.RUN]


def _adopt_address(by_id: dict[str, Run]) -> None:
    """Choose the run that the address names; what is not there is said, once."""
    asked = st.query_params.get(Address.RUN)
    if asked is None:
        return
    if asked in by_id:
        choose([asked])
        return
    del st.query_params[Address.RUN]
    # Gone, damaged, or no id at all: opening it says which.
    with plain_errors():
        Run(asked, owner=current_owner()).spec  # noqa: B018


def _filtered(runs: tuple[Run, ...]) -> list[tuple[Run, RunStatus]]:
    """What the search, the data set and the state leave of them."""
    titles = sorted({run.spec.source.title for run in runs})
    search, of_data, of_state = st.columns([2, 2, 1.5])
    words = search.text_input("Search", placeholder="Name, data, method or id", key=KEY("search"))
    if st.session_state.get(KEY_DATA) not in titles:
        st.session_state[KEY_DATA] = None
    data = of_data.selectbox("Data", titles, index=None, placeholder="All", key=KEY_DATA)
    states = of_state.multiselect("State", list(STATES.values()), placeholder="All", key=KEY("state"))
    found = []
    for run in runs:
        said = f"{run.name} {run.spec.source.title} {methods_of(run)} {run.id}".casefold()
        if (data is None or run.spec.source.title == data) and all(
            each in said for each in words.casefold().split()
        ):
            found.append((run, run.status))
    return [each for each in found if not states or STATES[each[1].state] in states]


def _show_page(found: list[tuple[Run, RunStatus]]) -> None:
    if not found:
        st.info("No run is like that. Take a filter away.")
        return
    pages = -(-len(found) // RUNS_A_PAGE)
    number = 1
    if pages > 1:
        number = min(st.session_state.get(KEY_PAGE, 1), pages)
        st.session_state[KEY_PAGE] = number
    for run, status in found[(number - 1) * RUNS_A_PAGE : number * RUNS_A_PAGE]:
        _show_row(run, status)
    if pages > 1:
        st.number_input(f"Page, of {pages}: {counted(len(found), 'run')}", 1, pages, key=KEY_PAGE)


def _show_row(run: Run, status: RunStatus) -> None:
    left, right = st.columns([7, 1], vertical_alignment="center")
    with left, st.container(gap=None):
        key = KEY("choose", run.id)
        st.session_state[key] = run.id in st.session_state.get(CHOSEN, [])
        # Not bold: a screen reader is given the label as it is written.
        st.checkbox(safe(title_of(run)), key=key, on_change=_toggle, args=(run.id,))
        st.caption(line_of(run, status))
        if not status.is_over:
            _follow(run)
    right.page_link(
        page(page_of(run)),
        label="Open",
        icon=":material/open_in_new:",
        query_params={Address.RUN.value: run.id},
    )


def _toggle(id: str) -> None:
    chosen = st.session_state.get(CHOSEN, [])
    choose([each for each in chosen if each != id] if id in chosen else [*chosen, id])


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(run: Run) -> None:
    with plain_errors():
        status = run.status
        if status.is_over:
            st.rerun()
        show_status(run, status)


def _show_empty() -> None:
    st.info("No run yet. The trade-off page trains a first look at the built-in example within seconds.")
    with st.container(horizontal=True):
        st.page_link(page("tradeoff"), label="See what fairness costs", icon=":material/balance:")
        st.page_link(page("data"), label="Bring a table of your own", icon=":material/table:")
