"""Start of fairdash modules as detached processes, which continue when their parent ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path


def start_detached(module: str, argument: str, *, log: Path) -> None:
    """Run ``python -m module argument`` in a separate session, and append its output to `log`.

    The process continues when the browser, the tab or the app is closed. `argument` must be created by
    fairdash (hex digits), and must never be user input.
    """
    with log.open("ab") as log_file:
        process = subprocess.Popen(  # noqa: S603 (our own module, no shell)
            [sys.executable, "-m", module, argument],
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=log_file,
            env=environment(),
            start_new_session=True,
        )
    # A thread collects the exit status. Otherwise, the ended process would stay in the process table.
    threading.Thread(target=process.wait, daemon=True, name=f"{module} {argument}").start()


#: Environment variables for numpy and torch, which must be set before their import. While the app is busy,
#: several threads would be very slow, because waiting threads may occupy a core.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def environment() -> dict[str, str]:
    """Return the environment variables for the processes that fairdash starts."""
    search_path = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {**ONE_THREAD, "PYTHONPATH": os.pathsep.join(search_path), "PYTHONUNBUFFERED": "1"}


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lower_priority(*, by: int = 10) -> None:
    """Lower the priority of this process, so that the machine stays usable."""
    if hasattr(os, "nice"):
        os.nice(by)
