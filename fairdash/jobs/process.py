"""Launch fairdash modules as detached processes that keep running when their parent ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from filelock import FileLock, Timeout

if sys.platform != "win32":
    import fcntl

#: The lock that a process holds as long as it works in a folder, its own number, and the wish to stop it.
LOCK, PROCESS, CANCEL = "worker.lock", "process.json", "cancel"
#: Whoever looks takes a lock for a moment; only a worker keeps it this long.
SECONDS_FOR_THE_LOCK = 3.0
#: A process that was asked to stop has so long, then it is ended; then so long to be gone.
SECONDS_TO_STOP, SECONDS_TO_BE_GONE = 8.0, 10.0


def start_detached(module: str, argument: str, *, log: Path) -> None:
    """Run ``python -m module argument`` in a session of its own, and append its output to `log`.

    The process continues when the browser, the tab or the app is closed. `argument` must be fairdash's own
    (hex digits): nothing that a user typed.
    """
    with log.open("ab") as out:
        process = subprocess.Popen(  # noqa: S603 (our own module, no shell)
            [sys.executable, "-m", module, argument],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment(),
            start_new_session=True,
        )
    # Someone has to collect the exit status, or the ended process stays in the process table.
    threading.Thread(target=process.wait, daemon=True, name=f"{module} {argument}").start()


#: For numpy and torch, before they are imported. More than one thread was seen to collapse beside a busy app,
#: and one that waits may spin all the while.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def environment() -> dict[str, str]:
    """Return the environment of fairdash's own processes."""
    search_path = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        **ONE_THREAD,
        "PYTHONPATH": os.pathsep.join(search_path),
        "PYTHONUNBUFFERED": "1",
    }


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lower_priority(*, by: int = 10) -> None:
    """Lower the priority of this process, so that the machine stays usable."""
    if hasattr(os, "nice"):
        os.nice(by)


def sign(folder: Path) -> None:
    """Record that this process works in `folder`; it must hold the lock there."""
    who = {"host": socket.gethostname(), "pid": os.getpid()}
    (folder / PROCESS).write_text(json.dumps(who), encoding="utf-8")


def stop(folder: Path, *, seconds: float = SECONDS_TO_STOP) -> bool:
    """Ask the process that works in `folder` to stop, then end it if necessary; return whether none is left.

    Parameters
    ----------
    seconds
        Time allowed for the process to react.
    """
    if not folder.is_dir():
        return True
    (folder / CANCEL).touch()
    if _is_free(folder, seconds):
        return True
    # Whoever holds the lock has signed: the number can't be another process's by now.
    try:
        who = json.loads((folder / PROCESS).read_text(encoding="utf-8"))
        if who["host"] == socket.gethostname():
            os.kill(int(who["pid"]), signal.SIGTERM)
    except (OSError, ValueError, KeyError, TypeError):
        # It has ended by itself, or works elsewhere: the lock tells.
        return _is_free(folder, 0.0)
    return _is_free(folder, SECONDS_TO_BE_GONE)


def is_at_work(folder: Path) -> bool:
    """Return whether a process works in `folder`, which need not be writable."""
    return is_locked(folder / LOCK)


def is_locked(lock: Path) -> bool:
    """Return whether a process holds this lock; looking takes no right to write, and leaves nothing "
    "behind."""
    try:
        handle = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        if sys.platform == "win32":
            return not _is_free(lock.parent, 0.0, name=lock.name)
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _is_free(folder: Path, seconds: float, *, name: str = LOCK) -> bool:
    try:
        with FileLock(folder / name, timeout=seconds, is_singleton=False):
            return True
    except Timeout:
        return False
