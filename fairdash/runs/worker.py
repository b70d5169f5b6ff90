"""Execution of one job (such as a run or an audit) in the process that took it from the queue.

Only this process writes to the folder of the job, except for a request to stop. Other processes may compute
the steps of a long run (:mod:`fairdash.jobs.parallel`), with the same results.
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
from fairdash.runs.studies import StudyJob, delete_oldest_studies
from fairdash.training.lam_search import LamSearch, search_lam
from fairdash.training.methods import FAIR_TARIFF
from fairdash.training.search import search_settings
from fairdash.training.split_kinds import draw_splits
from fairdash.utils.memory import is_out_of_memory, is_over_limit, most_memory

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.data.dataset import Dataset
    from fairdash.training.sweep import Sweep

#: Estimated number of copies of the table that a process holds in memory, in addition to the predictions of
#: all models.
TABLES_IN_MEMORY = 4
#: n processes are n ** PACE times as fast as one process, because they share caches and memory.
PACE = 0.7
#: Minimum estimated training time in seconds, on a slow core, for which several processes are used. A process
#: takes seconds to start.
MIN_SECONDS = 8.0

log = logging.getLogger("fairdash.cli.worker")

SomeJob = TypeVar("SomeJob", bound=Job[Any])


#: Function that executes a job, with a :class:`fairdash.jobs.steps.StepRunner` that stores the results of its
#: steps.
Work: TypeAlias = "Callable[[SomeJob, JobContext, StepRunner], None]"


def main(job_id: str, *, run_step: StepRunner = run_directly) -> int:
    """Execute the job with the id `job_id`. Return the exit status, which is 0 after a success."""
    job = open_job(job_id)
    if isinstance(job, Run) and job.available_result is None and job.spec.first is not None:
        work_at(job, preview, ends=False)
    return work_at(job, WORK[type(job)], run_step=run_step)


def work_at(
    job: SomeJob, work: Work[SomeJob], *, run_step: StepRunner = run_directly, ends: bool = True
) -> int:
    """Execute a job unless another process does so. Record its end, and return the exit status.

    Parameters
    ----------
    ends
        True if the job ends when this work ends. False for a preview.
    """
    try:
        with job.lock(seconds=SECONDS_FOR_THE_LOCK):
            if not (job.folder / SPEC).is_file():
                # The job was deleted while this process started. Acquiring the lock has created an empty
                # folder.
                shutil.rmtree(job.folder, ignore_errors=True)
                return 1
            if job.status_if_over is not None:
                # The job has already ended, and its result stays unchanged.
                return 0
            record_process(job.folder)
            return _work(job, work, run_step, JobContext(job, ends=ends))
    except Timeout:
        log.info("another process is working on this %s", job.label)
        return 0


def open_job(job_id: str, *, owner: str | None = None) -> Job[Any]:
    """Return the owner's job of any kind with this id. Raise a RunError if no such job exists."""
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
        # All errors are caught here. The log contains the traceback, and the user sees an error number.
        error_id = secrets.token_hex(4)
        log.error("error %s: %s", error_id, trace_of(error))
        reason = f"Unexpected error, logged as {error_id}."
        if is_out_of_memory(error):
            reason = str(
                Problem(
                    what=f"This {job.label} takes more {is_over_limit()}",
                    hint="Take a sample of the rows, fewer weights or smaller networks, or set "
                    "FAIRDASH_MEMORY to more (in GB).",
                )
            )
        context.end(FAILED, reason)
    return 1


def preview(run: Run, context: JobContext, _: StepRunner) -> None:
    """Compute the preview of a run, if the run has one."""
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.evaluation.work import slowness, work_of_plan

    spec = run.spec
    if spec.first is None or run.available_result is not None:
        return
    context.begin("reading the data")
    # The user waits for the preview. With a sample of the rows or with tariffs, it is only a small part of
    # the run.
    is_other_work = spec.first_share < 1 or FAIR_TARIFF in spec.first.methods
    share_of_work = 1.0 if is_other_work else spec.share_of_first
    # The speed of the machine is measured before and after the preview, because other processes may use the
    # cores at one of these times.
    slowness_before = slowness() if is_other_work else 1.0
    dataset = spec.load()

    def on_progress(message: str, share: float) -> None:
        context.progress(f"preview: {message}", share_of_work * share)

    result = execute_sweep(dataset, spec.first, is_preview=True, share=spec.first_share, progress=on_progress)
    if is_other_work:
        pace = processes_for(dataset, spec.plan) ** PACE
        seconds = work_of_plan(dataset, spec.plan).seconds * min(slowness_before, slowness()) / pace
        context.estimate = (1 - UNSURE) * seconds, (1 + UNSURE) * seconds
        context.begin("starting the training on all rows", fraction=spec.share_of_first)
    context.save(lambda: run.write_result(result, first=True))


