"""Starting a run's or a search's worker, detached from the app."""

from __future__ import annotations

from fairdash.data.source import DatasetSource
from fairdash.detached import start_detached
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.store import Job, Run, create_run
from fairdash.training.lam_search import LamSearch
from fairdash.training.search import SettingsSearch
from fairdash.training.sweep import Sweep


def start_run(source: DatasetSource, plan: Sweep, *, first: Sweep | None = None) -> Run:
    """Create a run and start the process that carries it out; `first` is a smaller sweep to begin with."""
    run = create_run(source, plan, first=first)
    _start(run)
    return run


def start_search(source: DatasetSource, plan: SettingsSearch | LamSearch) -> SearchJob:
    """Create a search and start the process that carries it out."""
    search = create_search(source, plan)
    _start(search)
    return search


def _start(job: Job) -> None:
    start_detached("fairdash.runs.worker", job.id, log=job.folder / "worker.log")
