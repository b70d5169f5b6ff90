"""Storage of uploaded files under the hash of their content.

A stored file is still available after a reload in the browser, and worker processes can read it. A file that
is uploaded twice is stored once. The files contain personal data, so only the operating-system user that runs
fairdash can read them.

<home>/uploads/<sha256>.upload         a file
<home>/uploads/<sha256>.json           file name and retention period of the owner "local"
<home>/uploads/<sha256>.<owner>.json   file name and retention period of a signed-in owner

Several owners may store the same file, and each owner has a separate retention period. The file is deleted
when its last owner deletes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import pandas as pd

from fairdash.errors import StorageError
from fairdash.storage import LOCAL, check_owner, data_folder, sha256, write_whole
from fairdash.tables.readers.reading import read_content
from fairdash.tables.readers.report import ReadingOptions, ReadingReport

#: Default retention period in days.
DEFAULT_DAYS = 30

#: Maximum number of tables that a process keeps in memory.
MAX_CACHED_TABLES = 4
#: From version 3, pandas copies the data of a shallow copy when the copy is first changed.
_COPIES_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Upload:
    """File that an owner has stored.

    Parameters
    ----------
    sha256
        SHA-256 of the content in hex digits, which is the file's name on disk.
    name
        Name that the file had when it was uploaded, for display.
    n_bytes
        Size in bytes.
    kept_at
        Time of the last upload, in UTC.
    keep_days
        Days until deletion; None to store the file until the user deletes it.
    owner
        Owner of the file.
    """

    sha256: str
    name: str
    n_bytes: int
    kept_at: datetime
    keep_days: int | None = DEFAULT_DAYS
    owner: str = LOCAL

    @property
    def keep_until(self) -> datetime | None:
        """Time at which the file will be deleted, in UTC; None if it is stored without a time limit."""
        return None if self.keep_days is None else self.kept_at + timedelta(days=self.keep_days)


def keep_upload(
    content: bytes, *, name: str, keep_days: int | None = DEFAULT_DAYS, owner: str = LOCAL
) -> Upload:
    """Store a file.

    Parameters
    ----------
    content
        Content of the file.
    name
        Name of the file for display. It is not used in paths.
    keep_days
        Days until deletion; None to store the file until the user deletes it.
    owner
        Owner of the file.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    path = _path(sha256(content))
    # The description is written before the file, so that a stored file always has a retention period.
    _describe(path, owner, name, keep_days, datetime.now(UTC))
    write_whole(path, content)
    return _read_description(path, owner)


def set_retention(digest: str, keep_days: int | None, *, owner: str = LOCAL) -> None:
    """Change the retention period of a file, which is the number of days from its upload to its deletion.

    Raises
    ------
    StorageError
        The file is no longer stored, or the folder can't be written.
    """
    check_stored(digest, owner=owner)
    path = _path(digest)
    upload = _read_description(path, owner)
    _describe(path, owner, upload.name, keep_days, upload.kept_at)


def list_uploads(*, owner: str | None = LOCAL) -> tuple[Upload, ...]:
    """List the files of an owner, newest first. If `owner` is None, list the files of all owners."""
    folder = _folder()
    uploads = []
    for path in folder.glob("*.upload") if folder.is_dir() else ():
        owners = owners_of(path.stem)
        uploads += [_read_description(path, name) for name in owners if owner in (name, None)]
    return tuple(sorted(uploads, key=lambda upload: upload.kept_at, reverse=True))


def owners_of(digest: str) -> frozenset[str]:
    """Return the owners of a stored file. The result is empty if the file is not stored."""
    path = _path(digest)
    if not path.is_file():
        return frozenset()
    owners = {file.stem.partition(".")[2] or LOCAL for file in path.parent.glob(f"{digest}*.json")}
    # The file of a signed-in user always has a description. A file without a description has the local owner.
    return frozenset(owners or {LOCAL})


def read_upload(digest: str) -> bytes:
    """Read a stored file.

    Raises
    ------
    StorageError
        The file is no longer stored, or its content has changed.
    """
    path = _path(digest)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise deleted_file_error() from error
    if sha256(content) != digest:
        raise StorageError.of("the stored file is damaged", "Upload it again.")
    return content