def _train(run: Run, context: JobContext, run_step: StepRunner) -> None:
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.evaluation.parallel_sweep import execute_in_parallel

    spec, begun = run.spec, run.spec.share_of_first
    context.begin("reading the data", fraction=begun)
    # The file is deleted, because finished steps write their curves again.
    (run.folder / CURVES).unlink(missing_ok=True)

    def on_curve(curve: pd.DataFrame) -> None:
        try:
            run.add_curve(curve)
        except StorageError as error:
            # Only the plot of the training curves is lost, and no result depends on it.
            log.warning("a training curve can't be written: %s", error)

    def progress(message: str, share: float) -> None:
        context.progress(message, begun + (1 - begun) * share)

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
    """Search with the training rows of the first split. Test rows and holdout rows are not used."""
    context.begin("reading the data")
    spec = search.spec
    dataset = spec.load()
    plan = spec.plan
    (split,) = draw_splits(
        dataset, plan.split, n_splits=1, random_state=plan.random_state, set_aside=plan.set_aside(dataset)
    )

    def progress(share: float) -> None:
        context.progress("cross-validating", share)

    if isinstance(plan, LamSearch):
        result = search_lam(dataset, plan, rows=split.train, progress=progress, run_step=run_step)
    else:
        result = search_settings(dataset, plan, rows=split.train, progress=progress, run_step=run_step)
    context.save(lambda: search.write_result(result))


def _fit_model(job: ModelJob | RepairJob, context: JobContext, _: StepRunner) -> None:
    context.begin("reading the data")
    files = job.files(progress=context.progress)
    context.save(lambda: job.write_files(files))


def _audit(audit: AuditJob, context: JobContext, _: StepRunner) -> None:
    from fairdash.auditing.audit import execute_audit

    context.begin("reading the data")
    spec = audit.spec
    frame, origin = spec.source.table(owner=spec.owner), origin_of(spec.source)
    result = execute_audit(frame, spec.plan, origin=origin, progress=context.progress, **audit.model)
    context.save(lambda: audit.write_result(result))


def _study(study: StudyJob, context: JobContext, _: StepRunner) -> None:
    sizes: dict[str, int] = {}
    for step in study.spec.run():
        context.progress(step.doing, step.fraction)
        for name, table in step.tables.items():
            # A table with the same number of rows is not written again, because studies only add rows to
            # tables.
            if sizes.get(name) != len(table):
                study.save(name, table)
                sizes[name] = len(table)
    delete_oldest_studies()


#: Map from kinds of jobs to the functions that execute them. Each kind has a folder in the data folder.
WORK: Mapping[type[Job[Any]], Work[Any]] = MappingProxyType(
    {
        **{Run: _train, SearchJob: _search, ModelJob: _fit_model, AuditJob: _audit},
        **{RepairJob: _fit_model, StudyJob: _study},
    }
)


def executor_for(run: Run, dataset: Dataset) -> tuple[Callable[[], Executor], Callable[[], int]] | None:
    """Return functions that give a run's executor and number of processes, or None for a single process."""
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
    """Return the number of processes for a run, limited by cores and memory. A short run uses one process."""
    if os.environ.get("FAIRDASH_NO_STANDBY") or not is_worth_sharing(dataset, plan):
        return 1
    numbers = TABLES_IN_MEMORY * dataset.features.size + len(plan.models()) * dataset.n_rows
    # The number is reduced by one, because the main process also holds the rows and the predictions.
    return max(min(n_cores(), int(most_memory() / (8 * numbers)) - 1), 1)
