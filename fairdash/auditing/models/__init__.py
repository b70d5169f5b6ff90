"""Models in an audit: fitted models of price and cost, the user's own model, and the repaired price."""
