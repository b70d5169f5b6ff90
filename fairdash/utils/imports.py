"""Imports of optional packages with errors that name the extra to install, and lazy imports of names."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairdash.errors import MissingPackageError

#: Extra that installs each imported package, as in pyproject.toml.
EXTRA_OF: Mapping[str, str] = MappingProxyType(
    {
        "pyarrow": "readers",
        "pyreadstat": "readers",
        "python_calamine": "readers",
        "rdata": "readers",
        "requests": "readers",
        "shap": "explain",
        "onnxruntime": "onnx",
        "lightgbm": "models",
        "xgboost": "models",
        "catboost": "models",
        "safetensors": "train",
        "torch": "train",
        "plotly": "plot",
        "matplotlib": "report",
        "yaml": "report",
        "weasyprint": "report",
        "dbos": "jobs",
        "sqlalchemy": "jobs",
        "streamlit": "app",
    }
)


@cache
def has(package: str) -> bool:
    """Return whether a package of :data:`EXTRA_OF` is installed, without loading the package."""
    try:
        return find_spec(package) is not None
    except MissingPackageError:
        return False


def need(*packages: str) -> None:
    """Raise an error before a computation starts if a package of :data:`EXTRA_OF` that it needs is missing.

    Raises
    ------
    MissingPackageError
        Raised if one of the packages is not installed.
    """
    for package in packages:
        if not has(package):
            raise missing(package)


def missing(package: str) -> MissingPackageError:
    """Return the error that names a package of :data:`EXTRA_OF` and the command that installs it."""
    return MissingPackageError.of(
        f"this function needs the package {package}, which is not installed",
        f'Install it: pip install "fairdash[{EXTRA_OF[package]}]"',
    )


def name_missing_packages() -> None:
    """Make the error of a failed import in fairdash name the extra that installs the missing package."""
    sys.meta_path.append(_MissingPackages())


class _MissingPackages(MetaPathFinder):
    """Import finder that Python uses after all other finders. It ignores imports by other libraries."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname in EXTRA_OF and _importer().partition(".")[0] == "fairdash":
            raise missing(fullname)
        return None


def _importer() -> str:
    """Return the name of the module that imports the package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("importlib."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which loads each name from its module on first use and caches it.

    Parameters
    ----------
    package
        Name ``__name__`` of the package.
    homes
        Map of names to their modules, and of modules to their packages.

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

    The package and type checkers therefore share one list.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__`` of the package; its stub is ``__init__.pyi`` in the same folder.
    """
    homes = homes_of_stub(file)
    names = sorted(homes)
    return lazy_names(package, homes), lambda: names, names


def homes_of_stub(file: str) -> dict[str, str]:
    """Return each name that the stub of a package imports, with the module of the name."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names}
