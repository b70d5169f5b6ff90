"""Parts of the page that audits an existing price."""
