"""Which table: what the address names, or the controls that choose one."""

from __future__ import annotations

import streamlit as st

from fairdash.data.catalogue import CATALOGUE
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.errors import FairdashError
from fairdash.ui.data.catalogue import ask_for_catalogue
from fairdash.ui.data.upload import ask_for_upload
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Keys
from fairdash.ui.state import DEFAULT_SOURCE, chosen_source

KEY = Keys(__file__)

UPLOAD = "upload"


def current_source() -> DatasetSource:
    """What the address or the session names; if that is gone, say so and begin afresh."""
    try:
        return chosen_source()
    except FairdashError as error:
        show_problems(error)
        return DEFAULT_SOURCE


def ask_for_data(current: DatasetSource) -> DatasetSource | None:
    """The controls: a data set of the catalogue or an upload, and the roles of its columns."""
    begin = current.dataset if isinstance(current, CatalogueSource) else UPLOAD
    choice = st.segmented_control(
        "Table",
        [*CATALOGUE, UPLOAD],
        default=begin,
        required=True,
        format_func=lambda each: CATALOGUE[each].title if each in CATALOGUE else "Your own file",
        key=KEY("table"),
        label_visibility="collapsed",
    )
    if choice == UPLOAD:
        return ask_for_upload(current if isinstance(current, UploadSource) else None)
    entry = CATALOGUE[choice]
    known = current if isinstance(current, CatalogueSource) and current.dataset == choice else None
    return ask_for_catalogue(entry, known)
