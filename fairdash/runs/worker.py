"""Execute one run, search, model or audit in the process that took it (:mod:`fairdash.cli.worker`).

Only that process writes to the job's folder, apart from the request to stop. The steps of a long run are
computed by processes of its own (:mod:`fairdash.jobs.parallel`), with the same results.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from filelock import Timeout

from fairdash.errors import Cancelled, FairdashError, Problem, StorageError
from fairdash.jobs import queue
from fairdash.jobs.process import SECONDS_FOR_THE_LOCK, n_cores, sign
from fairdash.jobs.steps import Checkpoints, Unit, at_once
from fairdash.runs.audits import AuditJob, origin_of
from fairdash.runs.models import ModelJob
from fairdash.runs.repairs import RepairJob
from fairdash.runs.result import CURVES
from fairdash.runs.searches import SearchJob
from fairdash.runs.status import CANCELLED, DONE, FAILED, RUNNING, RunStatus
from fairdash.runs.store import SPEC, Job, Run
from fairdash.runs.studies import StudyJob, forget_the_oldest
from fairdash.training.lam_search import LamSearch, search_lam
from fairdash.training.methods import FAIR_TARIFF
from fairdash.training.search import search_settings
from fairdash.training.split_kinds import draw_splits
from fairdash.utils.error_log import trace_of
from fairdash.utils.memory import beyond, is_out_of_memory, most_memory

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.data.dataset import Dataset
    from fairdash.training.sweep import Sweep

SECONDS_BETWEEN_REPORTS = 0.2
#: Time left follows the paces of so many last seconds, once so many and such a share have been worked. An
#: estimate from the plan alone may be off by such a share.
SECONDS_OF_PACE, SECONDS_THAT_TELL, SHARE_THAT_TELLS, UNSURE = (60.0, 180.0), 3.0, 0.1, 0.3
_LEAST = 1e-9
#: A result that can't be written is kept in memory so long, and written again and again.
SECONDS_TO_RETRY, SECONDS_BETWEEN_TRIES = 600.0, 1.0

#: Of a process at a run: how often its table is in memory, beside the predictions of all models.
TABLES_IN_MEMORY = 4
#: So many processes do as much as this power of their number alone: they share caches and memory.
PACE = 0.7
#: Seconds that a slow core trains for, at least: a process takes seconds to start.
MIN_SECONDS = 8.0

log = logging.getLogger("fairdash.cli.worker")

SomeJob = TypeVar("SomeJob", bound=Job[Any])


#: What carries a job out; a :data:`fairdash.jobs.steps.Unit` keeps what has been found so far.
Work: TypeAlias = "Callable[[SomeJob, Reporter, Unit], None]"


def main(job_id: str, *, unit: Unit = at_once) -> int:
    """Execute the run, search, model or audit called `job_id`; the exit status is 0 if it succeeds."""
    job = open_job(job_id)
    if isinstance(job, Run) and job.look is None and job.spec.first is not None:
        work_at(job, preview, ends=False)
    return work_at(job, WORK[type(job)], unit=unit)


def work_at(job: SomeJob, work: Work[SomeJob], *, unit: Unit = at_once, ends: bool = True) -> int:
    """Execute a job unless another process does, record how it ended, and return the exit status.

    Parameters
    ----------
    ends
        Whether the job is over with it, however it goes.
    """
    try:
        with job.lock(seconds=SECONDS_FOR_THE_LOCK):
            if not (job.folder / SPEC).is_file():
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


#: A folder of the home each.
KINDS: tuple[type[Job[Any]], ...] = (Run, SearchJob, ModelJob, AuditJob, RepairJob, StudyJob)


def open_job(job_id: str, *, owner: str | None = None) -> Job[Any]:
    """Return the owner's job with this id, of the kind given by its folder; RunError if there is none."""
    return next((kind for kind in KINDS if (kind.home() / job_id).is_dir()), Run)(job_id, owner=owner)


def _work(job: SomeJob, work: Work[SomeJob], unit: Unit, reporter: Reporter) -> int:
    try:
        work(job, reporter, unit)
        reporter.end(DONE)
        return 0
    except Cancelled:
        reporter.end(CANCELLED)
    except FairdashError as error:
        reporter.end(FAILED, str(error))
    except Exception as error:
        # The boundary of the process: the trace goes to the log, the user gets its number.
        error_id = secrets.token_hex(4)
        log.error("error %s: %s", error_id, trace_of(error))
        why = f"Unexpected error, logged as {error_id}."
        if is_out_of_memory(error):
            why = str(
                Problem(
                    what=f"This {job.label} takes more {beyond()}",
                    hint="Take a sample of the rows, fewer weights or smaller networks, or set "
                    "FAIRDASH_MEMORY to more (in GB).",
                )
            )
        reporter.end(FAILED, why)
    return 1


