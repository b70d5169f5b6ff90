"""Runs and other jobs: they are executed in separate processes, and each job is stored in a folder."""
