"""Selections of the user, stored in the page's address and, between pages, in the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from fairdash.data.source import CatalogueSource, DatasetSource, load_source, save_source
from fairdash.errors import FairdashError, StorageError
from fairdash.runs.audits import AuditJob
from fairdash.runs.searches import SearchJob
from fairdash.runs.store import Run
from fairdash.ui.access import current_owner
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Address, Keys
from fairdash.ui.text import safe

KEY = Keys(__file__)

AnyJob = TypeVar("AnyJob", Run, SearchJob, AuditJob)

DEFAULT_SOURCE = CatalogueSource(dataset="household")
#: Session key of the data sources, by id, whose description could not be stored on disk.
_UNSAVED = KEY("unsaved")


def chosen_source() -> DatasetSource:
    """Return the data set in use, from the address, the session, or the default."""
    name = st.query_params.get(Address.DATASET) or st.session_state.get(Address.DATASET)
    if name is None:
        return DEFAULT_SOURCE
    try:
        source = _source(name)
    except FairdashError:
        _discard(Address.DATASET)
        raise
    _store_choice(Address.DATASET, name)
    return source


def is_source_chosen() -> bool:
    """Return whether the address or the session names a data set other than the default."""
    return (st.query_params.get(Address.DATASET) or st.session_state.get(Address.DATASET)) is not None


def source_title() -> str:
    """Return the name of the data set in use for the sidebar, or "" if the data set no longer exists."""
    name = st.query_params.get(Address.DATASET) or st.session_state.get(Address.DATASET)
    if name is None:
        return DEFAULT_SOURCE.title
    try:
        return _source(name).title
    except FairdashError:
        return ""


def choose_source(source: DatasetSource) -> None:
    """Use a data set. If it replaces another one, deselect the other one's run, search and audit."""
    try:
        name = save_source(source, owner=current_owner())
    except StorageError as error:
        # The source's description is not on disk, but this session can still use the data.
        name = source.id
        st.session_state[_UNSAVED] = {**st.session_state.get(_UNSAVED, {}), name: source}
        show_problems(error)
    if st.session_state.get(Address.DATASET) not in (None, name):
        _discard(Address.RUN)
        _discard(Address.SEARCH)
        _discard(Address.AUDIT)
    _store_choice(Address.DATASET, name)


def chosen_run() -> Run | None:
    """Return the selected run from the address or the session, or None if no run is selected.

    If the run no longer exists, the function raises a RunError, and the next call returns None.
    """
    return _chosen(Run, Address.RUN)


def choose_run(run: Run | None) -> None:
    """Select a run, or deselect the current run with None."""
    _choose(run, Address.RUN)


def chosen_search() -> SearchJob | None:
    """Return the selected search, or None."""
    return _chosen(SearchJob, Address.SEARCH)


def choose_search(search: SearchJob | None) -> None:
    """Select a search, or deselect the current search with None."""
    _choose(search, Address.SEARCH)


def chosen_audit() -> AuditJob | None:
    """Return the selected audit, or None."""
    return _chosen(AuditJob, Address.AUDIT)


def choose_audit(audit: AuditJob | None) -> None:
    """Select an audit, or deselect the current audit with None."""
    _choose(audit, Address.AUDIT)


def _chosen(kind: type[AnyJob], key: Address) -> AnyJob | None:
    name = st.query_params.get(key) or st.session_state.get(key)
    if name is None:
        return None
    try:
        job = kind(name, owner=current_owner())
        _adopt_data(job)
    except FairdashError:
        _discard(key)
        raise
    _store_choice(key, name)
    return job


def _choose(job: Run | SearchJob | AuditJob | None, key: Address) -> None:
    if job is None:
        _discard(key)
    else:
        _store_choice(key, job.id)


def _adopt_data(job: Run | SearchJob | AuditJob) -> None:
    """Use the data of a job that the user opened by its address."""
    if Address.DATASET not in st.session_state and Address.DATASET not in st.query_params:
        choose_source(job.spec.source)


def _source(name: str) -> DatasetSource:
    unsaved: dict[str, DatasetSource] = st.session_state.get(_UNSAVED, {})
    return unsaved[name] if name in unsaved else load_source(name, owner=current_owner())


def _store_choice(key: Address, value: str) -> None:
    st.session_state[key] = value
    if st.query_params.get(key) != value:
        st.query_params[key] = value


def _discard(key: Address) -> None:
    st.session_state.pop(key, None)
    if key in st.query_params:
        del st.query_params[key]


def choose(
    label: str,
    options: Mapping[str, str],
    *,
    name: str,
    key: str,
    container: Any = st,
    hidden_label: bool = False,
) -> str:
    """Show a segmented control of `options`, whose selected id is stored in the address.

    Streamlit can bind a control to the address, but then stores the title instead of the id, and ignores an
    unknown title without a message. With this function, a message above the control reports an unknown id,
    and the first option is selected until the user chooses another.

    Parameters
    ----------
    options
        Map of ids to titles. The first id is the default.
    name
        Name of the parameter in the address.
    key
        Key of the control, which differs from `name` if two controls share a parameter.
    container
        Container for the control, which is a column or the page.

    Returns
    -------
    str
        Id of the selected option.
    """
    in_address = st.query_params.get(name)
    if in_address is not None and in_address not in options:
        options_text = ", ".join(f"“{safe(option)}”" for option in options)
        container.warning(
            f"The address names an unknown {safe(name)}, “{safe(in_address)}”. Known: {options_text}. Shown: "
            f"{safe(next(iter(options.values())))}."
        )
    if st.session_state.get(key) not in options:
        st.session_state[key] = in_address if in_address in options else next(iter(options))
    chosen: str = container.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        required=True,
        key=key,
        on_change=_write,
        args=(name, key),
        label_visibility="collapsed" if hidden_label else "visible",
    )
    return chosen


def _write(name: str, key: str) -> None:
    """Store the selected id in the address."""
    st.query_params[name] = str(st.session_state[key])


#: Default points of a curve that rises, falls, rises and falls.
_POINTS = ((-10.0, 0.0), (-5.0, 6.0), (0.0, -4.0), (5.0, 6.0), (10.0, 0.0))
_MAX_POINTS = 40


def points_from_address() -> tuple[tuple[float, float], ...]:
    """Return the points in the address, such as ``points=-10:0,-5:6``, or the default points."""
    pairs = [pair.split(":") for pair in st.query_params.get(Address.POINTS, "").split(",")[:_MAX_POINTS]]
    try:
        points = tuple((float(u), float(f)) for u, f in pairs)
    except ValueError:
        return _POINTS
    return points if np.isfinite(points).all() else _POINTS


def points_to_address(points: tuple[tuple[float, float], ...]) -> None:
    """Store the points in the address, so that users can share the curve as a link."""
    text = ",".join(f"{u:g}:{f:g}" for u, f in points)
    if st.query_params.get(Address.POINTS) != text:
        st.query_params[Address.POINTS] = text
