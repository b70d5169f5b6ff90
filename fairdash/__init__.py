"""Explore the trade-off between accuracy and fairness for sensitive numbers and classes.

>>> import fairdash as fd
>>> round(fd.measure("pearson", [1.0, 2.0, 3.0], [2.0, 4.0, 6.1]), 3)
1.0

Each name is imported on first use, from the module that ``__init__.pyi`` names. Only training and the neural
measures load torch.
"""

from __future__ import annotations

from fairdash.utils.imports import name_missing_packages, names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
name_missing_packages()
