"""Execute one run, search, model or audit in the process that took it (:mod:`fairdash.cli.worker`).

Only that process writes to the job's folder, apart from the request to stop. The steps of a long run are
computed by separate processes (:mod:`fairdash.jobs.parallel`), with the same results.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from filelock import Timeout

from fairdash.errors import Cancelled, FairdashError, Problem, StorageError, trace_of
from fairdash.jobs import queue
from fairdash.jobs.cancellation import SECONDS_FOR_THE_LOCK, record_process
from fairdash.jobs.process import n_cores
from fairdash.jobs.steps import Checkpoints, StepRunner, run_directly
from fairdash.runs.audits import AuditJob, origin_of
from fairdash.runs.models import ModelJob
from fairdash.runs.repairs import RepairJob
from fairdash.runs.result import CURVES
from fairdash.runs.searches import SearchJob
from fairdash.runs.state import CANCELLED, DONE, FAILED, UNSURE, JobContext
from fairdash.runs.store import SPEC, Job, Run
from fairdash.runs.studies import StudyJob, forget_the_oldest
from fairdash.training.lam_search import LamSearch, search_lam
from fairdash.training.methods import FAIR_TARIFF
from fairdash.training.search import search_settings
from fairdash.training.split_kinds import draw_splits
from fairdash.utils.memory import beyond, is_out_of_memory, most_memory

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.data.dataset import Dataset
    from fairdash.training.sweep import Sweep

#: Copies of the table in a process, beside the predictions of all models.
TABLES_IN_MEMORY = 4
#: Exponent of the speed of several processes, by their number: they share caches and memory.
PACE = 0.7
#: Seconds that a slow core trains for, at least: a process takes seconds to start.
MIN_SECONDS = 8.0

log = logging.getLogger("fairdash.cli.worker")

SomeJob = TypeVar("SomeJob", bound=Job[Any])


#: Function that executes a job; a :data:`fairdash.jobs.steps.StepRunner` stores the results of its steps.
Work: TypeAlias = "Callable[[SomeJob, JobContext, StepRunner], None]"


def main(job_id: str, *, run_step: StepRunner = run_directly) -> int:
    """Execute the run, search, model or audit called `job_id`; the exit status is 0 if it succeeds."""
    job = open_job(job_id)
    if isinstance(job, Run) and job.available_result is None and job.spec.first is not None:
        work_at(job, preview, ends=False)
    return work_at(job, WORK[type(job)], run_step=run_step)


def work_at(
    job: SomeJob, work: Work[SomeJob], *, run_step: StepRunner = run_directly, ends: bool = True
) -> int:
    """Execute a job unless another process does, record how it ended, and return the exit status.

    Parameters
    ----------
    ends
        Whether the job ends with it in any case.
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
            record_process(job.folder)
            return _work(job, work, run_step, JobContext(job, ends=ends))
    except Timeout:
        log.info("another process is at this %s", job.label)
        return 0


def open_job(job_id: str, *, owner: str | None = None) -> Job[Any]:
    """Return the owner's job with this id, of the kind given by its folder; RunError if there is none."""
    return next((kind for kind in WORK if (kind.home() / job_id).is_dir()), Run)(job_id, owner=owner)


def _work(job: SomeJob, work: Work[SomeJob], run_step: StepRunner, context: JobContext) -> int:
    try:
        work(job, context, run_step)
        context.end(DONE)
        return 0
    except Cancelled:
        context.end(CANCELLED)
    except FairdashError as error:
        context.end(FAILED, str(error))
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
        context.end(FAILED, why)
    return 1


def preview(run: Run, context: JobContext, _: StepRunner) -> None:
    """Compute the preview of a run that begins with one."""
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.evaluation.work import slowness, work_of_plan

    spec = run.spec
    if spec.first is None or run.available_result is not None:
        return
    context.begin("reading the data")
    # The preview of a sample is a small part of a large run, and what the user waits for.
    is_other_work = spec.first_share < 1 or FAIR_TARIFF in spec.first.methods
    whole = 1.0 if is_other_work else spec.share_of_first
    # The slowness is measured now and at the end, because other cores may be busy at one of these times.
    slow = slowness() if is_other_work else 1.0
    dataset = spec.load()

    def on_progress(doing: str, share: float) -> None:
        context.progress(f"preview: {doing}", whole * share)

    result = execute_sweep(dataset, spec.first, is_preview=True, share=spec.first_share, progress=on_progress)
    if is_other_work:
        pace = processes_for(dataset, spec.plan) ** PACE
        seconds = work_of_plan(dataset, spec.plan).seconds * min(slow, slowness()) / pace
        context.estimate = (1 - UNSURE) * seconds, (1 + UNSURE) * seconds
        context.begin("starting on all rows", fraction=spec.share_of_first)
    context.save(lambda: run.write_result(result, first=True))


