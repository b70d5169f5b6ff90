"""Tables, column roles, the :class:`Dataset` for training, and the catalogue of public data.

Nothing heavy is imported here: each name is loaded when it is first used, from where ``__init__.pyi`` says.
"""

from __future__ import annotations

from fairdash.utils.lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
