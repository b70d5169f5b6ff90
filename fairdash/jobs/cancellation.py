"""Requests that a job stops, checks for such requests, and the process that runs a job.

<job>/cancel        file that exists from the request to stop until the job is resumed
<job>/worker.lock   lock held by the process that runs the job
<job>/process.json  host and id of this process
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from filelock import FileLock, Timeout

from fairdash.errors import Cancelled
from fairdash.storage import write_error

if sys.platform != "win32":
    import fcntl

LOCK, PROCESS, CANCEL = "worker.lock", "process.json", "cancel"
#: Seconds between checks for a request to stop and for finished steps, and between reports of progress.
SECONDS_BETWEEN_CHECKS = 0.2
#: Seconds to wait for a lock. Only a worker holds a lock for longer, because other processes release it at
#: once.
SECONDS_FOR_THE_LOCK = 3.0
#: A process has `SECONDS_TO_STOP` to stop on request. It is then terminated, and must end within
#: `SECONDS_TO_END`.
SECONDS_TO_STOP, SECONDS_TO_END = 8.0, 10.0


def request_stop(folder: Path) -> None:
    """Ask the processes of a job to stop, or raise StorageError if the folder can't be written."""
    try:
        (folder / CANCEL).touch()
    except OSError as error:
        raise write_error(error) from error


def withdraw_stop(folder: Path) -> None:
    """Withdraw the request to stop, or raise StorageError if the folder can't be written."""
    try:
        (folder / CANCEL).unlink(missing_ok=True)
    except OSError as error:
        raise write_error(error) from error


def is_stop_requested(folder: Path) -> bool:
    """Return whether a job must stop, because a stop was requested or the job's folder was deleted."""
    return (folder / CANCEL).exists() or not folder.is_dir()


class StopCheck:
    """Check for a request to stop a few times a second, however often the object is called.

    Parameters
    ----------
    folder
        Folder of the job.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._checked = folder, 0.0

    def __call__(self, *, now: bool = False) -> bool:
        """Raise Cancelled if a stop was requested, and return whether this call has checked.

        If `now` is true, the check takes place even if the last check was a moment ago.
        """
        is_due = now or time.monotonic() - self._checked > SECONDS_BETWEEN_CHECKS
        if is_due:
            self._checked = time.monotonic()
            if is_stop_requested(self._folder):
                raise Cancelled
        return is_due


def lock(folder: Path, *, seconds: float = 0.0, name: str = LOCK) -> FileLock:
    """Return the lock of a job's worker. Acquiring it raises filelock.Timeout after `seconds`."""
    return FileLock(folder / name, timeout=seconds, is_singleton=False)


def record_process(folder: Path) -> None:
    """Record in a job's folder that this process, which must hold the folder's lock, runs the job."""
    process_info = {"host": socket.gethostname(), "pid": os.getpid()}
    (folder / PROCESS).write_text(json.dumps(process_info), encoding="utf-8")


def end_process(folder: Path, *, seconds: float = SECONDS_TO_STOP) -> bool:
    """Stop the process that runs the job in `folder`, by force if necessary. Return whether it has ended.

    Parameters
    ----------
    seconds
        Time that the process has to stop on request.
    """
    if not folder.is_dir():
        return True
    request_stop(folder)
    if _is_free(folder, seconds):
        return True
    # The process that holds the lock wrote this file, so the file contains the id of this process.
    try:
        process_info = json.loads((folder / PROCESS).read_text(encoding="utf-8"))
        if process_info["host"] == socket.gethostname():
            os.kill(int(process_info["pid"]), signal.SIGTERM)
    except (OSError, ValueError, KeyError, TypeError):
        # The process has ended or runs on another machine. Its lock shows which is true.
        return _is_free(folder)
    return _is_free(folder, SECONDS_TO_END)


def is_at_work(folder: Path) -> bool:
    """Return whether a process runs the job in `folder`, which may be read-only."""
    return is_locked(folder / LOCK)


def is_locked(lock: Path) -> bool:
    """Return whether a process holds this lock, without write permission and without creating a file."""
    try:
        handle = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        if sys.platform == "win32":
            return not _is_free(lock.parent, name=lock.name)
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _is_free(folder: Path, seconds: float = 0.0, *, name: str = LOCK) -> bool:
    try:
        with lock(folder, seconds=seconds, name=name):
            return True
    except Timeout:
        return False
