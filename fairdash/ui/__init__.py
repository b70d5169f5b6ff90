"""Streamlit components shared by pages, and one folder per page.

A file in ``pages/`` lists the parts of one page in order, with their texts. The file imports Streamlit and
this package, and contains no definitions and no loops. Its only conditions check whether a part has something
to show (``tests/test_layers.py``).
"""
