"""Streamlit parts that pages share."""
