"""Frames in, plotly figures out. Names that come from a user's table are escaped here."""
