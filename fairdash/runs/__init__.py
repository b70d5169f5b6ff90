"""Runs: sweeps that execute in a separate process and are stored in folders of their own."""
