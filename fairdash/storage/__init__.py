"""Storage of the user's files.

``FAIRDASH_HOME`` names one folder for everything. Without it, fairdash uses the operating system's folders
for user data and caches.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fairdash.errors import StorageError

#: Folders whose files contain personal data, or numbers computed from these data.
_PERSONAL = ("uploads", "sources", "runs", "searches", "models", "audits", "repairs", "paper")

#: Owner of all files if the app has no sign-in.
LOCAL = "local"
_OWNER = re.compile(rf"{LOCAL}|[0-9a-f]{{32}}")
#: Names of unfinished files and folders (:func:`fairdash.storage.bundle.whole_folder`).
_UNFINISHED = re.compile(r"\..*\.part|\.[0-9a-f]{12}")
#: Maximum number of seconds to write a file.
SECONDS_TO_WRITE = 3600.0
WRITABLE = "Free some space, or set FAIRDASH_HOME to a writable folder."


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hex."""
    return hashlib.sha256(content).hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file of any size in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_owner(owner: str) -> str:
    """Return an owner that is safe as a part of a path. Raise a StorageError if the owner is invalid."""
    if not _OWNER.fullmatch(owner):
        raise StorageError.of(
            "this is not the id of an owner", f"Give 32 hex digits, or {LOCAL} if the app has no sign-in."
        )
    return owner


def data_folder(name: str) -> Path:
    """Return a folder for permanent files, such as uploads. It may not exist yet."""
    return _home("", "user_data_path") / name


def cache_folder(name: str) -> Path:
    """Return a folder for files that can be downloaded again. It may not exist yet."""
    return _home("cache", "user_cache_path") / name


def _home(part: str, system_folder: str) -> Path:
    if home := os.environ.get("FAIRDASH_HOME"):
        return Path(home) / part
    import platformdirs

    folder: Path = getattr(platformdirs, system_folder)("fairdash", appauthor=False)
    return folder


def write_whole(path: Path, content: bytes | Callable[[str], None], *, hint: str = WRITABLE) -> None:
    """Write a file that only this user can read, atomically.

    Parameters
    ----------
    content
        Content of the file, or a function that writes it to a given path. A function avoids a second copy of
        gigabytes in memory.
    hint
        Advice for the user if writing fails.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full; no partial file remains.
    """
    make_parents(path, hint=hint)
    try:
        # mkstemp creates a file with mode 0600 and a unique name, so that two writers never use the same
        # file.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                if callable(content):
                    content(temporary)
                else:
                    file.write(content)
                    file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise write_error(error, hint=hint) from error


def make_parents(path: Path, *, hint: str = WRITABLE) -> None:
    """Create a file's folder and its parents, readable by this user only.

    Raises
    ------
    StorageError
        The folder can't be created.
    """
    folder = path.parent
    if folder.is_dir():
        return
    make_parents(folder, hint=hint)
    try:
        # With parents=True, pathlib would create parent folders that other users can read.
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise write_error(error, hint=hint) from error


def inside(folder: Path) -> list[Path]:
    """Return the sorted paths in a folder, or an empty list if the folder does not exist."""
    return sorted(folder.iterdir()) if folder.is_dir() else []


def delete_unfinished(*, now: float) -> None:
    """Delete unfinished files and folders that killed processes have left in the folders of personal data.

    Parameters
    ----------
    now
        Seconds since the epoch. Files changed in the last hour may still be in use.
    """
    for folder in map(data_folder, _PERSONAL):
        for path in (*folder.glob(".*"), *folder.glob("*/.*")):
            with suppress(FileNotFoundError):
                if _UNFINISHED.fullmatch(path.name) and path.stat().st_mtime < now - SECONDS_TO_WRITE:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def make_private() -> tuple[Path, ...]:
    """Remove the access of other accounts to all folders of personal data.

    Returns
    -------
    tuple of Path
        Folders in which other accounts could change files until now.

    Raises
    ------
    StorageError
        The access can't be removed, because the folders belong to another account.
    """
    if os.name == "nt":
        return ()
    exposed = []
    for folder in (*map(data_folder, _PERSONAL), cache_folder("studies")):
        try:
            mode = folder.stat().st_mode if folder.is_dir() else 0
            if mode & 0o077:
                folder.chmod(0o700)
            if mode & 0o022:
                exposed.append(folder)
        except OSError as error:
            raise StorageError.of(
                f"other accounts of this machine can open {folder}, and that can't be changed",
                "Become the owner of the folder (chown), or set FAIRDASH_HOME to a folder that you own.",
            ) from error
    return tuple(exposed)


def write_error(error: OSError, *, hint: str = WRITABLE) -> StorageError:
    """Return the error for an unwritable folder or a full disk."""
    return StorageError.of(f"a file can't be stored ({error.strerror})", hint)
