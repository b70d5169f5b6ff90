"""Components of the Runs page, and one-line descriptions of a run.

A run can be named, repeated, resumed, stopped, exported, imported and deleted.
"""

from __future__ import annotations

import string
from types import MappingProxyType

import streamlit as st

from fairdash.data.source import DatasetSource, UploadSource
from fairdash.data.uploads import check_stored
from fairdash.dependence import REGISTRY
from fairdash.errors import StorageError
from fairdash.runs.archive import export_run, import_run
from fairdash.runs.deletion import delete_run, deletion_in_words, derived_from_runs
from fairdash.runs.launch import cancel, start_again
from fairdash.runs.listing import list_runs
from fairdash.runs.state import CANCELLED, DONE, FAILED, QUEUED, RUNNING, RunStatus
from fairdash.runs.store import MAX_NAME, Run
from fairdash.training.methods import PATHS
from fairdash.training.settings import OBJECTIVES
from fairdash.training.sweep import STANDARD
from fairdash.ui.access import current_owner
from fairdash.ui.cached import drop_deleted_entries, fronts_of, result_of
from fairdash.ui.frame import chart, plain_errors, theme
from fairdash.ui.jobs import offer_to_resume, show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import page
from fairdash.ui.text import safe
from fairdash.ui.widgets import download, download_of
from fairdash.utils.text import counted
from fairdash.views.figures.front import runs_front_figure
from fairdash.views.reports.fronts import ComparedRun, differences, remarks, shared_measures, table_of

#: Display names of the states of a run.
STATES = MappingProxyType(
    {QUEUED: "waiting", RUNNING: "running", DONE: "done", CANCELLED: "stopped", FAILED: "failed"}
)


def title_of(run: Run) -> str:
    """Return the user's name for the run, or else the name of its data set, without escapes for Markdown."""
    return run.name or run.spec.source.title


def page_of(run: Run) -> str:
    """Return the page that shows the run."""
    return "tradeoff" if run.available_result else "train"


def methods_of(run: Run) -> str:
    """Return the run's fair methods."""
    return (
        ", ".join(PATHS[name].title for name in run.spec.plan.methods if name != STANDARD) or "standard only"
    )


def line_of(run: Run, status: RunStatus) -> str:
    """Describe data, objective, methods, size, state and time of a run in one line of Markdown."""
    spec = run.spec
    data = [safe(spec.source.title)] if run.name else []
    size = f"{counted(len(spec.plan.lams), 'weight')} λ × {counted(spec.plan.n_splits, 'split')}"
    created_text = f"{spec.created[:16].replace('T', ' ')} UTC"
    state = STATES[status.state]
    if status.state == QUEUED and status.doing:
        state = f"{state} {safe(status.doing).removeprefix('waiting ')}"
    parts = [*data, OBJECTIVES[spec.plan.objective].title, methods_of(run), size, state, created_text]
    return " · ".join(parts)


def missing_data(source: DatasetSource) -> str:
    """Explain what the user can't do because an upload is missing. Return "" if the upload is available."""
    if isinstance(source, UploadSource):
        try:
            check_stored(source.sha256, owner=current_owner())
        except StorageError:
            return (
                "The training file of this run is not on this machine. You can view the results. To train "
                "again or to refit a model, first upload the same file on the Data page."
            )
    return ""


KEY = Keys(__file__)

RUNS_A_PAGE = 10
SECONDS_BETWEEN_LOOKS = 1.0
#: Session key of the selected ids.
SELECTED_RUNS = KEY("chosen")
#: Session keys for the data set by which runs are filtered and for the displayed page of the list.
KEY_DATA, KEY_PAGE = KEY("data"), KEY("page")
#: Session keys for the message about the last imported run and for the number of imports.
IMPORT_MESSAGE, N_IMPORTS = KEY("said"), KEY("count")
#: Maximum number of runs in one chart. With more runs, the lines would be hard to distinguish.
MAX_COMPARED = 6


def show_runs() -> list[Run]:
    """Show the runs that match the filters. Return all selected runs, whether or not they match."""
    runs = list_runs(owner=current_owner())
    by_id = {run.id: run for run in runs.runs}
    _adopt_address(by_id)
    if runs.runs:
        _show_page(_filtered(runs.runs))
    else:
        _show_empty()
    if runs.damaged:
        st.warning(
            f"These runs can't be read and were left unchanged: {', '.join(runs.damaged)}. Other runs are "
            "unaffected. To delete such a run, use the command fairdash runs delete."
        )
    choose([id for id in st.session_state.get(SELECTED_RUNS, []) if id in by_id])
    return [by_id[id] for id in st.session_state[SELECTED_RUNS]]


