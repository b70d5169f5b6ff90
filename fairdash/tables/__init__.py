"""Tools for any table, independent of fairness: roles, patterns of cells, fixes, and leak detection."""
