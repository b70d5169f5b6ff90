"""Models in files of other libraries: what a file is, and what it predicts."""
