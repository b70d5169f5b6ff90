"""Version of fairdash, and versions of the packages that produced a result."""

from __future__ import annotations

from contextlib import suppress

__version__ = "0.1.0"

#: Packages whose versions may change the last digits of a result.
_COMPUTING = ("torch", "numpy", "pandas", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of Python, fairdash and the installed packages that compute results."""
    import platform

    base = {"python": platform.python_version(), "fairdash": __version__}
    return base | installed(*_COMPUTING)


def installed(*packages: str) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    by_package = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            by_package[package] = version(package)
    return by_package
