"""Readers that turn a file's bytes into a frame and a report, one module per format."""
