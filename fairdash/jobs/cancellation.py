"""Request that a job stops, check for such a request, and find the process that runs a job.

<job>/cancel        exists from the request to stop until the job is resumed
<job>/worker.lock   held by the process that runs the job, which process.json names
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
from fairdash.storage import cant_keep

if sys.platform != "win32":
    import fcntl

LOCK, PROCESS, CANCEL = "worker.lock", "process.json", "cancel"
#: How often a job looks for a request to stop and for finished steps, and reports its progress.
SECONDS_BETWEEN_CHECKS = 0.2
#: Only a worker keeps a lock this long; others take it for a moment.
SECONDS_FOR_THE_LOCK = 3.0
#: A process that was asked to stop has so long, then it is ended; then so long to be gone.
SECONDS_TO_STOP, SECONDS_TO_BE_GONE = 8.0, 10.0


def request_stop(folder: Path) -> None:
    """Ask the processes of a job to stop; StorageError if the folder can't be written."""
    try:
        (folder / CANCEL).touch()
    except OSError as error:
        raise cant_keep(error) from error


def withdraw_stop(folder: Path) -> None:
    """Withdraw the request to stop; StorageError if the folder can't be written."""
    try:
        (folder / CANCEL).unlink(missing_ok=True)
    except OSError as error:
        raise cant_keep(error) from error


def is_stop_requested(folder: Path) -> bool:
    """Return whether the job has to stop, or is deleted."""
    return (folder / CANCEL).exists() or not folder.is_dir()


class StopCheck:
    """Look for a request to stop several times a second, independent of the number of calls.

    Parameters
    ----------
    folder
        Folder of the job.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._checked = folder, 0.0

    def __call__(self, *, now: bool = False) -> bool:
        """Raise Cancelled if a stop was requested; return whether it looked, which `now` demands."""
        is_due = now or time.monotonic() - self._checked > SECONDS_BETWEEN_CHECKS
        if is_due:
            self._checked = time.monotonic()
            if is_stop_requested(self._folder):
                raise Cancelled
        return is_due


def lock(folder: Path, *, seconds: float = 0.0, name: str = LOCK) -> FileLock:
    """Lock that the worker of a job holds; raises filelock.Timeout if it is held for `seconds`."""
    return FileLock(folder / name, timeout=seconds, is_singleton=False)


def sign(folder: Path) -> None:
    """Record that this process works in `folder`; it must hold the lock there."""
    who = {"host": socket.gethostname(), "pid": os.getpid()}
    (folder / PROCESS).write_text(json.dumps(who), encoding="utf-8")


def end_process(folder: Path, *, seconds: float = SECONDS_TO_STOP) -> bool:
    """Request that the process that works in `folder` stops, then end it; return whether none is left.

    Parameters
    ----------
    seconds
        Time allowed for the process to react.
    """
    if not folder.is_dir():
        return True
    request_stop(folder)
    if _is_free(folder, seconds):
        return True
    # The holder of the lock has signed: the number can't be another process's by now.
    try:
        who = json.loads((folder / PROCESS).read_text(encoding="utf-8"))
        if who["host"] == socket.gethostname():
            os.kill(int(who["pid"]), signal.SIGTERM)
    except (OSError, ValueError, KeyError, TypeError):
        # It has ended by itself, or works elsewhere: the lock tells.
        return _is_free(folder)
    return _is_free(folder, SECONDS_TO_BE_GONE)


def is_at_work(folder: Path) -> bool:
    """Return whether a process works in `folder`, which need not be writable."""
    return is_locked(folder / LOCK)


def is_locked(lock: Path) -> bool:
    """Return whether a process holds this lock; reading needs no right to write and leaves nothing behind."""
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