def choose(ids: list[str]) -> None:
    """Select the runs with these ids. If there is only one id, store it in the address."""
    st.session_state[SELECTED_RUNS] = ids
    if len(ids) == 1 and st.query_params.get(Address.RUN) != ids[0]:
        st.query_params[Address.RUN] = ids[0]
    elif len(ids) != 1 and Address.RUN in st.query_params:
        del st.query_params[Address.RUN]


def _adopt_address(by_id: dict[str, Run]) -> None:
    """Select the run that the address names, or report once that the run is missing."""
    id = st.query_params.get(Address.RUN)
    if id is None:
        return
    if id in by_id:
        choose([id])
        return
    del st.query_params[Address.RUN]
    # This call raises an error if the run is deleted or damaged, or if its id is invalid.
    with plain_errors():
        Run(id, owner=current_owner()).spec  # noqa: B018


def _filtered(runs: tuple[Run, ...]) -> list[tuple[Run, RunStatus]]:
    """Return the runs that match the search text, the data set and the state."""
    titles = sorted({run.spec.source.title for run in runs})
    search, of_data, of_state = st.columns([2, 2, 1.5])
    words = search.text_input("Search", placeholder="Name, data, method or id", key=KEY("search"))
    if st.session_state.get(KEY_DATA) not in titles:
        st.session_state[KEY_DATA] = None
    data = of_data.selectbox("Data", titles, index=None, placeholder="All", key=KEY_DATA)
    selected_states = of_state.multiselect(
        "State", list(STATES.values()), placeholder="All", key=KEY("state")
    )
    runs_shown = []
    for run in runs:
        text_of_run = f"{run.name} {run.spec.source.title} {methods_of(run)} {run.id}".casefold()
        if (data is None or run.spec.source.title == data) and all(
            word in text_of_run for word in words.casefold().split()
        ):
            runs_shown.append((run, run.status))
    return [item for item in runs_shown if not selected_states or STATES[item[1].state] in selected_states]


