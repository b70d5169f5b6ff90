"""Views of results for people: blocks, figures and reports."""
