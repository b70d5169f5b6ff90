"""Tables, column roles, the :class:`Dataset` for training, and the catalogue of public data.

A name is imported from its module when it is first used. ``__init__.pyi`` lists names and modules.
"""

from __future__ import annotations

from fairdash.utils.imports import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
