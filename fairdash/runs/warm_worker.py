"""A worker that has done its imports and waits: ``python -m fairdash.runs.warm_worker TOKEN``.

Importing torch takes a worker seconds, as long as a first look. Where a page expects a job soon it asks for a
process to stand by; the next job goes to it, or, where there is none, to a worker of its own.

<home>/standby/<token>/alive     lock that the waiting process holds
<home>/standby/<token>/job       id of the job, written by whoever comes first: a launcher with a job, or the
                                 process itself, with none, when its time is over
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import time
from pathlib import Path

from filelock import FileLock

from fairdash.detached import is_locked, start_detached
from fairdash.errors import StorageError
from fairdash.storage import data_folder, make_folder

#: How long a process stands by; someone who reads a page on data takes about so long.
SECONDS_TO_WAIT = 180
SECONDS_BETWEEN_LOOKS = 0.03
#: A process that was started has so long to take its lock, before it counts as dead.
SECONDS_TO_START = 30
ROOM = "standby"
#: What the process writes in place of a job's id when its time is over.
NO_JOB = "none"


def prepare() -> None:
    """Have a process stand by, unless one does; nothing if the environment has FAIRDASH_NO_STANDBY."""
    if os.environ.get("FAIRDASH_NO_STANDBY"):
        return
    for folder in _folders():
        if _is_waiting(folder) or _is_starting(folder):
            return
        if not _is_alive(folder):
            # Left by a process that was killed.
            shutil.rmtree(folder, ignore_errors=True)
    token = secrets.token_hex(6)
    folder = data_folder(ROOM) / token
    try:
        make_folder(folder)
    except StorageError:
        # Whoever starts a job will be told; nobody asked for this process.
        return
    start_detached("fairdash.runs.warm_worker", token, log=folder / "worker.log")


def assign(job_id: str) -> bool:
    """Give a job to a process that stands by; False if there is none."""
    return any(_is_waiting(folder) and _claim(folder, job_id) for folder in _folders())


def main(token: str) -> int:
    """Stand by, then carry out the job that comes, if one does; the exit status."""
    folder = data_folder(ROOM) / token
    with _lock(folder):
        _import_all()
        until = time.monotonic() + SECONDS_TO_WAIT
        while not (folder / "job").exists() and time.monotonic() < until:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        # Whose claim comes first holds: no job is given to a process that is about to end.
        _claim(folder, NO_JOB)
        job_id = (folder / "job").read_text(encoding="ascii")
    shutil.rmtree(folder, ignore_errors=True)
    if job_id == NO_JOB:
        return 0
    from fairdash.runs import worker

    # From here on it is that job's worker: what it prints belongs to the job.
    with (worker.open_job(job_id).folder / "worker.log").open("ab") as log:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(log.fileno(), stream.fileno())
    return worker.main(job_id)


def _folders() -> list[Path]:
    home = data_folder(ROOM)
    return list(home.iterdir()) if home.is_dir() else []


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / "alive", timeout=0, is_singleton=False)


def _is_alive(folder: Path) -> bool:
    """Whether its process is there."""
    return is_locked(folder / "alive")


def _is_waiting(folder: Path) -> bool:
    """Whether its process is there and has no job yet."""
    return _is_alive(folder) and not (folder / "job").exists()


def _is_starting(folder: Path) -> bool:
    """Whether its process was started a moment ago and has not come to its lock."""
    return not (folder / "alive").exists() and time.time() - folder.stat().st_mtime < SECONDS_TO_START


def _claim(folder: Path, job_id: str) -> bool:
    """Write the job's id, whole, unless somebody was first."""
    own = folder / f".{secrets.token_hex(4)}"
    try:
        own.write_text(job_id, encoding="ascii")
        os.link(own, folder / "job")
    except (FileExistsError, FileNotFoundError):
        return False
    return True


def _import_all() -> None:
    """Everything that a run needs."""
    from fairdash.runs import execute_sweep, worker
    from fairdash.training import stack

    del execute_sweep, stack
    worker.lower_priority()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
