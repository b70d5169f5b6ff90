"""Components of the Patterns page on association patterns."""
