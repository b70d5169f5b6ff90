"""Reproduction of the paper's tables and figures: studies that are too slow for tests."""
