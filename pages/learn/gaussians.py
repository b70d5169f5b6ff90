"""Redirect the address of the former page Gaussians to its section of Association patterns."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.pages import go_to

go_to("patterns", address={**st.query_params, "part": "gaussians"})
