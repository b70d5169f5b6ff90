"""Streamlit components shared by pages, and one folder per page.

A file in ``pages/`` contains only the order of its page's parts and their texts. It imports Streamlit and
parts from this package, and contains no definitions, no loops and no conditions other than whether there is
something to show (``tests/test_layers.py``).
"""
