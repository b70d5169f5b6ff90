"""Registries of entries by id, with a helpful error for unknown ids."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

from fairdash.errors import OptionError

Entry = TypeVar("Entry")


class HasId(Protocol):
    """Entry of a registry, which is identified by its id."""

    @property
    def id(self) -> str: ...


Named = TypeVar("Named", bound=HasId)


def by_id(*entries: Named) -> Mapping[str, Named]:
    """Return an immutable registry of these entries by ``id``, in the given order."""
    return MappingProxyType({entry.id: entry for entry in entries})


def get_entry(registry: Mapping[str, Entry], name: str, *, option: str) -> Entry:
    """Return the entry with this id, or raise an OptionError that names `option` and the available ids."""
    if name not in registry:
        raise OptionError.of(
            f"“{name}” is not a known {option}", f"Choose one of: {', '.join(registry)}.", column=option
        )
    return registry[name]
