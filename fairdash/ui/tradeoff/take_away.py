"""What can be carried off: figures, scored rows."""

from __future__ import annotations

import streamlit as st

from fairdash.reports.comparison import Comparison
from fairdash.runs.store import Run
from fairdash.ui.frame import PICTURE_FORMAT, download


def show_take_away(found: Comparison, run: Run) -> None:
    """Downloads; every file is made on this machine."""
    st.subheader("Take it away")
    one, two, three, four = st.columns(4, vertical_alignment="bottom")
    with one:
        download(found.front.test, label="The whole path (CSV)", name=f"{run.id}-path", key="csv-path")
    with two:
        download(found.result.frame, label="All figures (CSV)", name=f"{run.id}-figures", key="csv-figures")
    with three:
        download(found.scored(), label="Test predictions (CSV)", name=f"{run.id}-predictions", key="csv-rows")
    with four:
        st.segmented_control(
            "Charts are saved as", ["PNG", "SVG"], default="PNG", required=True, key=PICTURE_FORMAT
        )
    st.caption(
        "The camera on each chart saves it as a picture. Every file is made on this machine, and none of "
        "them "
        "is sent anywhere."
    )
