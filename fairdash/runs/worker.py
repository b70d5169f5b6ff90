"""Carrying out one run, search or model, in whatever process has taken it (:mod:`fairdash.worker`).

That process alone writes to the job's folder, apart from the cancel mark.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from filelock import Timeout

from fairdash import detached
from fairdash.detached import sign
from fairdash.errors import Cancelled, FairdashError, Problem, StorageError
from fairdash.memory import beyond, is_out_of_memory
from fairdash.runs.models import ModelJob, refit
from fairdash.runs.searches import SearchJob
from fairdash.runs.status import CANCELLED, DONE, FAILED, RUNNING, RunStatus
from fairdash.runs.store import Job, Run
from fairdash.storage import data_folder
from fairdash.traces import trace_of
from fairdash.training.lam_search import LamSearch, search_lam
from fairdash.training.search import search_settings
from fairdash.training.splits import random_splits
from fairdash.units import Unit, at_once

SECONDS_BETWEEN_REPORTS = 0.2
#: Whoever looks at the run's status takes its lock for a moment; only a worker keeps it this long.
SECONDS_FOR_THE_LOCK = 3.0
#: A result that can't be written is kept in memory so long, and written again and again.
SECONDS_TO_INSIST, SECONDS_BETWEEN_TRIES = 600.0, 1.0

log = logging.getLogger("fairdash.worker")

SomeJob = TypeVar("SomeJob", bound=Job[Any])


#: What carries a job out; a :data:`fairdash.units.Unit` keeps what has been found so far.
Work: TypeAlias = "Callable[[SomeJob, Reporter, Unit], None]"


def main(job_id: str, *, unit: Unit = at_once) -> int:
    """Carry out the run, search or model called `job_id`; the exit status is 0 if it is done."""
    job = open_job(job_id)
    if isinstance(job, Run) and job.look is None and job.spec.first is not None:
        work_at(job, first_look, ends=False)
    return work_at(job, WORK[type(job)], unit=unit)


def work_at(job: SomeJob, work: Work[SomeJob], *, unit: Unit = at_once, ends: bool = True) -> int:
    """Do the work of a job unless another process is at it, and note how it ended; the exit status.

    Parameters
    ----------
    ends
        Whether the job is over with it, however it goes.
    """
    try:
        with job.lock(seconds=SECONDS_FOR_THE_LOCK):
            if not (job.folder / "spec.json").is_file():
                # Deleted while this process was starting; taking the lock has made an empty folder.
                shutil.rmtree(job.folder, ignore_errors=True)
                return 1
            if job.status_if_over is not None:
                # Started once more: what has ended stays as it is.
                return 0
            sign(job.folder)
            return _work(job, work, unit, Reporter(job, ends=ends))
    except Timeout:
        log.info("another process is at this %s", job.label)
        return 0


#: Folder of the home to the kind of job that lies in it.
KINDS = MappingProxyType({kind.folder_name: kind for kind in (Run, SearchJob, ModelJob)})


def open_job(job_id: str) -> Run | SearchJob | ModelJob:
    """The job of this id, whose kind its folder says; RunError if there is none."""
    found = (kind for name, kind in KINDS.items() if (data_folder(name) / job_id).is_dir())
    return next(found, Run)(job_id)


def _work(job: SomeJob, work: Work[SomeJob], unit: Unit, reporter: Reporter) -> int:
    try:
        work(job, reporter, unit)
        reporter.end(DONE)
        return 0
    except Cancelled:
        reporter.end(CANCELLED)
        return 1
    except FairdashError as error:
        reporter.end(FAILED, str(error))
        return 1
    except Exception as error:
        # The boundary of the process: the trace goes to the log, the user gets its number.
        error_id = secrets.token_hex(4)
        log.error("error %s: %s", error_id, trace_of(error))
        if is_out_of_memory(error):
            reporter.end(FAILED, str(_too_much_memory(job.label)))
            return 1
        reporter.end(
            FAILED, f"Something went wrong that fairdash did not foresee; its log names it {error_id}."
        )
        return 1


def _too_much_memory(word: str) -> Problem:
    return Problem(
        what=f"This {word} takes more {beyond()}",
        hint="Take a sample of the rows, fewer weights or smaller networks, or set FAIRDASH_MEMORY to more "
        "(in GB).",
    )


def first_look(run: Run, reporter: Reporter, _: Unit) -> None:
    """The first look of a run that begins with one."""
    from fairdash.runs.execute_sweep import execute_sweep

    spec = run.spec
    if spec.first is None or run.look is not None:
        return
    reporter.begin("reading the data")
    whole = spec.share_of_first
    result = execute_sweep(
        spec.source.load(),
        spec.first,
        is_preview=True,
        progress=lambda doing, share: reporter.progress(f"first look: {doing}", whole * share),
    )
    reporter.keep(lambda: run.write_result(result, first=True))


def _train(run: Run, reporter: Reporter, unit: Unit) -> None:
    from fairdash.runs.execute_sweep import execute_sweep

    spec, begun = run.spec, run.spec.share_of_first
    reporter.begin("reading the data", fraction=begun)
    # Units that are done tell their curves once more.
    run.forget_curves()
    result = execute_sweep(
        spec.source.load(),
        spec.plan,
        progress=lambda doing, share: reporter.progress(doing, begun + (1 - begun) * share),
        on_curve=run.add_curve,
        unit=unit,
    )
    reporter.begin("writing the result", fraction=1.0)
    reporter.keep(lambda: run.write_result(result))


def _search(search: SearchJob, reporter: Reporter, unit: Unit) -> None:
    """Search within the training rows of the first split, so that its test rows take no part."""
    reporter.begin("reading the data")
    spec = search.spec
    dataset = spec.source.load()
    (split,) = random_splits(dataset.n_rows, n_splits=1, random_state=spec.plan.random_state)

    def progress(share: float) -> None:
        reporter.progress("cross-validating", share)

    plan = spec.plan
    if isinstance(plan, LamSearch):
        result = search_lam(dataset, plan, rows=split.train, progress=progress, unit=unit)
    else:
        result = search_settings(dataset, plan, rows=split.train, progress=progress, unit=unit)
    reporter.keep(lambda: search.write_result(result))


def lower_priority(*, by: int = 10) -> None:
    """Leave the machine usable, by one thread too, as two may collapse."""
    import torch

    detached.lower_priority(by=by)
    torch.set_num_threads(1)


def _refit(model: ModelJob, reporter: Reporter, _: Unit) -> None:
    reporter.begin("reading the data")
    spec = model.spec
    dataset = spec.source.load()

    def progress(share: float) -> None:
        reporter.progress("training on all rows", share)

    fitted = refit(dataset, spec, on_step=progress)
    reporter.keep(lambda: model.write_bundle(fitted, dataset))


WORK: Mapping[type[Job[Any]], Work[Any]] = MappingProxyType(
    {Run: _train, SearchJob: _search, ModelJob: _refit}
)


class Reporter:
    """Writes a job's status a few times a second, and notices the wish to cancel.

    Parameters
    ----------
    ends
        Whether the job is over when the work is.
    """

    def __init__(self, job: Job, *, ends: bool = True) -> None:
        self.job = job
        self.ends = ends
        # Of a job that goes on, what was spent before counts.
        self.started = time.monotonic() - job.stored_status().seconds
        self.last = 0.0
        self.fraction = 0.0

    def begin(self, doing: str, *, fraction: float = 0.0) -> None:
        self.fraction = fraction
        self._tell(RunStatus(state=RUNNING, doing=doing, fraction=fraction, seconds=self._seconds()))

    def end(self, state: str, message: str = "") -> None:
        if not self.ends:
            if message:
                log.warning("%s", message)
            return
        fraction = 1.0 if state == DONE else self.fraction
        status = RunStatus(state=state, fraction=fraction, seconds=self._seconds(), message=message)
        self._insist(lambda: self.job.write_status(status))

    def progress(self, doing: str, fraction: float) -> None:
        """Write that `fraction` of the work is done; Cancelled if the user wants it stopped."""
        if time.monotonic() - self.last < SECONDS_BETWEEN_REPORTS:
            return
        self.last, self.fraction = time.monotonic(), fraction
        if self.job.is_cancelled():
            raise Cancelled
        seconds = self._seconds()
        self._tell(
            RunStatus(
                state=RUNNING,
                doing=doing,
                fraction=fraction,
                seconds=seconds,
                seconds_left=seconds * (1 - fraction) / fraction if fraction > 0.02 else None,
            )
        )

    def keep(self, write: Callable[[], None]) -> None:
        """Write what has been found; where the disk is full, wait for space rather than lose it.

        Raises
        ------
        Cancelled
            The user wants it stopped, found or not.
        StorageError
            There was no space for SECONDS_TO_INSIST.
        """

        def wait() -> None:
            if self.job.is_cancelled():
                raise Cancelled
            self.begin("waiting for space on the disk: free some, and this goes on", fraction=1.0)

        self._insist(write, wait=wait)

    def _tell(self, status: RunStatus) -> None:
        """Write how far it is; a disk that is full for a moment must not end what can go on without."""
        try:
            self.job.write_status(status)
        except StorageError as error:
            log.warning("how far it is could not be written: %s", error)

    def _insist(self, write: Callable[[], None], *, wait: Callable[[], None] = lambda: None) -> None:
        until = time.monotonic() + SECONDS_TO_INSIST
        while True:
            try:
                return write()
            except StorageError as error:
                if time.monotonic() > until:
                    raise
                log.warning("to be tried again: %s", error)
            wait()
            time.sleep(SECONDS_BETWEEN_TRIES)

    def _seconds(self) -> float:
        return time.monotonic() - self.started
