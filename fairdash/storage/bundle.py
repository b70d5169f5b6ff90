"""File bundles that detect altered bytes: in a zip, in a folder, or in one file.

a zip              :func:`pack` writes the same bytes for the same files; :func:`unpack` checks everything
sha256.json        in a zip or a folder: path of every other file → its SHA-256
<file>.json        its entry "sha256" covers all other entries

An altered file is named, and its content is not shown.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairdash.errors import StorageError
from fairdash.storage import cant_keep, sha256, sha256_of, write_whole

SEAL = "sha256.json"
_OWN = "sha256"
#: Zip files say when each part was made; what has no time has this one, the first that a zip can hold.
NO_TIME = (1980, 1, 1, 0, 0, 0)
#: Files of a zip that is read: each takes time, even an empty one.
MAX_FILES = 20_000
_ENTRY = b"PK\x01\x02"


class AlteredError(ValueError):
    """Files differ from what was written.

    Parameters
    ----------
    names
        Names of the files.
    """

    def __init__(self, *names: str) -> None:
        super().__init__(", ".join(names))
        self.names = names


class BundleError(ValueError):
    """The zip was not written by fairdash; the reason fits the end of a sentence."""


def pack(
    files: Mapping[str, bytes],
    *,
    mode: int = 0o600,
    time: tuple[int, int, int, int, int, int] = NO_TIME,
    is_packed: bool = False,
) -> bytes:
    """Zip files in the order of their names, without times or system attributes.

    Parameters
    ----------
    mode
        Permissions of the unpacked files.
    time
        Time stamp of the files.
    is_packed
        Whether to compress them.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name, time)
            member.create_system, member.external_attr = 3, mode << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED)
    return target.getvalue()


def unpack(content: bytes, *names: str, largest: int | None = None) -> dict[str, bytes]:
    """Return the files in a zip, or only the named ones.

    Parameters
    ----------
    largest
        Largest total size after unpacking; by default that of the zip, which permits no compression.

    Raises
    ------
    BundleError
        The file is not a zip, is damaged, or is too large.
    """
    if content.count(_ENTRY) > MAX_FILES:
        raise BundleError("and has too many parts")
    left, files = len(content) if largest is None else largest, {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            wanted = [member for member in archive.infolist() if not names or member.filename in names]
            # Before anything is unpacked; what the zip says of a size need not be so.
            if sum(member.file_size for member in wanted) > left:
                raise BundleError("and holds too much")
            for member in wanted:
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise BundleError("or was packed in an unusual way")
                with archive.open(member) as part:
                    files[member.filename] = part.read(left + 1)
                left -= len(files[member.filename])
                if left < 0:
                    raise BundleError("and holds too much")
    except BundleError:
        raise
    # Errors of zipfile on damaged, locked and oddly packed files.
    except (OSError, EOFError, ValueError, RuntimeError, IndexError, zlib.error, zipfile.BadZipFile) as error:
        raise BundleError("or is damaged") from error
    return files


def hashes_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return a map of each file except the seal to its SHA-256, in order."""
    return {name: sha256(content) for name, content in sorted(files.items()) if name != SEAL}


def sealing(hashes: Mapping[str, str]) -> bytes:
    """Return the content of ``sha256.json``."""
    return json.dumps(hashes, indent=1).encode()


def changed(there: Mapping[str, str], noted: bytes) -> list[str]:
    """Return the names of files that were changed, removed or added since the seal.

    Parameters
    ----------
    there
        Map of names to current hashes.
    noted
        Text written by :func:`sealing`. An unreadable text counts as changed.
    """
    try:
        hashes = json.loads(noted)
    except (ValueError, RecursionError):
        hashes = None
    if not isinstance(hashes, dict):
        return [SEAL]
    return sorted(name for name in there.keys() | hashes.keys() if there.get(name) != hashes.get(name))


def seal(folder: Path) -> None:
    """Record the content of every file of a folder, and flush it to disk.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    hashes = _hashes_in(folder)
    write_whole(folder / SEAL, sealing(hashes))
    for name in hashes:
        sync(folder / name)
    for place in {(folder / name).parent for name in hashes} | {folder}:
        sync(place)


def check(folder: Path) -> None:
    """Compare every file of a folder with its seal.

    Raises
    ------
    AlteredError
        Files were changed, removed or added, or the seal is missing.
    OSError
        The folder can't be read.
    """
    hashes = _hashes_in(folder)
    seal = (folder / SEAL).read_bytes() if (folder / SEAL).is_file() else b""
    if names := changed(hashes, seal):
        raise AlteredError(*names)


@contextmanager
def whole_folder(place: Path) -> Iterator[Path]:
    """Yield a folder to write into, which becomes `place` on success and is removed otherwise.

    Raises
    ------
    StorageError
        The disk can't be written, the parent folder is missing, or another process wrote it first.
    """
    new = place.with_name(f".{secrets.token_hex(6)}")
    try:
        new.mkdir(mode=0o700)
        yield new
        new.rename(place)
        sync(place.parent)
    except StorageError:
        raise
    except OSError as error:
        raise cant_keep(error) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def sync(path: Path) -> None:
    """Flush a file, or a folder's list of names, to disk before anything relies on it."""
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
    """Return JSON that contains its own hash, for :func:`open_sealed_text`."""
    return json.dumps({**content, _OWN: _hash(content)}, indent=2)


def open_sealed_text(text: str) -> dict[str, Any]:
    """Content of :func:`sealed_text`.

    Raises
    ------
    AlteredError
        The text was changed, or has no hash.
    ValueError
        It is not a JSON object.
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    if content.pop(_OWN, None) != _hash(content):
        raise AlteredError
    return content


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file that contains its own hash, atomically; StorageError if that fails."""
    write_whole(path, sealed_text(content).encode())


def read_sealed(path: Path) -> dict[str, Any]:
    """Content written by :func:`write_sealed`; errors as :func:`open_sealed_text`, and OSError."""
    return open_sealed_text(path.read_text(encoding="utf-8"))


def _hash(content: Mapping[str, Any]) -> str:
    # As it is read back: tuples have become lists, and keys texts.
    return sha256(json.dumps(json.loads(json.dumps(content)), sort_keys=True).encode())


def _hashes_in(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / SEAL)
    found = {path.relative_to(folder).as_posix(): sha256_of(path) for path in paths}
    return dict(sorted(found.items()))
