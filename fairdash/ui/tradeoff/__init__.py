"""Components of the Trade-off page."""
