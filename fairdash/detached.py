"""Starting one of fairdash's own modules as a process that outlives whoever started it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path


def start_detached(module: str, argument: str, *, log: Path) -> None:
    """Run ``python -m module argument`` in a session of its own; what it prints is added to `log`.

    The process goes on when the browser, the tab or the app is closed. `argument` must be fairdash's own
    (hex digits): nothing that a user typed.
    """
    search_path = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        # More than one thread was seen to collapse beside a busy app.
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(search_path),
        "PYTHONUNBUFFERED": "1",
    }
    with log.open("ab") as out:
        process = subprocess.Popen(  # noqa: S603 (our own module, no shell)
            [sys.executable, "-m", module, argument],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
    # Someone has to collect the exit status, or the ended process stays in the process table.
    threading.Thread(target=process.wait, daemon=True, name=f"{module} {argument}").start()
