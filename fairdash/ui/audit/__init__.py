"""Parts of the page that audits a price that already exists."""
