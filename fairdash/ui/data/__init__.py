"""Components of the Data page: the table, reading options, roles and content."""
