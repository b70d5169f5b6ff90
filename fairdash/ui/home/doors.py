"""Three ways to begin."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.pages import page

#: Page, title and words of each.
DOORS = (
    (
        "patterns",
        "Learn how dependence is measured",
        "Bend a cloud of points, add noise, and see which measure notices and which is fooled.",
    ),
    (
        "data",
        "Choose data and train",
        "A built-in example, or your own table: a whole range of models, from most accurate to most fair.",
    ),
    (
        "tradeoff",
        "See what fairness costs",
        "Move one slider; read how the averages of each group and the error change.",
    ),
)


def show_doors() -> None:
    for column, (name, title, words) in zip(st.columns(3), DOORS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {title}")
            st.markdown(words)
            st.page_link(page(name), label=title, icon=":material/arrow_forward:")
