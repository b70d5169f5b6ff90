"""Plotly figures of data frames, with names from a user's table escaped."""
