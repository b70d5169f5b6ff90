"""What the user calls a run: one line of text in its folder, no part of the evidence."""

from __future__ import annotations

from pathlib import Path

from fairdash.errors import Checks, FairdashError, OptionError
from fairdash.sealed import open_sealed_text, sealed_text
from fairdash.storage import write_whole

NAME = "name.json"
LONGEST_NAME = 80


def read_name(folder: Path) -> str:
    """The name; empty where there is none, or its file is not as it was written."""
    try:
        return _checked(open_sealed_text((folder / NAME).read_text(encoding="utf-8"))["name"])
    except (OSError, ValueError, KeyError, RecursionError, AttributeError, FairdashError):
        # A convenience: the run is as good without it.
        return ""


def write_name(folder: Path, name: str) -> None:
    """Keep another name, or none.

    Raises
    ------
    OptionError
        It has more than LONGEST_NAME characters, or some that are not shown.
    """
    write_whole(folder / NAME, sealed_text({"name": _checked(name)}).encode())


def _checked(name: str) -> str:
    stripped = name.strip()
    checks = Checks(OptionError)
    checks.require(
        len(stripped) <= LONGEST_NAME,
        "name",
        f"it has {len(stripped):,} characters",
        f"Take {LONGEST_NAME} at most.",
    )
    checks.require(
        stripped.isprintable(), "name", "some of its characters are not shown", "Write one line of text."
    )
    checks.finish()
    return stripped
