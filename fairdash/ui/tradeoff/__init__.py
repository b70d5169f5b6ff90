"""The parts of the trade-off page."""
