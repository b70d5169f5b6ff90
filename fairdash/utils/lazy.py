"""Load a package's names on first use."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__`` that loads each name from its module and keeps it.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        Name to the module that it stands in; a module to the package that it stands in.

    Examples
    --------
    >>> lazy_names("fairdash", {"Fix": "fairdash.errors"})("Fix").__name__
    'Fix'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        if home == package or not hasattr(import_module(home), name):
            import_module(f"{home}.{name}")
        value = getattr(sys.modules[home], name)
        setattr(sys.modules[package], name, value)
        return value

    return find


def names_of_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__`` for the names that its stub imports.

    So they are in one list, for the package and for tools that read types.

    Parameters
    ----------
    package, file
        The package's ``__name__`` and ``__file__``; the stub lies beside it as ``__init__.pyi``.
    """
    homes = homes_of_stub(file)
    names = sorted(homes)
    return lazy_names(package, homes), lambda: names, names


def homes_of_stub(file: str) -> dict[str, str]:
    """Return each name that the stub beside a package's file imports, with its module."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names}
