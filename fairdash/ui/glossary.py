"""Symbols explained where a page uses them first."""

from __future__ import annotations

import streamlit as st

from fairdash.glossary import GLOSSARY


def explain(*terms: str) -> None:
    """Say what these symbols mean, one line each; all of the glossary if none is named."""
    st.caption("  \n".join(GLOSSARY[each] for each in terms or GLOSSARY))
