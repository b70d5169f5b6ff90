"""Presentation of results: blocks of text and tables, figures, and reports."""
