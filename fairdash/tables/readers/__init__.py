"""Readers that convert a file's bytes to a frame and a report, with one module per format."""