def _train(run: Run, context: JobContext, run_step: StepRunner) -> None:
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.evaluation.parallel_sweep import execute_in_parallel

    spec, begun = run.spec, run.spec.share_of_first
    context.begin("reading the data", fraction=begun)
    # Units that are done tell their curves once more.
    (run.folder / CURVES).unlink(missing_ok=True)

    def on_curve(curve: pd.DataFrame) -> None:
        try:
            run.add_curve(curve)
        except StorageError as error:
            # Only the plot of the training is lost; no result depends on it.
            log.warning("a training curve could not be written: %s", error)

    def progress(doing: str, share: float) -> None:
        context.progress(doing, begun + (1 - begun) * share)

    dataset = spec.load()
    callbacks: dict[str, Any] = {"progress": progress, "on_curve": on_curve}
    executor = executor_for(run, dataset) if isinstance(run_step, Checkpoints) else None
    if executor is None:
        result = execute_sweep(dataset, spec.plan, run_step=run_step, **callbacks)
    else:
        make, width = executor
        result = execute_in_parallel(dataset, spec.plan, run.units, executor=make, width=width, **callbacks)
    context.begin("writing the result", fraction=1.0)
    context.save(lambda: run.write_result(result))


def _search(search: SearchJob, context: JobContext, run_step: StepRunner) -> None:
    """Search within the training rows of the first split: its test rows and those set aside take no part."""
    context.begin("reading the data")
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
        context.progress("cross-validating", share)

    if isinstance(plan, LamSearch):
        result = search_lam(dataset, plan, rows=split.train, progress=progress, run_step=run_step)
    else:
        result = search_settings(dataset, plan, rows=split.train, progress=progress, run_step=run_step)
    context.save(lambda: search.write_result(result))


def _make(job: ModelJob | RepairJob, context: JobContext, _: StepRunner) -> None:
    context.begin("reading the data")
    files = job.files(progress=context.progress)
    context.save(lambda: job.write_files(files))


def _audit(audit: AuditJob, context: JobContext, _: StepRunner) -> None:
    from fairdash.auditing.audit import carry_out

    context.begin("reading the data")
    spec = audit.spec
    frame, origin = spec.source.table(owner=spec.owner), origin_of(spec.source)
    result = carry_out(frame, spec.plan, origin=origin, progress=context.progress, **audit.model)
    context.save(lambda: audit.write_result(result))


def _study(study: StudyJob, context: JobContext, _: StepRunner) -> None:
    written: dict[str, int] = {}
    for step in study.spec.carry_out():
        context.progress(step.doing, step.fraction)
        for name, table in step.tables.items():
            # Studies add rows; a table that has not grown need not be written again.
            if written.get(name) != len(table):
                study.save(name, table)
                written[name] = len(table)
    forget_the_oldest()


#: Kind of job to the function that executes it; each kind has a folder in the home.
WORK: Mapping[type[Job[Any]], Work[Any]] = MappingProxyType(
    {
        **{Run: _train, SearchJob: _search, ModelJob: _make, AuditJob: _audit},
        **{RepairJob: _make, StudyJob: _study},
    }
)


def executor_for(run: Run, dataset: Dataset) -> tuple[Callable[[], Executor], Callable[[], int]] | None:
    """Return a function that creates the executor of a run's steps, and its width; None for no executor."""
    from fairdash.jobs.parallel import QueueExecutor, local_pool

    spec = run.spec
    if queue.is_shared() and is_worth_sharing(dataset, spec.plan):
        return partial(QueueExecutor, f"{run.folder_name}/{run.id}", owner=spec.owner), queue.n_processes
    count = processes_for(dataset, spec.plan)
    return (partial(local_pool, count, run.units), lambda: count) if count > 1 else None


def is_worth_sharing(dataset: Dataset, plan: Sweep) -> bool:
    """Return whether a plan takes more than a few seconds on a CPU."""
    from fairdash.training.stack_trainer import seconds_of

    is_long = seconds_of(plan.models(), dataset.n_rows) > MIN_SECONDS
    return is_long and plan.device_for(dataset.n_rows).name == "cpu"


def processes_for(dataset: Dataset, plan: Sweep) -> int:
    """Return the number of processes of a run: as many as cores and memory allow, and 1 for a short run."""
    if os.environ.get("FAIRDASH_NO_STANDBY") or not is_worth_sharing(dataset, plan):
        return 1
    numbers = TABLES_IN_MEMORY * dataset.features.size + len(plan.models()) * dataset.n_rows
    # This process has the rows and the predictions, too.
    return max(min(n_cores(), int(most_memory() / (8 * numbers)) - 1), 1)
