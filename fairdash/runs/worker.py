"""Execute one run, search, model or audit in the process that took it (:mod:`fairdash.cli.worker`).

Only that process writes to the job's folder, apart from the cancel mark and from a run's helper process. The
helper keeps cores busy by computing the same units from the other end; ``python -m fairdash.runs.worker ID``
starts it, and it ends with its parent process. Each unit is stored once, by the first process to reach it
(:class:`fairdash.jobs.steps.Checkpoints`), with the same results.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from filelock import FileLock, Timeout

from fairdash.errors import Cancelled, FairdashError, Problem, StorageError
from fairdash.jobs.process import SECONDS_FOR_THE_LOCK, environment, lower_priority, sign
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
from fairdash.utils.memory import beyond, is_out_of_memory, limit_memory, most_memory

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.data.dataset import Dataset
    from fairdash.training.sweep import Sweep

SECONDS_BETWEEN_REPORTS = 0.2
#: So long at the work tells what is left.
SECONDS_THAT_TELL = 3.0
#: Work of one kind is quicker than another's: of so much of it the pace counts as much as the estimate.
SHARE_THAT_TELLS = 0.1
_NO_SHARE = 1e-9
#: A result that can't be written is kept in memory so long, and written again and again.
SECONDS_TO_INSIST, SECONDS_BETWEEN_TRIES = 600.0, 1.0

#: Of a process at a run: how often its table is in memory, beside the predictions of all models.
TABLES_IN_MEMORY = 4
#: Two processes, which share caches and memory, do as much as so many cores alone.
PACE_OF_TWO = 1.64
#: What a slow core trains for, at least: a process takes seconds to start.
MIN_SECONDS = 8.0

#: Held by the one process that helps with a run.
HELPER = "helper.lock"

log = logging.getLogger("fairdash.cli.worker")

SomeJob = TypeVar("SomeJob", bound=Job[Any])


#: What carries a job out; a :data:`fairdash.jobs.steps.Unit` keeps what has been found so far.
Work: TypeAlias = "Callable[[SomeJob, Reporter, Unit], None]"


def main(job_id: str, *, unit: Unit = at_once) -> int:
    """Execute the run, search, model or audit called `job_id`; the exit status is 0 if it succeeds."""
    job = open_job(job_id)
    if isinstance(job, Run) and job.look is None and job.spec.first is not None:
        work_at(job, first_look, ends=False)
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


def open_job(job_id: str) -> Job[Any]:
    """Return the job with this id, of the kind given by its folder; RunError if there is none."""
    return next((kind for kind in KINDS if (kind.home() / job_id).is_dir()), Run)(job_id)


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


def first_look(run: Run, reporter: Reporter, _: Unit) -> None:
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
        pace = PACE_OF_TWO if _is_worth_it(dataset, spec.plan) else 1.0
        reporter.estimate = work_of_plan(dataset, spec.plan).seconds * min(slow, slowness()) / pace
        reporter.begin("starting on all rows", fraction=spec.share_of_first)
    reporter.keep(lambda: run.write_result(result, first=True))


def _train(run: Run, reporter: Reporter, unit: Unit) -> None:
    from fairdash.evaluation.execute_sweep import execute_sweep

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

    dataset = spec.load()
    if isinstance(unit, Checkpoints):
        reporter.checkpoints = unit
    # What is found at once leaves nothing for the helper to see.
    with nullcontext(False) if unit is at_once else helper_process(run, dataset, spec.plan) as is_helped:
        reporter.processes = 2 if is_helped else 1
        result = execute_sweep(
            dataset,
            spec.plan,
            progress=lambda doing, share: reporter.progress(doing, begun + (1 - begun) * share),
            on_curve=on_curve,
            unit=unit,
        )
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
        #: How many processes are at the work, and what they have kept of it, if they do.
        self.processes = 1
        self.checkpoints: Checkpoints | None = None
        #: When the first share of the work was told, and which.
        self.first_told: tuple[float, float] | None = None
        #: The share that was told since for units that were known, and how many units were, then.
        self.given, self.n_known = 0.0, 0

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
        self._insist(lambda: self.job.write_status(status))

    def progress(self, doing: str, fraction: float) -> None:
        """Report that `fraction` of the work is done; raise Cancelled if the user wants to stop."""
        if time.monotonic() - self.last < SECONDS_BETWEEN_REPORTS:
            return
        self.job.check_cancelled()
        left = self._seconds_left(fraction)
        self.last, self.fraction = time.monotonic(), fraction
        self._tell(doing, fraction, left)

    def _seconds_left(self, fraction: float) -> float | None:
        """Estimate; None in the first seconds, if there is none of before: there is nothing to estimate from.

        The pace is that of the shares that this process has computed. It counts for more, beside the estimate
        of before, the more it has computed. Another process at the work is taken to be as quick: what it has
        done and this one has not come to yet is not left, of what lies ahead half at most.
        """
        now = time.monotonic()
        if self.first_told is None:
            self.first_told = now, fraction
        if self.checkpoints is not None and self.checkpoints.n_known > self.n_known:
            self.n_known = self.checkpoints.n_known
            self.given += max(fraction - self.fraction, 0.0)
        told, before = self.first_told
        own = fraction - before - self.given
        if own <= _NO_SHARE:
            # What takes no share of the work tells nothing of the rest.
            self.first_told = now, before
        unseen = max(own - self.given, 0.0) if self.processes > 1 else 0.0
        ahead = max(1 - fraction - unseen, (1 - fraction) / 2)
        expected = None
        if self.estimate is not None and self.estimated_at < 1:
            expected = self.estimate * min(ahead / (1 - self.estimated_at), 1.0)
        if now - told < SECONDS_THAT_TELL or own <= _NO_SHARE:
            return expected
        by_pace = (now - told) / own * ahead / self.processes
        if expected is None:
            return by_pace
        trust = own / (own + SHARE_THAT_TELLS)
        return trust * by_pace + (1 - trust) * expected

    def keep(self, write: Callable[[], None]) -> None:
        """Write results; if the disk is full, wait for space rather than lose them.

        Raises
        ------
        Cancelled
            The user wants it stopped, found or not.
        StorageError
            There was no space for SECONDS_TO_INSIST.
        """

        def wait() -> None:
            self.job.check_cancelled()
            self.begin("waiting for disk space: free some to continue", fraction=1.0)

        self._insist(write, wait=wait)

    def _tell(self, doing: str, fraction: float, left: float | None) -> None:
        """Write how far it is; a disk that is full for a moment must not end what can go on without."""
        status = RunStatus(
            state=RUNNING, doing=doing, fraction=fraction, seconds=self._seconds(), seconds_left=left
        )
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


@contextmanager
def helper_process(run: Run, dataset: Dataset, plan: Sweep) -> Iterator[bool]:
    """Run a helper process on the run's units inside this context if worthwhile; yield whether it runs."""
    if not _is_worth_it(dataset, plan):
        yield False
        return
    process = start_helper(run.id)
    try:
        yield True
    finally:
        process.kill()
        process.communicate()


