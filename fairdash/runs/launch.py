"""Starting a run's worker, detached from the app."""

from __future__ import annotations

from fairdash.data.source import DatasetSource
from fairdash.detached import start_detached
from fairdash.runs.store import Run, create_run
from fairdash.training.sweep import Sweep


def start_run(source: DatasetSource, plan: Sweep) -> Run:
    """Create a run and start the process that carries it out."""
    run = create_run(source, plan)
    start_detached("fairdash.runs.worker", run.id, log=run.folder / "worker.log")
    return run
