"""Blocks as a page shows them; a report has them as HTML."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from fairdash.figures.blocks import Block, Picture, Table
from fairdash.ui.files import download
from fairdash.ui.frame import chart
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe
from fairdash.utils.text import unbroken, visible


def show_blocks(blocks: Iterable[Block], keys: Keys) -> None:
    """Draw sentences, facts, pictures and tables in their order; a table that is a file can be downloaded.

    Parameters
    ----------
    keys
        Of the file that shows them: each picture and download has a key there by its name.
    """
    for block in blocks:
        if isinstance(block, str):
            st.markdown(unbroken(safe(block)))
        elif isinstance(block, list):
            st.markdown("\n".join(f"- {safe(each)}" for each in block))
        elif isinstance(block, dict):
            for name, text in block.items():
                st.markdown(f"**{safe(name)}** · {safe(text)}")
        elif isinstance(block, Picture):
            chart(block.figure, key=keys(block.id), alt=block.alt)
        else:
            show_table(block, keys)


def show_table(table: Table, keys: Keys) -> None:
    """A table under its title, with what stands below it."""
    if not table.file:
        st.markdown(f"**{safe(table.title)}**")
    share = st.column_config.NumberColumn(format="percent", help="Of the mean price.")
    # A grid takes no two columns of one name, and shows headers as they are.
    frame = table.frame.loc[:, ~table.frame.columns.duplicated()]
    st.dataframe(
        frame.rename(columns=lambda name: visible(str(name), keep="")),
        hide_index=True,
        alt=table.title.capitalize(),
        column_config=dict.fromkeys(table.shares, share),
    )
    if table.note:
        st.caption(safe(table.note))
    if table.file:
        download(
            table.frame,
            label=f"{table.title.capitalize()} (CSV)",
            name=f"audit-{table.file.removesuffix('.csv')}",
            key=keys("csv", table.file),
        )
