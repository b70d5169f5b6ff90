"""Starting a run's worker, detached from the app."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from fairdash.data.source import DatasetSource
from fairdash.runs.store import Run, create_run
from fairdash.training.sweep import Sweep


def start_run(source: DatasetSource, plan: Sweep) -> Run:
    """Create a run and start the process that carries it out.

    The process has a session of its own: it goes on when the browser, the tab or the app is closed.
    """
    run = create_run(source, plan)
    package_parent = str(Path(__file__).parent.parent.parent)
    search_path = [package_parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        # More than one thread in a worker was seen to collapse beside a busy app.
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(search_path),
        "PYTHONUNBUFFERED": "1",
    }
    with (run.folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 (our own module, no shell; the id is hex digits)
            [sys.executable, "-m", "fairdash.runs.worker", run.id],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    # Someone has to collect the exit status, or the ended worker stays in the process table.
    threading.Thread(target=process.wait, daemon=True, name=f"run {run.id}").start()
    return run
