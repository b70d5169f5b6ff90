"""Import optional packages, with an error that names the extra to install if one is missing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType

from fairdash.errors import MissingPackageError

#: Package that is imported to the extra that brings it, as in pyproject.toml.
EXTRA_OF: Mapping[str, str] = MappingProxyType(
    {
        "pyarrow": "readers",
        "pyreadstat": "readers",
        "python_calamine": "readers",
        "rdata": "readers",
        "requests": "readers",
        "shap": "explain",
        "onnxruntime": "onnx",
        "safetensors": "train",
        "torch": "train",
        "plotly": "plot",
        "matplotlib": "report",
        "yaml": "report",
        "dbos": "jobs",
        "sqlalchemy": "jobs",
        "streamlit": "app",
    }
)


@cache
def has(package: str) -> bool:
    """Return whether a package of :data:`EXTRA_OF` is installed."""
    try:
        import_module(package)
    except ModuleNotFoundError:
        return False
    return True


def name_missing_packages() -> None:
    """Make fairdash's own imports name the extra that installs a missing package."""
    sys.meta_path.append(_MissingPackages())


class _MissingPackages(MetaPathFinder):
    """Asked last, where no other finder has the package; other libraries' imports it leaves alone."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        extra = EXTRA_OF.get(fullname)
        if extra is not None and _importer().partition(".")[0] == "fairdash":
            raise MissingPackageError.of(
                f"this needs the package {fullname}, which is not installed",
                f'Install it: pip install "fairdash[{extra}]"',
            )
        return None


def _importer() -> str:
    """Return the name of the module whose import is being carried out."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("importlib."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))
