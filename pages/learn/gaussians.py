"""Redirection of the former address of the Gaussians page to its part of the Patterns page."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.pages import go_to

go_to("patterns", address={**st.query_params, "part": "gaussians"})
