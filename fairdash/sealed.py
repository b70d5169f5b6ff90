"""Files that tell when a byte of them has changed: what a disk or a hand has altered is named, not shown.

<folder>/sha256.json   path of every file in the folder → its SHA-256
<file>.json            "sha256" among its entries, of all the others
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairdash.storage import cant_keep, sha256, write_whole

SEAL = "sha256.json"
_OWN = "sha256"


class AlteredError(ValueError):
    """Files are not as they were written.

    Parameters
    ----------
    names
        Which ones.
    """

    def __init__(self, *names: str) -> None:
        super().__init__(", ".join(names))
        self.names = names


def seal(folder: Path) -> None:
    """Note what every file of a folder holds, and have the disk keep it all.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    hashes = {name: sha256((folder / name).read_bytes()) for name in _files(folder)}
    write_whole(folder / SEAL, json.dumps(hashes, indent=1).encode())
    for name in hashes:
        sync(folder / name)
    for place in {(folder / name).parent for name in hashes} | {folder}:
        sync(place)


def check(folder: Path) -> None:
    """Compare every file of a folder with what :func:`seal` noted; a folder that never was sealed passes.

    Raises
    ------
    AlteredError
        Files have changed, are gone, or were added.
    OSError
        The folder can't be read.
    """
    if not (folder / SEAL).is_file():
        return
    try:
        hashes = json.loads((folder / SEAL).read_text(encoding="utf-8"))
    except ValueError:
        raise AlteredError(SEAL) from None
    if not isinstance(hashes, dict):
        raise AlteredError(SEAL)
    there = _files(folder)
    changed = {name for name in there if hashes.get(name) != sha256((folder / name).read_bytes())}
    changed |= hashes.keys() - set(there)
    if changed:
        raise AlteredError(*sorted(changed))


def sync(path: Path) -> None:
    """Have the disk keep a file, or a folder's list of names, before anything that builds on it."""
    if os.name == "nt" and path.is_dir():
        return
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise cant_keep(error) from error


def sealed_text(content: Mapping[str, Any]) -> str:
    """JSON that holds its own hash, for :func:`open_sealed_text`."""
    return json.dumps({**content, _OWN: _hash(content)}, indent=2)


def open_sealed_text(text: str) -> dict[str, Any]:
    """What :func:`sealed_text` was given; text of before, which holds no hash, as it is.

    Raises
    ------
    AlteredError
        It is not as it was written.
    ValueError
        It is no JSON object.
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    own = content.pop(_OWN, None)
    if own is not None and own != _hash(content):
        raise AlteredError
    return content


def _hash(content: Mapping[str, Any]) -> str:
    # As it is read back: tuples have become lists, and keys texts.
    return sha256(json.dumps(json.loads(json.dumps(content)), sort_keys=True).encode())


def _files(folder: Path) -> list[str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path != folder / SEAL)
    return sorted(path.relative_to(folder).as_posix() for path in paths)
