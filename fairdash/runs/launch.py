"""Starting the worker of a run, a search or a model, detached from the app."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from filelock import FileLock

from fairdash.data.source import DatasetSource
from fairdash.detached import start_detached
from fairdash.runs.models import ModelJob, create_model
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.store import Job, Run, create_run, list_runs
from fairdash.runs.warm_worker import assign
from fairdash.storage import cant_keep, data_folder, make_parents
from fairdash.training.lam_search import LamSearch
from fairdash.training.search import SettingsSearch
from fairdash.training.sweep import Sweep

#: Whoever starts a run holds this lock of the home for a moment.
_LOCK, _SECONDS = "starting.lock", 30.0


def start_run(source: DatasetSource, plan: Sweep, *, first: Sweep | None = None) -> Run:
    """Create a run and start the process that carries it out; `first` is a smaller sweep to begin with.

    Where the same is at work on the same data already, that run: several pages that ask at once share it.
    """
    with _alone():
        for run in list_runs().runs:
            spec = run.spec
            is_the_same = (spec.source, spec.plan, spec.first) == (source, plan, first)
            if is_the_same and not run.status.is_over and not run.is_cancelled():
                return run
        run = create_run(source, plan, first=first)
    _start(run)
    return run


@contextmanager
def _alone() -> Iterator[None]:
    place = data_folder(_LOCK)
    make_parents(place)
    lock = FileLock(place, timeout=_SECONDS, is_singleton=False)
    try:
        lock.acquire()
    except OSError as error:
        raise cant_keep(error) from error
    try:
        yield
    finally:
        lock.release()


def start_search(source: DatasetSource, plan: SettingsSearch | LamSearch) -> SearchJob:
    """Create a search and start the process that carries it out."""
    search = create_search(source, plan)
    _start(search)
    return search


def start_model(
    source: DatasetSource,
    plan: Sweep,
    *,
    run: str,
    method: str,
    lam: float,
    figures: Mapping[str, float | str | None] | None = None,
) -> ModelJob:
    """Create a model to refit on all rows and start the process that carries it out.

    Parameters as in :class:`fairdash.runs.models.ModelSpec`.
    """
    model = create_model(source, plan, run=run, method=method, lam=lam, figures=figures)
    _start(model)
    return model


def _start(job: Job) -> None:
    if not assign(job.id):
        start_detached("fairdash.runs.worker", job.id, log=job.folder / "worker.log")
