"""The parts of the page on association patterns."""
