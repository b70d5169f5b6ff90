"""Symbols explained where a page uses them first."""

from __future__ import annotations

import streamlit as st

from fairdash.utils.glossary import GLOSSARY


def in_lines(*terms: str) -> str:
    """What these symbols mean, one line each; all of the glossary if none is named."""
    return "  \n".join(GLOSSARY[each] for each in terms or GLOSSARY)


def explain(*terms: str) -> None:
    """Say it on the page."""
    st.caption(in_lines(*terms))
