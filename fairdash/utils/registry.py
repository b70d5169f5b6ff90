"""Finding an entry of a registry by its id, with a helpful refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fairdash.errors import OptionError

Entry = TypeVar("Entry")


def get_entry(registry: Mapping[str, Entry], name: str, *, option: str) -> Entry:
    """The entry called `name`; OptionError naming `option` and the ids there are otherwise."""
    if name not in registry:
        raise OptionError.of(
            f"“{name}” is not a known {option}", f"Choose one of: {', '.join(registry)}.", column=option
        )
    return registry[name]
