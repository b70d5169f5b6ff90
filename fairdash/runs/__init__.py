"""Runs: a sweep that is carried out by a process of its own and kept in a folder of its own."""
