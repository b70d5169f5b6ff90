"""Views of results for readers: blocks, figures and reports."""
