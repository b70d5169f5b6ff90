"""Streamlit components shared by pages, and one folder per page.

A file in ``pages/`` contains only the order and the texts of a page's parts. The file imports Streamlit and
this package, and contains no definitions, no loops and no conditions except on whether a part has something
to show (``tests/test_layers.py``).
"""
