"""Three ways to begin."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.pages import page

#: Page, title and words of each.
DOORS = (
    (
        "lesson",
        "Start the lesson",
        "Five scenes, each with a guess first: links that correlation misses, what is noise, who pays.",
    ),
    (
        "audit",
        "Audit a price",
        "Does a tariff that exists follow age or income, where, is it earned, and how sure is that?",
    ),
    (
        "data",
        "Explore your data",
        "A built-in example, or your own table: a whole range of models, from most accurate to most fair.",
    ),
)


def show_doors() -> None:
    for column, (name, title, words) in zip(st.columns(3), DOORS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {title}")
            st.markdown(words)
            st.page_link(page(name), label=title, icon=":material/arrow_forward:")
