"""Selection of a data set of the catalogue, with options and download, or of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.data.catalogue import CATALOGUE, CatalogueEntry, CatalogueOption, OptionValue
from fairdash.data.dataset import Dataset
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.errors import FairdashError
from fairdash.jobs.queue import prepare
from fairdash.ui.cached import dataset_of
from fairdash.ui.data.roles import ask_for_fixes, ask_for_names, ask_for_roles
from fairdash.ui.data.upload import ask_for_upload
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import go_to
from fairdash.ui.state import DEFAULT_SOURCE, choose_audit, choose_run, chosen_source
from fairdash.ui.text import safe
from fairdash.utils.text import counted, megabytes

KEY = Keys(__file__)

UPLOAD = "upload"


def current_source() -> DatasetSource:
    """Return the data source in the address or session. If it is deleted, say so and return the default."""
    try:
        return chosen_source()
    except FairdashError as error:
        show_problems(error)
        return DEFAULT_SOURCE


def ask_for_data(current: DatasetSource) -> DatasetSource | None:
    """Show the controls for a data set of the catalogue or an upload, and for column roles."""
    initial_choice = current.dataset if isinstance(current, CatalogueSource) else UPLOAD
    choice = st.segmented_control(
        "Table",
        [*CATALOGUE, UPLOAD],
        default=initial_choice,
        required=True,
        format_func=lambda option: CATALOGUE[option].title if option in CATALOGUE else "Your own file",
        key=KEY("table"),
        label_visibility="collapsed",
    )
    if choice == UPLOAD:
        return ask_for_upload(current if isinstance(current, UploadSource) else None)
    entry = CATALOGUE[choice]
    stored = current if isinstance(current, CatalogueSource) and current.dataset == choice else None
    return ask_for_catalogue(entry, stored)


def ask_for_catalogue(entry: CatalogueEntry, stored: CatalogueSource | None) -> CatalogueSource | None:
    source = f"[{entry.source}]({entry.url})" if entry.url else entry.source
    st.markdown(f"{entry.description} *{source}; {entry.licence}.*")
    options = ask_for_options(entry, stored.options if stored else {}) if entry.options else {}
    default_source = CatalogueSource(dataset=entry.id, options=options)
    if not entry.is_local():
        if not entry.needs_download:
            ask_for_missing_file(entry)
            return None
        if not download(entry, default_source):
            return None
    preset = dataset_of(default_source)
    roles = stored.roles if stored and stored.roles else preset.roles
    key = f"{default_source.id} roles"
    chosen = ask_for_roles(preset.table(), roles, key=key, table=default_source.id)
    if chosen is None:
        return None
    names = ask_for_names(chosen, stored.names if stored else {}, preset=preset.names, key=key)
    if chosen == preset.roles:
        return replace(default_source, names=names) if names else default_source
    fixes = ask_for_fixes(stored.fixes if stored else (), list(preset.table()), key=key)
    return CatalogueSource(dataset=entry.id, options=options, roles=chosen, fixes=fixes, names=names)


def ask_for_options(entry: CatalogueEntry, stored: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    with st.expander("Options of this data set"):
        columns = st.columns(2)
        return {
            option.name: ask_for_option(
                columns[k % 2],
                option,
                stored.get(option.name, option.default),
                KEY("option", entry.id, option.name),
            )
            for k, option in enumerate(entry.options)
        }


def ask_for_option(
    container: DeltaGenerator, option: CatalogueOption, value: OptionValue, key: str
) -> OptionValue:
    if option.choices is None:
        return int(container.number_input(option.label, option.minimum, option.maximum, int(value), key=key))
    names = list(option.choices)
    return container.selectbox(
        option.label, names, index=names.index(value), format_func=option.choices.__getitem__, key=key
    )


def download(entry: CatalogueEntry, source: CatalogueSource) -> bool:
    """Offer the download of a data set. Return whether the data set is available."""
    st.info(f"This data set is not on this machine yet ({entry.size}).")
    if not st.button("Download it from its publisher", type="primary", icon=":material/download:"):
        return False
    bar = st.progress(0.0, text="Connecting…")

    def show_progress(n_done: int, total: int | None) -> None:
        bar.progress(min(n_done / total, 1.0) if total else 0.0, text=f"{megabytes(n_done)}")

    source.load(progress=show_progress)
    bar.empty()
    return True


def ask_for_missing_file(entry: CatalogueEntry) -> None:
    """Explain how to obtain the data set's file, and ask for the file. Importing it reruns the page."""
    st.info(f"This data set is not on this machine ({entry.size}). {safe(entry.how_to_obtain())}")
    file = st.file_uploader("Or choose the file here", type="csv", key=KEY("brought", entry.id))
    if file is not None:
        entry.store_downloaded(file.getvalue())
        st.rerun()


def show_heading(data: Dataset, source: DatasetSource) -> None:
    """Show title, number of rows and roles, with links to the pages Trade-off, Train and Audit."""
    heading, buttons = st.columns([3, 1], vertical_alignment="center")
    heading.subheader(safe(data.title), anchor=False)
    heading.caption(
        f"{counted(data.n_rows, 'row')}"
        + ("" if data.group is None else f" of {counted(data.group.nunique(), 'group')}")
        + f" · {counted(len(data.roles.features), 'feature')} · sensitive: "
        f"{safe(', '.join(data.roles.sensitive))} · target: {safe(data.roles.target)}"
        + (f" ÷ {safe(data.roles.weight)}" if data.per_exposure and data.roles.weight else "")
        + (f" · exposure: {safe(data.roles.weight)}" if data.roles.weight else "")
    )
    with buttons:
        if st.button("See what fairness costs", type="primary", icon=":material/balance:", width="stretch"):
            _switch_source("tradeoff", source)
        if st.button("Train on this data", icon=":material/tune:", width="stretch"):
            _switch_source("train", source)
        if st.button("Audit a price in this table", icon=":material/fact_check:", width="stretch"):
            choose_audit(None)
            go_to("audit", address={Address.DATASET.value: source.id})
    # A worker process is started now, which takes seconds, because the user will probably ask for a preview
    # next.
    prepare()


def _switch_source(name: str, source: DatasetSource) -> None:
    choose_run(None)
    go_to(name, address={Address.DATASET.value: source.id})
