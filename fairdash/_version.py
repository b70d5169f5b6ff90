"""Versions: fairdash's own, and of what computes with it."""

from __future__ import annotations

__version__ = "0.1.0"

#: The packages that decide the last digits of a result.
_COMPUTING = ("torch", "numpy", "pandas", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Python, fairdash and the packages that compute, each with its version."""
    import platform
    from importlib.metadata import version

    own = {"python": platform.python_version(), "fairdash": __version__}
    return own | {package: version(package) for package in _COMPUTING}
