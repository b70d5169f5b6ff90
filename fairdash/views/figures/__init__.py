"""Plotly figures of data frames; names from a user's table are escaped in them."""
