"""Components of the page on association patterns."""
