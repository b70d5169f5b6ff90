"""What the units of a job have found, by content: ``<job>/units/<sha256>``, synced, checked on reading."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from fairdash.sealed import AlteredError, sync
from fairdash.storage import sha256, write_whole


def keep(folder: Path, files: Mapping[str, bytes]) -> str:
    """Keep some files as one; its hash, by which :func:`kept` gives them back.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted(files.items()):
            # The same values give the same hash: no time of day.
            archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), content)
    digest = sha256(buffer.getvalue())
    write_whole(folder / digest, buffer.getvalue())
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
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
