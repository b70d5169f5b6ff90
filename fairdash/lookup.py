"""Finding an entry of a registry by its id, with a helpful refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fairdash.errors import OptionError, Problem

Entry = TypeVar("Entry")


def look_up(registry: Mapping[str, Entry], name: str, *, option: str) -> Entry:
    """The entry called `name`; OptionError naming `option` and the ids there are otherwise."""
    if name not in registry:
        raise OptionError(
            Problem(
                column=option,
                what=f"“{name}” is not a known {option}",
                mend=f"Choose one of: {', '.join(registry)}.",
            )
        )
    return registry[name]
