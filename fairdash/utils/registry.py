"""Registries of entries by id, with a helpful error for unknown ids."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

from fairdash.errors import OptionError

Entry = TypeVar("Entry")


class HasId(Protocol):
    """An entry that knows its name."""

    @property
    def id(self) -> str: ...


Named = TypeVar("Named", bound=HasId)


def by_id(*entries: Named) -> Mapping[str, Named]:
    """The registry of these entries, each under its ``id`` and in their order; nobody can change it."""
    return MappingProxyType({entry.id: entry for entry in entries})


def get_entry(registry: Mapping[str, Entry], name: str, *, option: str) -> Entry:
    """The entry called `name`; OptionError naming `option` and the ids there are otherwise."""
    if name not in registry:
        raise OptionError.of(
            f"“{name}” is not a known {option}", f"Choose one of: {', '.join(registry)}.", column=option
        )
    return registry[name]
