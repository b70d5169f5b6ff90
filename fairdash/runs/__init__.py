"""Runs and other jobs, which are executed in separate processes and stored in one folder each."""
