"""Plotly figures from frames. Names from a user's table are escaped here."""
