"""Models in an audit: those of price and cost that it fits, the user's own, and the repaired price."""
