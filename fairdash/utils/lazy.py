"""Names of a package that are loaded when they are first used, and old names of what has moved."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
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


def names_of_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """A package's ``__getattr__``, ``__dir__`` and ``__all__``: its names are those that its stub imports.

    So they stand in one list, for whoever runs the package and for tools that read types.

    Parameters
    ----------
    package, file
        The package's ``__name__`` and ``__file__``; the stub lies beside it as ``__init__.pyi``.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {name.name: str(node.module) for node in imports for name in node.names}
    names = sorted(homes)
    return lazy_names(package, homes), lambda: names, names


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
