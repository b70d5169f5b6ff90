"""A data set of the catalogue: its options, how it comes here, its roles."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.data.catalogue import CatalogueEntry, CatalogueOption, OptionValue
from fairdash.data.source import CatalogueSource
from fairdash.ui.cached import dataset_of
from fairdash.ui.data.mends import ask_for_mends
from fairdash.ui.data.roles import ask_for_roles
from fairdash.ui.text import safe


def ask_for_catalogue(entry: CatalogueEntry, known: CatalogueSource | None) -> CatalogueSource | None:
    source = f"[{entry.source}]({entry.url})" if entry.url else entry.source
    st.markdown(f"{entry.description} *{source}; {entry.licence}.*")
    options = ask_for_options(entry, known.options if known else {}) if entry.options else {}
    plain = CatalogueSource(dataset=entry.id, options=options)
    if not entry.on_hand():
        if not entry.needs_download:
            bring(entry)
            return None
        if not download(entry, plain):
            return None
    preset = dataset_of(plain)
    roles = known.roles if known and known.roles else preset.roles
    key = f"{plain.id} roles"
    chosen = ask_for_roles(preset.table(), roles, key=key)
    if chosen is None:
        return None
    if chosen == preset.roles:
        return plain
    mends = ask_for_mends(known.mends if known else (), preset.table(), key=key)
    return CatalogueSource(dataset=entry.id, options=options, roles=chosen, mends=mends)


def ask_for_options(entry: CatalogueEntry, known: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    with st.expander("Options of this data set"):
        columns = st.columns(2)
        return {
            option.name: ask_for_option(
                columns[k % 2], option, known.get(option.name, option.default), f"{entry.id} {option.name}"
            )
            for k, option in enumerate(entry.options)
        }


def ask_for_option(
    place: DeltaGenerator, option: CatalogueOption, value: OptionValue, key: str
) -> OptionValue:
    if option.choices is None:
        return int(place.number_input(option.label, option.minimum, option.maximum, int(value), key=key))
    names = list(option.choices)
    return place.selectbox(
        option.label, names, index=names.index(value), format_func=option.choices.__getitem__, key=key
    )


def download(entry: CatalogueEntry, source: CatalogueSource) -> bool:
    """Fetch the data set when asked to; whether it is there now."""
    st.info(f"This data set is not on this machine yet ({entry.size}).")
    if not st.button("Download it from its publisher", type="primary", icon=":material/download:"):
        return False
    bar = st.progress(0.0, text="Connecting…")

    def show(done: int, total: int | None) -> None:
        bar.progress(min(done / total, 1.0) if total else 0.0, text=f"{done / 1e6:.1f} MB")

    source.load(progress=show)
    bar.empty()
    return True


def bring(entry: CatalogueEntry) -> None:
    """Say how to bring the data set, or take it here and begin again."""
    assert entry.how_to_bring is not None
    assert entry.keep_brought is not None
    st.info(f"This data set is not on this machine ({entry.size}). {safe(entry.how_to_bring())}")
    file = st.file_uploader("Or choose the file here", type="csv", key=f"{entry.id} brought")
    if file is not None:
        entry.keep_brought(file.getvalue())
        st.rerun()
