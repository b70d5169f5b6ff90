"""Components of the Paper page, which shows only results read from disk."""