def start_helper(run_id: str) -> subprocess.Popen[bytes]:
    """Start a second process at a run, unless it has one; it ends with this one, or when nothing is left."""
    command = [sys.executable, "-m", "fairdash.runs.worker", run_id]
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment())  # noqa: S603 (our own module)


def _is_worth_it(dataset: Dataset, plan: Sweep) -> bool:
    from fairdash.training.models import seconds_of

    if os.environ.get("FAIRDASH_NO_STANDBY"):
        return False
    models = plan.models()
    numbers = TABLES_IN_MEMORY * dataset.features.size + len(models) * dataset.n_rows
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return (
        cores > 1
        and 8 * numbers <= most_memory() / 2
        and seconds_of(models, dataset.n_rows) > MIN_SECONDS
        and plan.device_for(dataset.n_rows).name == "cpu"
    )


def help_with(run_id: str) -> int:
    """Process units of a run until none is left; the first process reports errors itself."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from fairdash.evaluation.execute_sweep import lend_a_hand

    limit_memory()
    run = open_job(run_id)
    if not isinstance(run, Run):
        return 0
    try:
        with FileLock(run.folder / HELPER, timeout=0, is_singleton=False):
            lend_a_hand(run.spec.load(), run.spec.plan, unit=Checkpoints(run.units, from_the_end=True))
    except Timeout:
        # Another process helps already; both would come from the same end.
        return 0
    except Exception as error:
        # The boundary of the process.
        log.warning("the helper process at %s: %s", run_id, trace_of(error))
        return 1
    return 0


def _end_with_parent() -> None:
    """End the process when nobody holds the other end any more, however it was that they ended."""
    # Not by sys.stdin: what waits for its lock when this process ends by itself is a fatal error.
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    lower_priority(by=5)
    sys.exit(help_with(sys.argv[1]))
