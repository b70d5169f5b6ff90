"""Studies behind the page on the paper that are too slow for tests."""
