"""Tools for all packages: names, records, seeds, texts."""
