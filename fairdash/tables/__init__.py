"""Tables of any kind: file readers, roles, grammar of cells, leaks.

This package does not depend on fairness.
"""
