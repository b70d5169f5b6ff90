"""Parts of the Data page: the table, reading options, roles, content."""
