"""Import optional packages, with an error that names the extra to install if one is missing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import MappingProxyType

from fairdash.errors import MissingPackageError

#: Imported package to the extra that installs it, as in pyproject.toml.
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
    """Return whether a package of :data:`EXTRA_OF` is installed, without loading it."""
    try:
        return find_spec(package) is not None
    except MissingPackageError:
        return False


def need(*packages: str) -> None:
    """Refuse at once what would otherwise compute first and then lack a package of :data:`EXTRA_OF`.

    Raises
    ------
    MissingPackageError
        One of the packages is not installed.
    """
    for package in packages:
        if not has(package):
            raise missing(package)


def missing(package: str) -> MissingPackageError:
    """Return the error that names a package of :data:`EXTRA_OF` and the command that installs it."""
    return MissingPackageError.of(
        f"this needs the package {package}, which is not installed",
        f'Install it: pip install "fairdash[{EXTRA_OF[package]}]"',
    )


def name_missing_packages() -> None:
    """Make fairdash's own imports name the extra that installs a missing package."""
    sys.meta_path.append(_MissingPackages())


class _MissingPackages(MetaPathFinder):
    """Asked last, where no other finder has the package; other libraries' imports it leaves alone."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname in EXTRA_OF and _importer().partition(".")[0] == "fairdash":
            raise missing(fullname)
        return None


def _importer() -> str:
    """Return the name of the module whose import is being carried out."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("importlib."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))
