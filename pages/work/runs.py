"""Runs page: search, comparison and management of stored runs."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.runs import ask_for_file, show_actions, show_comparison, show_runs

st.title("Find and compare runs")
chosen = show_runs()
show_actions(chosen)
show_comparison(chosen)
ask_for_file()
