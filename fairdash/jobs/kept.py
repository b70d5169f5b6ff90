"""What the units of a job have found, by content: ``<job>/units/<sha256>``, synced, checked on reading.

Of a job that several processes work at, ``<job>/units/names/`` says which unit has found what:
:func:`keep_once`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from fairdash.storage import make_parents, sha256, write_whole
from fairdash.storage.bundle import AlteredError, pack, sync, unpack

#: How often whoever waits for another process's unit looks.
SECONDS_BETWEEN_LOOKS = 0.02


def keep(folder: Path, files: Mapping[str, bytes]) -> str:
    """Keep some files as one; its hash, by which :func:`kept` gives them back.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    content = pack(files)
    digest = sha256(content)
    write_whole(folder / digest, content)
    sync(folder)
    return digest


def kept(folder: Path, digest: str) -> dict[str, bytes]:
    """The files of that hash.

    Raises
    ------
    AlteredError
        They are gone, or not as they were written.
    """
    try:
        content = (folder / digest).read_bytes()
    except OSError as error:
        raise AlteredError(digest) from error
    if sha256(content) != digest:
        raise AlteredError(digest)
    return unpack(content)


def keep_once(
    folder: Path, name: str, compute: Callable[[], Mapping[str, bytes]], *, waiting: Callable[[], None]
) -> str:
    """The hash of the unit's files: another process's that has kept them, or else computed and kept here.

    Whoever is at a unit holds its lock, which dies with the process.

    Parameters
    ----------
    waiting
        Called again and again while another process is at it; what it raises ends the waiting.
    """
    place = folder / "names" / sha256(name.encode())[:16]
    make_parents(place)
    while True:
        try:
            with FileLock(place.with_suffix(".lock"), timeout=0, is_singleton=False):
                if place.exists():
                    return place.read_text(encoding="utf-8")
                digest = keep(folder, compute())
                write_whole(place, digest.encode())
                return digest
        except Timeout:
            waiting()
            time.sleep(SECONDS_BETWEEN_LOOKS)
