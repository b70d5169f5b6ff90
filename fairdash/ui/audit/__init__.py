"""Components of the Audit page."""
