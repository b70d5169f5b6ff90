"""The paper's tables and figures made again: studies that are too slow for tests."""
