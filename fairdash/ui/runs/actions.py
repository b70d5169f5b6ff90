"""What can be done with the chosen runs: name, run again, go on, stop, take away, delete."""

from __future__ import annotations

import streamlit as st

from fairdash.runs.archive import export_run
from fairdash.runs.deletion import delete_run, made_in, what_goes
from fairdash.runs.launch import start_again
from fairdash.runs.status import CANCELLED, FAILED
from fairdash.runs.store import LONGEST_NAME, Run
from fairdash.ui.cached import forget_what_was_deleted
from fairdash.ui.files import download_of
from fairdash.ui.frame import plain_errors
from fairdash.ui.jobs import show_go_on, show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import page
from fairdash.ui.runs.listing import choose
from fairdash.ui.runs.words import line_of, missing_data, page_of, title_of
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)


def show_actions(chosen: list[Run]) -> None:
    """The chosen run and what to do with it; of several, what can be done with all."""
    if not chosen:
        st.caption(
            "Choose a run to name it, run it again, take it away or delete it; choose several to compare."
        )
        return
    if len(chosen) == 1:
        _show_one(chosen[0])
    else:
        st.subheader(f"{counted(len(chosen), 'run')} chosen")
        with st.container(horizontal=True):
            st.button("Choose none", icon=":material/deselect:", key=KEY("none"), on_click=choose, args=([],))
            _show_delete(chosen)


def _show_one(run: Run) -> None:
    spec, status = run.spec, run.status
    st.subheader(safe(title_of(run)))
    st.caption(f"{line_of(run, status)} · id {run.id}")
    if status.state in (CANCELLED, FAILED):
        show_status(run, status)
    missing = missing_data(spec.source)
    if missing:
        st.info(missing)
    name = KEY("name", run.id)
    st.text_input(
        "Name",
        value=run.name,
        max_chars=LONGEST_NAME,
        placeholder="Such as: without the postcode",
        key=name,
        on_change=_rename,
        args=(run, name),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if run.look:
            st.page_link(
                page(page_of(run)),
                label="See what fairness costs",
                icon=":material/balance:",
                query_params={Address.RUN.value: run.id},
            )
        if not status.is_over:
            st.button("Stop", icon=":material/stop:", key=KEY("stop", run.id), on_click=_stop, args=(run,))
        elif not missing:
            show_go_on(run)
        if st.button(
            "Run again",
            icon=":material/replay:",
            key=KEY("again", run.id),
            disabled=bool(missing),
            help="Trains the same plan on the same data once more; this run stays.",
        ):
            with plain_errors():
                again = start_again(run, owner=current_owner())
                choose([again.id])
                st.rerun()
        if run.look and status.is_over:
            download_of(
                run,
                lambda: export_run(run),
                label="Take it away (zip)",
                name=f"fairdash-run-{run.id}.zip",
                mime="application/zip",
                key=KEY("bundle", run.id),
            )
        _show_delete([run])


def _show_delete(runs: list[Run]) -> None:
    """What goes, and the button that does it: two clicks."""
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown(safe(what_goes(made_in(*runs))))
        st.button(
            "Delete for good",
            type="primary",
            key=KEY("delete", *(run.id for run in runs)),
            on_click=_delete,
            args=(runs,),
        )


def _rename(run: Run, key: str) -> None:
    with plain_errors():
        run.rename(str(st.session_state[key]))


def _stop(run: Run) -> None:
    with plain_errors():
        run.ask_to_cancel()


def _delete(runs: list[Run]) -> None:
    """Delete them from disk, memory and this session."""
    with plain_errors():
        try:
            for run in runs:
                delete_run(run)
        finally:
            choose([])
            if st.session_state.get(Address.RUN) in [run.id for run in runs]:
                st.session_state.pop(Address.RUN)
            forget_what_was_deleted()
