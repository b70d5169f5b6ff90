"""Streamlit components shared by pages, and one folder per page.

A file in ``pages/`` holds the order of its page's parts and their words, nothing else: it imports Streamlit
and parts from here, defines nothing, loops over nothing, and asks at most whether there is something to go
on with. ``tests/test_layers.py`` holds that.
"""
