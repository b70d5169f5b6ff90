"""Components of the Runs page."""
