"""Where fairdash keeps files of the user's, and how it writes them.

``FAIRDASH_HOME`` names one folder for everything; without it the places the operating system sets aside for
a user's data and caches are used.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from fairdash.errors import StorageError

WRITABLE = "Free some space, or set FAIRDASH_HOME to a folder that can be written."


def sha256(content: bytes) -> str:
    """Give the SHA-256 of some bytes in hex."""
    return hashlib.sha256(content).hexdigest()


def data_folder(name: str) -> Path:
    """Give a folder for files that must be kept, such as uploads; it need not exist yet."""
    home = os.environ.get("FAIRDASH_HOME")
    if home:
        return Path(home) / name
    import platformdirs

    return platformdirs.user_data_path("fairdash", appauthor=False) / name


def cache_folder(name: str) -> Path:
    """Give a folder for files that can be fetched again; it need not exist yet."""
    home = os.environ.get("FAIRDASH_HOME")
    if home:
        return Path(home) / "cache" / name
    import platformdirs

    return platformdirs.user_cache_path("fairdash", appauthor=False) / name


def write_whole(
    path: Path,
    content: bytes,
    *,
    hint: str = WRITABLE,
) -> None:
    """Write a file that only this user can read, whole or not at all.

    Parameters
    ----------
    hint
        What the user can do where it fails.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full; nothing is left behind then.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # mkstemp gives mode 0600, and a name of its own so that two writers don't meet.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise cant_keep(error, hint=hint) from error


def make_folder(path: Path) -> None:
    """Make a folder that only this user can read.

    Raises
    ------
    StorageError
        The folder that it is to lie in can't be written.
    """
    try:
        path.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise cant_keep(error) from error


def cant_keep(error: OSError, *, hint: str = WRITABLE) -> StorageError:
    """What to say of a folder that can't be written or a full disk."""
    return StorageError.of(f"a file can't be kept ({error.strerror})", hint)