def preview(run: Run, reporter: Reporter, _: Unit) -> None:
    """Compute the preview of a run that begins with one."""
    from fairdash.evaluation.execute_sweep import execute_sweep, work_of_plan
    from fairdash.evaluation.work import slowness

    spec = run.spec
    if spec.first is None or run.look is not None:
        return
    reporter.begin("reading the data")
    # Beside the rest of a large table's run a look at a sample is nothing, and it is what is waited for.
    is_other_work = spec.first_share < 1 or FAIR_TARIFF in spec.first.methods
    whole = 1.0 if is_other_work else spec.share_of_first
    # Here and at the end, as the other cores may be busy at one of these moments.
    slow = slowness() if is_other_work else 1.0
    dataset = spec.load()

    def on_progress(doing: str, share: float) -> None:
        reporter.progress(f"preview: {doing}", whole * share)

    result = execute_sweep(dataset, spec.first, is_preview=True, share=spec.first_share, progress=on_progress)
    if is_other_work:
        pace = processes_for(dataset, spec.plan) ** PACE
        seconds = work_of_plan(dataset, spec.plan).seconds * min(slow, slowness()) / pace
        reporter.estimate = (1 - UNSURE) * seconds, (1 + UNSURE) * seconds
        reporter.begin("starting on all rows", fraction=spec.share_of_first)
    reporter.keep(lambda: run.write_result(result, first=True))


def _train(run: Run, reporter: Reporter, unit: Unit) -> None:
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.evaluation.parallel_sweep import execute_in_parallel

    spec, begun = run.spec, run.spec.share_of_first
    reporter.begin("reading the data", fraction=begun)
    # Units that are done tell their curves once more.
    (run.folder / CURVES).unlink(missing_ok=True)

    def on_curve(curve: pd.DataFrame) -> None:
        try:
            run.add_curve(curve)
        except StorageError as error:
            # A picture of the training is missing then, no figure.
            log.warning("a training curve could not be written: %s", error)

    def progress(doing: str, share: float) -> None:
        reporter.progress(doing, begun + (1 - begun) * share)

    dataset = spec.load()
    told: dict[str, Any] = {"progress": progress, "on_curve": on_curve}
    executor = executor_for(run, dataset) if isinstance(unit, Checkpoints) else None
    if executor is None:
        result = execute_sweep(dataset, spec.plan, unit=unit, **told)
    else:
        make, width = executor
        result = execute_in_parallel(dataset, spec.plan, run.units, executor=make, width=width, **told)
    reporter.begin("writing the result", fraction=1.0)
    reporter.keep(lambda: run.write_result(result))


def _search(search: SearchJob, reporter: Reporter, unit: Unit) -> None:
    """Search within the training rows of the first split: its test rows and those set aside take no part."""
    reporter.begin("reading the data")
    spec = search.spec
    dataset = spec.load()
    plan = spec.plan
    (split,) = draw_splits(
        dataset,
        plan.split,
        n_splits=1,
        random_state=plan.random_state,
        set_aside=plan.set_aside(dataset),
    )

    def progress(share: float) -> None:
        reporter.progress("cross-validating", share)

    if isinstance(plan, LamSearch):
        result = search_lam(dataset, plan, rows=split.train, progress=progress, unit=unit)
    else:
        result = search_settings(dataset, plan, rows=split.train, progress=progress, unit=unit)
    reporter.keep(lambda: search.write_result(result))


def _make(job: ModelJob | RepairJob, reporter: Reporter, _: Unit) -> None:
    reporter.begin("reading the data")
    files = job.files(progress=reporter.progress)
    reporter.keep(lambda: job.write_files(files))


def _audit(audit: AuditJob, reporter: Reporter, _: Unit) -> None:
    from fairdash.auditing.audit import carry_out

    reporter.begin("reading the data")
    spec = audit.spec
    frame, origin = spec.source.table(owner=spec.owner), origin_of(spec.source)
    result = carry_out(frame, spec.plan, origin=origin, progress=reporter.progress, **audit.model)
    reporter.keep(lambda: audit.write_result(result))


def _study(study: StudyJob, reporter: Reporter, _: Unit) -> None:
    written: dict[str, int] = {}
    for step in study.spec.carry_out():
        reporter.progress(step.doing, step.fraction)
        for name, table in step.tables.items():
            # Studies add rows; a table that has not grown need not be written again.
            if written.get(name) != len(table):
                study.keep(name, table)
                written[name] = len(table)
    forget_the_oldest()


WORK: Mapping[type[Job[Any]], Work[Any]] = MappingProxyType(
    {
        **{Run: _train, SearchJob: _search, ModelJob: _make, AuditJob: _audit},
        **{RepairJob: _make, StudyJob: _study},
    }
)