def _show_page(run_list: list[tuple[Run, RunStatus]]) -> None:
    if not run_list:
        st.info("No run matches. Remove a filter.")
        return
    pages = -(-len(run_list) // RUNS_A_PAGE)
    number = 1
    if pages > 1:
        number = min(st.session_state.get(KEY_PAGE, 1), pages)
        st.session_state[KEY_PAGE] = number
    for run, status in run_list[(number - 1) * RUNS_A_PAGE : number * RUNS_A_PAGE]:
        _show_row(run, status)
    if pages > 1:
        st.number_input(f"Page, of {pages}: {counted(len(run_list), 'run')}", 1, pages, key=KEY_PAGE)


def _show_row(run: Run, status: RunStatus) -> None:
    left, right = st.columns([7, 1], vertical_alignment="center")
    with left, st.container(gap=None):
        key = KEY("choose", run.id)
        st.session_state[key] = run.id in st.session_state.get(SELECTED_RUNS, [])
        # The label has no bold text, because a screen reader would read the Markdown marks.
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
    chosen = st.session_state.get(SELECTED_RUNS, [])
    choose([run_id for run_id in chosen if run_id != id] if id in chosen else [*chosen, id])


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(run: Run) -> None:
    with plain_errors():
        status = run.status
        if status.is_over:
            st.rerun()
        show_status(run, status)


def _show_empty() -> None:
    st.info("No run yet. The Trade-off page trains a preview of the built-in example within seconds.")
    with st.container(horizontal=True):
        st.page_link(page("tradeoff"), label="See what fairness costs", icon=":material/balance:")
        st.page_link(page("data"), label="Use your own table", icon=":material/table:")


def show_actions(chosen: list[Run]) -> None:
    """Show the selected run and its actions or, for several runs, the actions for all of them."""
    if not chosen:
        st.caption("Choose a run to name, repeat, export or delete it. Choose several runs to compare them.")
        return
    if len(chosen) == 1:
        _show_one(chosen[0])
    else:
        st.subheader(f"{counted(len(chosen), 'run')} chosen")
        with st.container(horizontal=True):
            st.button(
                "Clear selection", icon=":material/deselect:", key=KEY("none"), on_click=choose, args=([],)
            )
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
        max_chars=MAX_NAME,
        placeholder="For example: without the postcode",
        key=name,
        on_change=_rename,
        args=(run, name),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if run.available_result:
            st.page_link(
                page(page_of(run)),
                label="See what fairness costs",
                icon=":material/balance:",
                query_params={Address.RUN.value: run.id},
            )
        if not status.is_over:
            st.button("Stop", icon=":material/stop:", key=KEY("stop", run.id), on_click=_stop, args=(run,))
        elif not missing:
            offer_to_resume(run)
        if st.button(
            "Run again",
            icon=":material/replay:",
            key=KEY("again", run.id),
            disabled=bool(missing),
            help="Train the same plan on the same data again. This run is kept.",
        ):
            with plain_errors():
                new_run = start_again(run, owner=current_owner())
                choose([new_run.id])
                st.rerun()
        if run.available_result and status.is_over:
            download_of(
                run,
                lambda: export_run(run),
                label="Export (zip)",
                name=f"fairdash-run-{run.id}.zip",
                mime="application/zip",
                key=KEY("bundle", run.id),
            )
        _show_delete([run])


def _show_delete(runs: list[Run]) -> None:
    """List everything that is deleted together with the runs, and show the button for the deletion."""
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown(safe(deletion_in_words(derived_from_runs(*runs))))
        st.button(
            "Delete permanently",
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
        cancel(run)


def _delete(runs: list[Run]) -> None:
    """Delete the runs from disk, memory and this session."""
    with plain_errors():
        try:
            for run in runs:
                delete_run(run)
        finally:
            choose([])
            if st.session_state.get(Address.RUN) in [run.id for run in runs]:
                st.session_state.pop(Address.RUN)
            drop_deleted_entries()


def ask_for_file() -> None:
    """Check, store and select an exported run that the user uploads."""
    if message := st.session_state.pop(IMPORT_MESSAGE, ""):
        st.success(safe(message))
    count = st.session_state.get(N_IMPORTS, 0)
    with st.expander("Import a run", icon=":material/upload:"):
        file = st.file_uploader(
            "The zip file of a run",
            type=["zip"],
            help="Every file in the zip file is checked against its hash before anything is stored.",
            # Each import changes the key of the upload widget, so that the next widget is empty.
            key=KEY("file", count),
        )
        if file is not None:
            with plain_errors():
                imported = import_run(file.getvalue(), owner=current_owner())
                st.session_state[IMPORT_MESSAGE], st.session_state[N_IMPORTS] = str(imported), count + 1
                choose([imported.run.id])
                st.rerun()


def show_comparison(chosen: list[Run]) -> None:
    """Show the Pareto fronts of several selected runs in one chart, or explain why this is impossible."""
    if len(chosen) < 2:
        return
    finished = [run for run in chosen if run.available_result]
    if len(finished) < len(chosen):
        missing = counted(len(chosen) - len(finished), "chosen run")
        st.info(f"{missing} without results yet. Only runs with results are compared.")
    if len(finished) > MAX_COMPARED:
        st.info(
            f"A chart shows at most {MAX_COMPARED} runs. The first {MAX_COMPARED} chosen runs are compared."
        )
    if len(finished) < 2:
        return
    runs = [
        ComparedRun(letter=letter, title=title_of(run), data=run.spec.source.to_json(), result=result_of(run))
        for letter, run in zip(string.ascii_uppercase, finished[:MAX_COMPARED], strict=False)
    ]
    if differences_text := differences(runs):
        st.warning(safe(differences_text))
        return
    _show_front(runs, finished[:MAX_COMPARED])


def _show_front(runs: list[ComparedRun], jobs: list[Run]) -> None:
    result = runs[0].result
    names = {column: result.names.get(column, column) for column in result.sensitive.columns}
    measures, columns = st.columns(2)
    sensitive = next(iter(names))
    if len(names) > 1:
        sensitive = columns.selectbox(
            "Sensitive attribute", list(names), format_func=names.__getitem__, key=KEY("sensitive")
        )
    fronts = [fronts_of(job, sensitive=sensitive)[result.objective] for job in jobs]
    shared = shared_measures(fronts)
    measure = measures.selectbox(
        "Dependence by", shared, format_func=lambda id: REGISTRY[id].title, key=KEY("measure", *shared)
    )
    objective, symbol = OBJECTIVES[result.objective], REGISTRY[measure].symbol
    unit = result.units.get(result.target_name, "")
    chart(
        runs_front_figure(
            [
                (run.letter, run.title, front.test, front.rmse_of_mean)
                for run, front in zip(runs, fronts, strict=True)
            ],
            **fronts[0].axis_of_error(unit),
            measure=measure,
            measure_title=f"{symbol} between {objective.audited} and {names[sensitive]}",
            subtitle=f"test rows, means over the splits; {objective.title.lower()}",
            theme=theme(),
        ),
        key=KEY("front"),
        alt=f"Test error against {symbol} for {len(runs)} runs, one line per run and method.",
    )
    run_names = " · ".join(f"**{run.letter}** {safe(run.title)}" for run in runs)
    st.caption("  \n".join([run_names, "Lower left is better.", *remarks(runs)]))
    table = table_of(runs, fronts, measure=measure)
    st.dataframe(table.drop(columns="Name"), hide_index=True)
    download(table, label="These figures (CSV)", name="runs-compared", key=KEY("csv"))
