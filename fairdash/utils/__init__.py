"""General utilities for names, records, seeds and text."""
