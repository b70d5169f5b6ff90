"""Readers from a file's bytes to a frame and a report, one module per format."""
