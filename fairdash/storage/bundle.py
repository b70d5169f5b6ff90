"""Files in a zip, in a folder or as one JSON file, with hashes that reveal altered bytes.

a zip              :func:`pack` writes the same bytes for the same files; :func:`unpack` checks the zip
sha256.json        map of the path of every other file to its SHA-256, in a zip or a folder
<file>.json        JSON file whose entry "sha256" is the hash of all other entries

Error messages name an altered file, but do not show its content.
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
from fairdash.storage import sha256, sha256_of, write_error, write_whole

SEAL = "sha256.json"
_HASH_KEY = "sha256"
#: Time stamp in a zip for files without a time. It is the earliest time that a zip can store.
NO_TIME = (1980, 1, 1, 0, 0, 0)
#: Maximum number of files in a zip, because reading even an empty file takes time.
MAX_FILES = 20_000
_ENTRY = b"PK\x01\x02"


class AlteredError(ValueError):
    """Error for files that were changed after they were written.

    Parameters
    ----------
    names
        Names of the files.
    """

    def __init__(self, *names: str) -> None:
        super().__init__(", ".join(names))
        self.names = names


class BundleError(ValueError):
    """Error for a zip that fairdash did not write. The message is a clause, such as “it is damaged”."""


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
        True to compress the files.
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
        Maximum total size after unpacking. The default, the size of the zip, suits only files that are not
        compressed.

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
            members = [member for member in archive.infolist() if not names or member.filename in names]
            # Declared sizes are checked before unpacking. They may be wrong, so reading is limited as well.
            if sum(member.file_size for member in members) > left:
                raise BundleError("and holds too much")
            for member in members:
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise BundleError("or was packed in an unusual way")
                with archive.open(member) as part:
                    files[member.filename] = part.read(left + 1)
                left -= len(files[member.filename])
                if left < 0:
                    raise BundleError("and holds too much")
    except BundleError:
        raise
    # zipfile raises these errors for damaged, encrypted and unusually compressed files.
    except (OSError, EOFError, ValueError, RuntimeError, IndexError, zlib.error, zipfile.BadZipFile) as error:
        raise BundleError("or is damaged") from error
    return files


def hashes_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return a map of sorted file names to SHA-256, without the file of hashes."""
    return {name: sha256(content) for name, content in sorted(files.items()) if name != SEAL}


def sealing(hashes: Mapping[str, str]) -> bytes:
    """Return the content of ``sha256.json``."""
    return json.dumps(hashes, indent=1).encode()


def changed(current: Mapping[str, str], recorded: bytes) -> list[str]:
    """Return the names of files that were changed, removed or added since their hashes were recorded.

    Parameters
    ----------
    current
        Map of names to current hashes.
    recorded
        Text from :func:`sealing`. If it is unreadable, only ``sha256.json`` is reported as changed.
    """
    try:
        hashes = json.loads(recorded)
    except (ValueError, RecursionError):
        hashes = None
    if not isinstance(hashes, dict):
        return [SEAL]
    return sorted(name for name in current.keys() | hashes.keys() if current.get(name) != hashes.get(name))


def seal(folder: Path) -> None:
    """Record the hash of every file of a folder in ``sha256.json``, and flush all files to disk.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    hashes = _hashes_in(folder)
    write_whole(folder / SEAL, sealing(hashes))
    for name in hashes:
        sync(folder / name)
    for parent in {(folder / name).parent for name in hashes} | {folder}:
        sync(parent)


def check(folder: Path) -> None:
    """Compare every file of a folder with the hash in ``sha256.json``.

    Raises
    ------
    AlteredError
        Files were changed, removed or added, or ``sha256.json`` is missing.
    OSError
        The folder can't be read.
    """
    hashes = _hashes_in(folder)
    seal = (folder / SEAL).read_bytes() if (folder / SEAL).is_file() else b""
    if names := changed(hashes, seal):
        raise AlteredError(*names)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder for new files. It is renamed to `folder` on success and removed on failure.

    Raises
    ------
    StorageError
        The disk can't be written, the parent folder is missing, or another process created `folder` first.
    """
    unfinished = folder.with_name(f".{secrets.token_hex(6)}")
    try:
        unfinished.mkdir(mode=0o700)
        yield unfinished
        unfinished.rename(folder)
        sync(folder.parent)
    except StorageError:
        raise
    except OSError as error:
        raise write_error(error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def sync(path: Path) -> None:
    """Flush a file, or a folder's list of names, to disk before other files depend on it."""
    if os.name == "nt" and path.is_dir():
        return
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise write_error(error) from error


def sealed_text(content: Mapping[str, Any]) -> str:
    """Return JSON that contains its own hash, for :func:`open_sealed_text`."""
    return json.dumps({**content, _HASH_KEY: _hash(content)}, indent=2)


def open_sealed_text(text: str) -> dict[str, Any]:
    """Return the content of a text from :func:`sealed_text`.

    Raises
    ------
    AlteredError
        The text was changed, or has no hash.
    ValueError
        The text is not a JSON object.
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    if content.pop(_HASH_KEY, None) != _hash(content):
        raise AlteredError
    return content


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file that contains its own hash, atomically, or raise StorageError."""
    write_whole(path, sealed_text(content).encode())


def read_sealed(path: Path) -> dict[str, Any]:
    """Read a file from :func:`write_sealed`, with OSError or the errors of :func:`open_sealed_text`."""
    return open_sealed_text(path.read_text(encoding="utf-8"))


def _hash(content: Mapping[str, Any]) -> str:
    # The content is hashed after a round trip through JSON, where tuples become lists and keys become
    # strings.
    return sha256(json.dumps(json.loads(json.dumps(content)), sort_keys=True).encode())


def _hashes_in(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / SEAL)
    hashes = {path.relative_to(folder).as_posix(): sha256_of(path) for path in paths}
    return dict(sorted(hashes.items()))
