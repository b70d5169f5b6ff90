"""The audit of a price that exists."""
