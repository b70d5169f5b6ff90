"""The app's pages, their parts in a file or a folder a page, and what pages share.

``pages.py`` has the order of each page's parts and their words, nothing else: it loops over nothing, and asks
at most whether there is something to go on with. ``tests/test_layers.py`` holds that.
"""
