"""Runs: sweeps in a separate process, each stored in its own folder."""
