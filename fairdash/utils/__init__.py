"""General utilities: names, records, seeds and text."""
