"""What the user is looking at: kept in the page's address, and in the session between pages."""

from __future__ import annotations

import streamlit as st

from fairdash.data.source import CatalogueSource, DatasetSource, load_source, save_source
from fairdash.errors import FairdashError
from fairdash.runs.searches import SearchJob
from fairdash.runs.store import Run

DEFAULT_SOURCE = CatalogueSource(dataset="household")
_DATASET, _RUN, _SEARCH = "dataset", "run", "search"


def chosen_source() -> DatasetSource:
    """The data set in use: the address names it, or the session, or it is the default one."""
    name = st.query_params.get(_DATASET) or st.session_state.get(_DATASET)
    if name is None:
        return DEFAULT_SOURCE
    try:
        source = load_source(name)
    except FairdashError:
        _forget(_DATASET)
        raise
    _remember(_DATASET, name)
    return source


def source_title() -> str:
    """Name of the data set in use, for the sidebar; empty if it is gone."""
    name = st.query_params.get(_DATASET) or st.session_state.get(_DATASET)
    if name is None:
        return DEFAULT_SOURCE.title
    try:
        return load_source(name).title
    except FairdashError:
        return ""


def choose_source(source: DatasetSource) -> None:
    """Put a data set into use; a run of another one leaves the view."""
    name = save_source(source)
    if st.session_state.get(_DATASET) not in (None, name):
        _forget(_RUN)
        _forget(_SEARCH)
    _remember(_DATASET, name)


def chosen_run() -> Run | None:
    """The run in view: the address names it, or the session; None if there is none.

    RunError if it is gone; the next call then gives None.
    """
    name = st.query_params.get(_RUN) or st.session_state.get(_RUN)
    if name is None:
        return None
    try:
        run = Run(name)
        _adopt_data(run)
    except FairdashError:
        _forget(_RUN)
        raise
    _remember(_RUN, name)
    return run


def choose_run(run: Run | None) -> None:
    """Bring a run into view, or none."""
    if run is None:
        _forget(_RUN)
    else:
        _remember(_RUN, run.id)


def chosen_search() -> SearchJob | None:
    """The search in view: the address names it, or the session; None if there is none.

    RunError if it is gone; the next call then gives None.
    """
    name = st.query_params.get(_SEARCH) or st.session_state.get(_SEARCH)
    if name is None:
        return None
    try:
        search = SearchJob(name)
        _adopt_data(search)
    except FairdashError:
        _forget(_SEARCH)
        raise
    _remember(_SEARCH, name)
    return search


def choose_search(search: SearchJob | None) -> None:
    """Bring a search into view, or none."""
    if search is None:
        _forget(_SEARCH)
    else:
        _remember(_SEARCH, search.id)


def _adopt_data(job: Run | SearchJob) -> None:
    """Someone came by the job's address: its data are the data in use."""
    if _DATASET not in st.session_state and _DATASET not in st.query_params:
        choose_source(job.spec.source)


def _remember(key: str, value: str) -> None:
    st.session_state[key] = value
    if st.query_params.get(key) != value:
        st.query_params[key] = value


def _forget(key: str) -> None:
    st.session_state.pop(key, None)
    if key in st.query_params:
        del st.query_params[key]
