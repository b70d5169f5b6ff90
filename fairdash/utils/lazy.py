"""Names of a package that are loaded when they are first used, and old names of what has moved."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Any

_NONE: Mapping[str, str] = MappingProxyType({})


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Mapping[str, str] = _NONE
) -> Callable[[str], Any]:
    """Return a package's ``__getattr__`` that loads each name from its module and keeps it.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        Name to the module that it stands in.
    modules
        Name to the module that it is.

    Examples
    --------
    >>> lazy_names("fairdash", {"Fix": "fairdash.errors"})("Fix").__name__
    'Fix'
    """

    def find(name: str) -> Any:
        if name in modules:
            value: Any = import_module(modules[name])
        elif name in homes:
            value = getattr(import_module(homes[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
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


def moved_modules(moved: Mapping[str, str]) -> None:
    """Have modules imported under their old names too, with a warning; what stands below them likewise.

    They stay until the version after next.

    Parameters
    ----------
    moved
        Old name to new name, such as ``{"fairdash.assessment": "fairdash.evaluation"}``.
    """
    sys.meta_path.append(_OldNames(moved))


class _OldNames(MetaPathFinder, Loader):
    """Find a module under an old name, and put the one of its new name in its place."""

    def __init__(self, moved: Mapping[str, str]) -> None:
        self.moved = dict(moved)

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if self._new_name(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = self._new_name(old)
        warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(new)

    def _new_name(self, name: str) -> str:
        for old, new in self.moved.items():
            if name == old or name.startswith(f"{old}."):
                return new + name.removeprefix(old)
        return ""
