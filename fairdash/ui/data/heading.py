"""The data set in use, in one line, and where to go from here."""

from __future__ import annotations

import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.jobs.engine import prepare
from fairdash.ui.keys import Address
from fairdash.ui.pages import go_to
from fairdash.ui.state import choose_run
from fairdash.ui.text import safe
from fairdash.utils.text import counted


def show_heading(data: Dataset, source: DatasetSource) -> None:
    """Title, rows and roles; the ways to the trade-off and to training."""
    heading, buttons = st.columns([3, 1], vertical_alignment="center")
    heading.subheader(safe(data.title), anchor=False)
    heading.caption(
        f"{counted(data.n_rows, 'row')} · {counted(len(data.roles.features), 'feature')} · sensitive: "
        f"{safe(', '.join(data.roles.sensitive))} · target: {safe(data.roles.target)}"
        + (f" ÷ {safe(data.roles.weight)}" if data.per_exposure and data.roles.weight else "")
        + (f" · exposure: {safe(data.roles.weight)}" if data.roles.weight else "")
    )
    with buttons:
        if st.button("See what fairness costs", type="primary", icon=":material/balance:", width="stretch"):
            _leave_for("tradeoff", source)
        if st.button("Train on this data", icon=":material/tune:", width="stretch"):
            _leave_for("train", source)
    # A first look is likely to be the next thing; its worker needs seconds to start.
    prepare()


def _leave_for(name: str, source: DatasetSource) -> None:
    choose_run(None)
    go_to(name, address={Address.DATASET.value: source.id})
