"""Parts of the Train page."""
