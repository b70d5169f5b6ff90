"""What the units of a job have found, by content: ``<job>/units/<sha256>``, synced, checked on reading.

``<job>/units/names/`` says which unit has found what, so that a job that was killed goes on after its last
finished unit, and two processes at one job share them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from fairdash.jobs.steps import Found, from_files, to_files
from fairdash.storage import make_parents, sha256, write_whole
from fairdash.storage.bundle import AlteredError, pack, sync, unpack

#: How often whoever waits for another process's unit looks.
SECONDS_BETWEEN_LOOKS = 0.02

log = logging.getLogger("fairdash.cli.worker")


class Checkpoints:
    """A :class:`fairdash.jobs.steps.Unit` that keeps what is found: each is computed once, by the first.

    Whoever is at a unit holds its lock, which dies with the process.

    Parameters
    ----------
    folder
        Where the finds lie.
    check
        Called before each unit, and again and again while another process is at it; what it raises ends
        the job.
    from_the_end
        Whether this is the second of two processes (:func:`fairdash.jobs.steps.turns`).
    """

    def __init__(
        self, folder: Path, *, check: Callable[[], None] = lambda: None, from_the_end: bool = False
    ) -> None:
        self.folder = folder
        self.check = check
        self.from_the_end = from_the_end

    def __call__(self, name: str, compute: Callable[[], Found], /) -> Found:
        """What the unit of this name has found, now or before."""
        place = self.folder / "names" / sha256(name.encode())[:16]
        make_parents(place)
        while True:
            self.check()
            try:
                with FileLock(place.with_suffix(".lock"), timeout=0, is_singleton=False):
                    return from_files(self._known(place) or self._keep(place, to_files(compute())))
            except Timeout:
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def _known(self, place: Path) -> dict[str, bytes] | None:
        if not place.exists():
            return None
        try:
            return kept(self.folder, place.read_text(encoding="utf-8", errors="replace"))
        except AlteredError as error:
            log.warning("%s/%s is gone or altered, and computed once more", self.folder, error)
            return None

    def _keep(self, place: Path, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        write_whole(place, keep(self.folder, files).encode())
        return files


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
    except (OSError, ValueError) as error:
        raise AlteredError(digest) from error
    if sha256(content) != digest:
        raise AlteredError(digest)
    return unpack(content)
