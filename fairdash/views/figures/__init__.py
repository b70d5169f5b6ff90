"""Plotly figures of data frames, in which names from a user's table are escaped."""
