"""Views of results for people: blocks, figures, reports and words."""
