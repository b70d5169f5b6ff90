"""fairdash: the trade-off between accuracy and fairness for continuous sensitive attributes."""

from fairdash._version import __version__

__all__ = ["__version__"]
