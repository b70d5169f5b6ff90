"""Reports and exports of results: sentences, tables, figures and files."""
