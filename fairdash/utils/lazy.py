"""Names of a package that are loaded when they are first used, and old names of what has moved."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__`` that loads each name from its module and keeps it.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        Name to the module that it stands in; a module of the package stands in the package.

    Examples
    --------
    >>> lazy_names("fairdash", {"Fix": "fairdash.errors"})("Fix").__name__
    'Fix'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


def moved_names(module: str, moved: Mapping[str, str]) -> Callable[[str], object]:
    """A module's ``__getattr__`` that gives old names what stands at their new places, with a warning.

    They stay until the version after next.

    Parameters
    ----------
    module
        The module's ``__name__``.
    moved
        Old name to new place, such as ``"fairdash.errors.Fix"``.

    Examples
    --------
    >>> import warnings
    >>> find = moved_names("fairdash.errors", {"Mend": "fairdash.errors.Fix"})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     find("Mend").__name__
    'Fix'
    """

    def find(name: str) -> object:
        if name not in moved:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = moved[name].rpartition(".")
        warnings.warn(f"{module}.{name} is now {moved[name]}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(home), new)

    return find
