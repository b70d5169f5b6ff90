"""Components of the Data page for the selection of a table, reading options, roles and content."""
