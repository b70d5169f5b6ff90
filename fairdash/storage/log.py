"""Log of a run with one line per event, which includes the hash of the previous line.

<run>/log.jsonl   the lines
<run>/log.json    number of lines and hash of the last line, sealed (:mod:`fairdash.storage.bundle`)

A line that was altered, inserted or removed breaks the chain. The chain reveals faults and accidents, but not
changes by a person who can write all files in the home folder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fairdash.errors import StorageError
from fairdash.storage import sha256, write_whole
from fairdash.storage.bundle import read_sealed, write_sealed

LOG, _END, _LOCK = "log.jsonl", "log.json", "log.lock"
LOG_FILES = (LOG, _END)
#: Name in the log for events that no user has caused.
WORKER = "worker"
_SECONDS_FOR_THE_LOCK = 5.0

log = logging.getLogger("fairdash.log")


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of the log.

    Parameters
    ----------
    when
        Time, ISO 8601, UTC.
    who
        An owner, or ``"worker"``.
    what
        Action in plain words.
    details
        Further details: data, columns, file.
    """

    when: str
    who: str
    what: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_words(self) -> str:
        """Sentence that describes the event and its details."""
        details = (f"{name}: {_in_words(value)}" for name, value in self.details.items() if value)
        return "; ".join([self.what, *details])


@dataclass(frozen=True)
class Log:
    """Logged events.

    Parameters
    ----------
    events
        Readable events, the oldest first.
    is_whole
        True if the log is unchanged.
    """

    events: tuple[Event, ...] = ()
    is_whole: bool = True


def note(folder: Path, what: str, *, who: str, **details: Any) -> None:
    """Add a line to the log of a job's folder. If this fails, log the failure on the server and continue."""
    if not (folder / "spec.json").is_file():
        # The job was deleted in the meantime, and taking the lock would create its folder again.
        return
    try:
        with FileLock(folder / _LOCK, timeout=_SECONDS_FOR_THE_LOCK, is_singleton=False):
            lines = _lines(folder)
            event = {
                "when": datetime.now(UTC).isoformat(timespec="seconds"),
                "who": who,
                "what": what,
                "details": details,
                "before": sha256(lines[-1]) if lines else "",
            }
            line = json.dumps(event, ensure_ascii=False).encode()
            # The whole file is replaced, because an incomplete line would break the chain of hashes.
            write_whole(folder / LOG, b"".join(entry + b"\n" for entry in (*lines, line)))
            write_sealed(folder / _END, {"lines": len(lines) + 1, "last": sha256(line)})
    except (OSError, StorageError, Timeout, TypeError, ValueError) as error:
        log.error("could not log for %s: %s, by %s (%s)", folder.name, what, who, type(error).__name__)


def note_export(folder: Path, content: bytes, *, file: str, who: str) -> None:
    """Log that a file was downloaded, with its hash."""
    note(folder, "exported", who=who, file=file, sha256=sha256(content))


def read(folder: Path) -> Log:
    """Return a job's events, and whether the log is unchanged."""
    lines = _lines(folder)
    events, hashes = [], [sha256(line) for line in lines]
    count, last = _last_line(folder)
    # If a process dies after writing a line and before updating the count, the file has one more line, which
    # is valid.
    is_whole = len(lines) in (count, count + 1) and (count == 0 or hashes[count - 1] == last)
    for line, previous_hash in zip(lines, ["", *hashes], strict=False):
        try:
            content = json.loads(line)
            is_whole &= content.pop("before") == previous_hash
            events.append(Event(**content))
        except (ValueError, TypeError, KeyError, AttributeError):
            is_whole = False
    return Log(tuple(events), is_whole=is_whole)


def _last_line(folder: Path) -> tuple[int, str]:
    """Return the recorded number of lines, or −2 if it can't be read, and the hash of the last line."""
    try:
        end = read_sealed(folder / _END)
        return int(end["lines"]), str(end["last"])
    except FileNotFoundError:
        return 0, ""
    except (OSError, ValueError, KeyError, TypeError):
        return -2, ""


def _lines(folder: Path) -> list[bytes]:
    try:
        return (folder / LOG).read_bytes().splitlines()
    except FileNotFoundError:
        return []


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_in_words(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
