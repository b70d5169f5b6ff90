"""Uploaded files, kept on disk under the hash of their content.

A browser's reload loses what was uploaded; a file here survives it, and a worker process can read it. The
same file uploaded twice is kept once. Files are personal: only this user can read them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fairdash.data.fetch import sha256
from fairdash.data.folders import data_folder, write_whole
from fairdash.errors import Problem, StorageError

#: How long a file is kept unless the user says otherwise.
DEFAULT_DAYS = 30

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
    path = _path(digest)
    if not path.is_file():
        raise no_longer_kept()
    _describe(path, _described(path).name, keep_days)


def delete_expired(*, now: datetime | None = None) -> int:
    """Delete the files whose term is over; how many they were.

    Parameters
    ----------
    now
        The time to go by, with its zone; the present by default.
    """
    time = datetime.now(UTC) if now is None else now
    over = [each for each in list_uploads() if each.keep_until is not None and each.keep_until <= time]
    for upload in over:
        delete_upload(upload.sha256)
    return len(over)


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
        raise StorageError(Problem(what="the uploaded file was damaged on disk", mend="Upload it again."))
    return content


def delete_upload(digest: str) -> None:
    """Delete a file; nothing happens if it is not kept.

    Raises
    ------
    StorageError
        The folder can't be written.
    """
    path = _path(digest)
    try:
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            Problem(
                what=f"the file can't be deleted ({error.strerror})",
                mend=f"Delete it in the folder {path.parent}.",
            )
        ) from error


def check_sha256(digest: str) -> None:
    """Refuse what is not a hash: it becomes part of a path.

    Raises
    ------
    StorageError
        It is not 64 lower-case hex digits.
    """
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise StorageError(Problem(what="this is not the hash of an upload", mend="Upload the file again."))


def no_longer_kept() -> StorageError:
    """The error of a file that was deleted."""
    return StorageError(Problem(what="the uploaded file is not kept here any more", mend="Upload it again."))


def _describe(path: Path, name: str, keep_days: int | None) -> None:
    write_whole(path.with_suffix(".json"), json.dumps({"name": name, "keep_days": keep_days}).encode())


def _folder() -> Path:
    return data_folder("uploads")


def _path(digest: str) -> Path:
    check_sha256(digest)
    return _folder() / f"{digest}.upload"


def _described(path: Path) -> Upload:
    facts = path.stat()
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
        n_bytes=facts.st_size,
        kept_at=datetime.fromtimestamp(facts.st_mtime, UTC),
        keep_days=keep_days,
    )
