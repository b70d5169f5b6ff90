"""Uploaded files, kept on disk under the hash of their content.

A browser's reload loses what was uploaded; a file here survives it, and a worker process can read it. The
same file uploaded twice is kept once. Files are personal: only this user can read them.
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

from fairdash.data.readers.reading import read_content
from fairdash.data.readers.report import ReadingOptions, ReadingReport
from fairdash.errors import StorageError
from fairdash.storage import data_folder, sha256, write_whole

#: How long a file is kept unless the user says otherwise.
DEFAULT_DAYS = 30

#: Tables that a process keeps in memory.
TABLES_KEPT = 4
#: Since pandas 3 a shallow copy is copied where it is written into.
_COPIES_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file that is kept.

    Parameters
    ----------
    sha256
        Hash of its content, in hex: its name on disk.
    name
        The name it was uploaded under, for display.
    n_bytes
        Its size.
    kept_at
        When it was uploaded last, in UTC.
    keep_days
        Days after which it is deleted; None: not before the user does.
    """

    sha256: str
    name: str
    n_bytes: int
    kept_at: datetime
    keep_days: int | None = DEFAULT_DAYS

    @property
    def keep_until(self) -> datetime | None:
        """When it is deleted, in UTC."""
        return None if self.keep_days is None else self.kept_at + timedelta(days=self.keep_days)


def keep_upload(content: bytes, *, name: str, keep_days: int | None = DEFAULT_DAYS) -> Upload:
    """Keep a file.

    Parameters
    ----------
    content
        The whole file.
    name
        For display only; paths are made of hashes.
    keep_days
        Days after which it is deleted; None: not before the user does.

    Raises
    ------
    StorageError
        The folder can't be written, or the disk is full.
    """
    path = _path(sha256(content))
    # Described first: a file is never there without its term.
    _describe(path, name, keep_days)
    write_whole(path, content)
    return _described(path)


def set_retention(digest: str, keep_days: int | None) -> None:
    """Change how long a file is kept, counted from its upload.

    Raises
    ------
    StorageError
        It is not kept (any more), or the folder can't be written.
    """
    check_kept(digest)
    path = _path(digest)
    _describe(path, _described(path).name, keep_days)


def list_uploads() -> tuple[Upload, ...]:
    """List the files that are kept, the newest first."""
    folder = _folder()
    found = [_described(path) for path in folder.glob("*.upload")] if folder.is_dir() else []
    return tuple(sorted(found, key=lambda upload: upload.kept_at, reverse=True))


def read_upload(digest: str) -> bytes:
    """Read a file back.

    Raises
    ------
    StorageError
        It is not kept (any more), or its content has changed.
    """
    path = _path(digest)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise no_longer_kept() from error
    if sha256(content) != digest:
        raise StorageError.of("the uploaded file was damaged on disk", "Upload it again.")
    return content


def table_of_upload(digest: str, options: ReadingOptions, *, name: str) -> tuple[pd.DataFrame, ReadingReport]:
    """The table in a file, and how it was read: parsed once a process for the same options.

    Parameters
    ----------
    name
        To go by in the report.

    Returns
    -------
    DataFrame
        The caller's own: what is written into it stays there.

    Raises
    ------
    StorageError
        The file is not kept (any more), or its content has changed.
    ReadingError, OptionError
        As :func:`~fairdash.data.readers.reading.read_table`.
    """
    frame, report = _table(digest, options)
    try:
        # Also if it was deleted by another process, or while it was being read.
        check_kept(digest)
    except StorageError:
        forget_tables()
        raise
    return frame.copy(deep=not _COPIES_ON_WRITE), replace(report, name=name)


@lru_cache(maxsize=TABLES_KEPT)
def _table(digest: str, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    frame, report = read_content(read_upload(digest), options)
    report.lines.flags.writeable = False
    return frame, report


def forget_tables() -> None:
    """Take all tables out of this process's memory."""
    _table.cache_clear()


def check_kept(digest: str) -> None:
    """Refuse a file that is not kept (any more), for whoever has its table in memory.

    Raises
    ------
    StorageError
        It is not there.
    """
    if not _path(digest).is_file():
        raise no_longer_kept()


def delete_upload(digest: str) -> None:
    """Delete a file; nothing happens if it is not kept.

    What was made from it stays; see :func:`fairdash.runs.deletion.delete_made_from`.

    Raises
    ------
    StorageError
        The folder can't be written.
    """
    path = _path(digest)
    forget_tables()
    try:
        for part in _begun(path):
            part.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
    except OSError as error:
        raise StorageError.of(
            f"the file can't be deleted ({error.strerror})", f"Delete it in the folder {path.parent}."
        ) from error


def delete_expired(*, now: datetime | None = None, delete: Callable[[str], object] = delete_upload) -> int:
    """Delete the files whose term is over; how many they were.

    Parameters
    ----------
    now
        The time to go by, with its zone; the present by default.
    delete
        What deletes a file by its hash.
    """
    time = datetime.now(UTC) if now is None else now
    over = [each for each in list_uploads() if each.keep_until is not None and each.keep_until <= time]
    for upload in over:
        delete(upload.sha256)
    return len(over)


def check_sha256(digest: str) -> None:
    """Refuse what is not a hash: it becomes part of a path.

    Raises
    ------
    StorageError
        It is not 64 lower-case hex digits.
    """
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise StorageError.of("this is not the hash of an upload", "Upload the file again.")


def no_longer_kept() -> StorageError:
    """The error of a file that was deleted."""
    return StorageError.of("the uploaded file is not kept here any more", "Upload it again.")


def _describe(path: Path, name: str, keep_days: int | None) -> None:
    write_whole(path.with_suffix(".json"), json.dumps({"name": name, "keep_days": keep_days}).encode())


def _begun(path: Path) -> list[Path]:
    """What a process that was killed has left of writing this very file."""
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


def _described(path: Path) -> Upload:
    status = path.stat()
    try:
        description = json.loads(path.with_suffix(".json").read_bytes())
        name, days = str(description["name"]), description["keep_days"]
        keep_days = None if days is None else int(days)
    # The name is a convenience: a file is as good without it, and is kept as long as any other.
    except (OSError, ValueError, KeyError, TypeError):
        name, keep_days = "table", DEFAULT_DAYS
    return Upload(
        sha256=path.stem,
        name=name,
        n_bytes=status.st_size,
        kept_at=datetime.fromtimestamp(status.st_mtime, UTC),
        keep_days=keep_days,
    )