class Reporter:
    """Writer of a job's status several times a second, which also notices requests to stop.

    Parameters
    ----------
    ends
        Whether the job is over when the work is.
    """

    def __init__(self, job: Job, *, ends: bool = True) -> None:
        self.job = job
        self.ends = ends
        # Of a job that goes on, what was spent before counts.
        before = job.stored_status()
        self.started = time.monotonic() - before.seconds
        #: Of what was left at that share of the work, until the work itself tells.
        self.estimate, self.estimated_at = before.seconds_left, before.fraction
        self.last = 0.0
        self.fraction = 0.0
        #: When which share of the work was done, in the last minutes.
        self.told: list[tuple[float, float]] = []

    def begin(self, doing: str, *, fraction: float = 0.0) -> None:
        self.fraction = fraction
        self._tell(doing, fraction, self.estimate if fraction < 1 else None)

    def end(self, state: str, message: str = "") -> None:
        if not self.ends:
            if message:
                log.warning("%s", message)
            return
        fraction = 1.0 if state == DONE else self.fraction
        status = RunStatus(state=state, fraction=fraction, seconds=self._seconds(), message=message)
        self._retry(lambda: self.job.write_status(status))

    def progress(self, doing: str, fraction: float) -> None:
        """Report that `fraction` of the work is done; raise Cancelled if the user wants to stop."""
        if time.monotonic() - self.last < SECONDS_BETWEEN_REPORTS:
            return
        self.job.check_cancelled()
        left = self._seconds_left(fraction)
        self.last, self.fraction = time.monotonic(), fraction
        self._tell(doing, fraction, left)

    def _seconds_left(self, fraction: float) -> tuple[float, float] | None:
        """Range of the time left; None in the first seconds, if nothing estimates it.

        It reaches over what the paces of the last minutes say, and over the estimate of before until enough
        of the work is done.
        """
        now = time.monotonic()
        told = [(at, done) for at, done in self.told if at >= now - SECONDS_OF_PACE[-1]]
        self.told = [*told, (now, fraction)]
        left = []
        for seconds in SECONDS_OF_PACE:
            at, done = next((each for each in self.told if each[0] >= now - seconds), (now, fraction))
            if now - at >= SECONDS_THAT_TELL and fraction > done:
                left.append((now - at) / (fraction - done) * (1 - fraction))
        if self.estimate is not None and (not left or fraction < self.estimated_at + SHARE_THAT_TELLS):
            rest = min((1 - fraction) / max(1 - self.estimated_at, 1 - fraction, _LEAST), 1.0)
            left += [rest * each for each in self.estimate]
        return (min(left), max(left)) if left else None

    def keep(self, write: Callable[[], None]) -> None:
        """Write results; if the disk is full, wait for space rather than lose them.

        Raises
        ------
        Cancelled
            The user wants it stopped, found or not.
        StorageError
            There was no space for SECONDS_TO_RETRY.
        """

        def wait() -> None:
            self.job.check_cancelled()
            self.begin("waiting for disk space: free some to continue", fraction=1.0)

        self._retry(write, wait=wait)

    def _tell(self, doing: str, fraction: float, left: tuple[float, float] | None) -> None:
        """Write how far it is; a disk that is full for a moment must not end what can go on without."""
        status = RunStatus(
            state=RUNNING, doing=doing, fraction=fraction, seconds=self._seconds(), seconds_left=left
        )
        try:
            self.job.write_status(status)
        except StorageError as error:
            log.warning("how far it is could not be written: %s", error)

    def _retry(self, write: Callable[[], None], *, wait: Callable[[], None] = lambda: None) -> None:
        until = time.monotonic() + SECONDS_TO_RETRY
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


def executor_for(run: Run, dataset: Dataset) -> tuple[Callable[[], Executor], Callable[[], int]] | None:
    """Return what makes the executor of a run's steps, and its width; None to compute them here."""
    from fairdash.jobs.machines import QueueExecutor
    from fairdash.jobs.parallel import local_pool

    spec = run.spec
    if queue.is_shared() and is_worth_sharing(dataset, spec.plan):
        return partial(QueueExecutor, f"{run.folder_name}/{run.id}", owner=spec.owner), queue.n_processes
    count = processes_for(dataset, spec.plan)
    return (partial(local_pool, count, run.units), lambda: count) if count > 1 else None


def is_worth_sharing(dataset: Dataset, plan: Sweep) -> bool:
    """Return whether a plan takes more than a few seconds on a CPU."""
    from fairdash.training.models import seconds_of

    is_long = seconds_of(plan.models(), dataset.n_rows) > MIN_SECONDS
    return is_long and plan.device_for(dataset.n_rows).name == "cpu"


def processes_for(dataset: Dataset, plan: Sweep) -> int:
    """Return how many processes share a run: as many as cores and memory allow, and 1 for a short run."""
    if os.environ.get("FAIRDASH_NO_STANDBY") or not is_worth_sharing(dataset, plan):
        return 1
    numbers = TABLES_IN_MEMORY * dataset.features.size + len(plan.models()) * dataset.n_rows
    # This process has the rows and the predictions, too.
    return max(min(n_cores(), int(most_memory() / (8 * numbers)) - 1), 1)
