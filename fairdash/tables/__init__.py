"""Tables of any kind: file readers, roles, grammar of cells, leaks; nothing of fairness."""