def table_of_upload(
    digest: str, options: ReadingOptions, *, name: str, owner: str | None = None
) -> tuple[pd.DataFrame, ReadingReport]:
    """Return the table and the reading report of a file. A process reads a file only once per set of options.

    Parameters
    ----------
    name
        Name of the file for the report.
    owner
        Owner that the file must have; None for any owner.

    Returns
    -------
    DataFrame
        Copy of the table. Changes to the copy do not affect the cached table.

    Raises
    ------
    StorageError
        The file is no longer stored, belongs to another owner, or its content has changed.
    ReadingError, OptionError
        The file can't be read (see :func:`~fairdash.tables.readers.reading.read_table`).
    """
    try:
        # The owner is checked before the file is read, because the file of another owner must not be read.
        check_stored(digest, owner=owner)
        frame, report = _table(digest, options)
        # Another process may have deleted the file while it was read.
        check_stored(digest, owner=owner)
    except StorageError:
        clear_cached_tables()
        raise
    return frame.copy(deep=not _COPIES_ON_WRITE), replace(report, name=name)


@lru_cache(maxsize=MAX_CACHED_TABLES)
def _table(digest: str, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    frame, report = read_content(read_upload(digest), options)
    report.lines.flags.writeable = False
    return frame, report


def clear_cached_tables() -> None:
    """Remove all cached tables from the memory of this process."""
    _table.cache_clear()


def check_stored(digest: str, *, owner: str | None = None) -> None:
    """Raise an error if a file is no longer stored, even if its table is still in memory.

    Parameters
    ----------
    owner
        Owner that the file must have; None for any owner.

    Raises
    ------
    StorageError
        The file is not stored, or belongs to another owner.
    """
    if not (_path(digest).is_file() if owner is None else owner in owners_of(digest)):
        raise deleted_file_error()


def delete_upload(digest: str, *, owner: str | None = None) -> None:
    """Delete a file for one owner or, by default, for all owners. Ignore a file that is not stored.

    This function does not delete runs that used the file; see
    :func:`fairdash.runs.deletion.delete_file_and_derived`.

    Raises
    ------
    StorageError
        The folder can't be written.
    """
    path = _path(digest)
    clear_cached_tables()
    owners = owners_of(digest)
    owners_to_remove = owners if owner is None else owners & {owner}
    try:
        if owners_to_remove == owners:
            for part in _unfinished_files(path):
                part.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        for name in owners_to_remove or {owner or LOCAL}:
            _description(path, name).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError.of(
            f"the file can't be deleted ({error.strerror})", f"Delete it in the folder {path.parent}."
        ) from error


def delete_expired(*, now: datetime | None = None, delete: Callable[..., object] = delete_upload) -> int:
    """Delete all files whose retention period has ended, and return their number.

    Parameters
    ----------
    now
        Current time with a time zone; by default the system's time.
    delete
        Function that deletes a file, given its hash and the keyword ``owner``.
    """
    current = datetime.now(UTC) if now is None else now
    expired = [
        upload
        for upload in list_uploads(owner=None)
        if upload.keep_until is not None and upload.keep_until <= current
    ]
    for upload in expired:
        delete(upload.sha256, owner=upload.owner)
    return len(expired)


def check_sha256(digest: str) -> str:
    """Check that a hash is safe as a part of a path, and return it.

    Raises
    ------
    StorageError
        The hash is not 64 lower-case hex digits.
    """
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise StorageError.of("this is not the hash of an uploaded file", "Upload the file again.")
    return digest


def deleted_file_error() -> StorageError:
    """Return the error for a file that is no longer stored."""
    return StorageError.of("the uploaded file is not stored here any more", "Upload it again.")


def _description(path: Path, owner: str) -> Path:
    return path.with_suffix(".json" if check_owner(owner) == LOCAL else f".{owner}.json")


def _describe(path: Path, owner: str, name: str, keep_days: int | None, kept_at: datetime) -> None:
    content = {"name": name, "keep_days": keep_days, "kept_at": kept_at.isoformat()}
    write_whole(_description(path, owner), json.dumps(content).encode())


def _unfinished_files(path: Path) -> list[Path]:
    """Return temporary files of this file that a killed process left behind."""
    parts = [part for part in _folder().glob(".*.part") if part.stat().st_size]
    if not parts or not path.is_file():
        return []
    content = path.read_bytes()
    return [part for part in parts if content.startswith(part.read_bytes())]


def _folder() -> Path:
    return data_folder("uploads")


def _path(digest: str) -> Path:
    check_sha256(digest)
    return _folder() / f"{digest}.upload"


def _read_description(path: Path, owner: str) -> Upload:
    status = path.stat()
    kept_at = datetime.fromtimestamp(status.st_mtime, UTC)
    try:
        description = json.loads(_description(path, owner).read_bytes())
        name, days = str(description["name"]), description["keep_days"]
        keep_days = None if days is None else int(days)
        kept_at = datetime.fromisoformat(description["kept_at"])
    # The file can be used even if its description is missing or damaged.
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        name, keep_days = "table", DEFAULT_DAYS
    return Upload(
        sha256=path.stem, name=name, n_bytes=status.st_size, kept_at=kept_at, keep_days=keep_days, owner=owner
    )
