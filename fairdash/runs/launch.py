"""Submission of jobs (such as runs and audits) to the queue, and functions that cancel or resume them."""

from __future__ import annotations

import itertools
import json
from typing import Any, TypeVar

from filelock import Timeout

from fairdash.auditing.plan import AuditPlan
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.errors import RunError
from fairdash.jobs import queue
from fairdash.jobs.cancellation import request_stop, withdraw_stop
from fairdash.lab.studies import Study
from fairdash.runs.audits import AuditJob, create_audit
from fairdash.runs.models import ModelJob, create_model
from fairdash.runs.repairs import RepairJob, create_repair
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.state import CANCELLED, DONE, FAILED, QUEUED, RunStatus, write_status
from fairdash.runs.store import FIRST, SPEC, Job, Run, RunSpec, spec_text
from fairdash.runs.studies import StudyJob, create_study
from fairdash.storage import LOCAL, sha256, write_whole
from fairdash.storage.log import LOG, note
from fairdash.training.defaults import current_defaults
from fairdash.training.lam_search import LamSearch
from fairdash.training.search import SettingsSearch
from fairdash.training.sweep import Sweep
from fairdash.utils.records import to_plain


def start_run(
    source: DatasetSource,
    plan: Sweep,
    *,
    first: Sweep | None = None,
    first_share: float = 1.0,
    owner: str = LOCAL,
) -> Run:
    """Queue a plan. Its preview is the smaller sweep `first` on the share `first_share` of the rows.

    If the owner already has a run with the same plan and data in progress, this run is returned. Simultaneous
    requests thus share one run. The id of the run is a hash of the owner, the plan and the data.
    """
    spec = RunSpec(
        source=source,
        plan=plan,
        first=first,
        first_share=first_share,
        owner=owner,
        defaults=current_defaults(),
    )
    request = json.dumps(to_plain(spec) | {"created": None}, sort_keys=True)
    for attempt in itertools.count():
        id = sha256(f"{request}\n{attempt}".encode())[:12]
        try:
            run = Run.create(spec, id=id)
            if not run.status.is_over and not run.is_cancelled():
                break
        except RunError:
            # A job with damaged files already has this id, so the next id is tried.
            continue
    if not (run.folder / LOG).exists():
        note(run.folder, "asked for", who=owner, **_facts_of(source))
    enqueue(run)
    return run


def start_again(run: Run, *, owner: str = LOCAL) -> Run:
    """Queue a new run with the plan and the data of an existing run, which is not changed."""
    spec = run.spec
    return start_run(spec.source, spec.plan, first=spec.first, first_share=spec.first_share, owner=owner)


def start_search(source: DatasetSource, plan: SettingsSearch | LamSearch, *, owner: str = LOCAL) -> SearchJob:
    """Queue a search."""
    return enqueue(create_search(source, plan, owner=owner))


def start_model(source: DatasetSource, plan: Sweep, **options: Any) -> ModelJob:
    """Queue a refit of a model on all rows, with parameters of :class:`fairdash.runs.models.ModelSpec`."""
    return enqueue(create_model(source, plan, **options))


def start_audit(source: DatasetSource, plan: AuditPlan, **options: Any) -> AuditJob:
    """Queue the audit of a price, with the parameters of :func:`fairdash.runs.audits.create_audit`."""
    return enqueue(create_audit(source, plan, **options))


def start_repair(audit: AuditJob, sensitive: str) -> RepairJob:
    """Queue the repair of an audited price for one of the audit's sensitive attributes."""
    return enqueue(create_repair(audit, sensitive))


def start_study(study: Study) -> StudyJob:
    """Queue a study that is neither finished nor running. A stopped or failed study starts again.

    Raises
    ------
    StorageError
        The folder of the study can't be written.
    """
    job = create_study(study)
    state = job.status.state
    if state in (CANCELLED, FAILED):
        # The file of the specification is written again, because it may be damaged.
        write_whole(job.folder / SPEC, spec_text(study).encode())
        resume(job)
        return job
    # A process that has not yet noticed the request to stop continues.
    withdraw_stop(job.folder)
    return enqueue(job) if state == QUEUED else job


def _facts_of(source: DatasetSource) -> dict[str, Any]:
    """Return the hash or title of the data and the columns by role, for a line of the log."""
    roles = getattr(source, "roles", None)
    data = f"sha256 {source.sha256}" if isinstance(source, UploadSource) else source.title
    columns = {} if roles is None else {part: value for part, value in vars(roles).items() if value}
    return {"data": data, "recipe": source.id, "columns": columns}


SomeJob = TypeVar("SomeJob", bound=Job[Any])

#: Maximum number of seconds for which a process keeps the lock of a job after it has recorded the job's end.
SECONDS_TO_LEAVE = 5.0


def enqueue(job: SomeJob, *, again: bool = False) -> SomeJob:
    """Queue a job, unless it is already queued.

    Parameters
    ----------
    again
        True to queue the job even if it is recorded as running in the queue. The caller must know that no
        process runs it.
    """
    spec, path = job.spec, f"{job.folder_name}/{job.id}"
    preview_id = (
        job.preview_id
        if isinstance(job, Run) and spec.first is not None and not job.available_result
        else None
    )
    queue.submit(path, queue_name=job.queue_name, owner=spec.owner, again=again)
    if preview_id is not None:
        queue.submit(path, queue_name=queue.QUICK, owner=spec.owner, part=FIRST, id=preview_id, again=again)
    # Only the process of the preview is started here. It starts the process of the run later, because two
    # processes that start at the same time would compete for the cores.
    queue.ensure_worker(job.queue_name if preview_id is None else queue.QUICK)
    return job


def cancel(job: Job[Any]) -> None:
    """Request that a job stops before its next step. The job's process checks several times per second."""
    request_stop(job.folder)
    note(job.folder, "asked to stop", who=job.owner)
    queue.cancel(job.workflow_ids)


def resume(job: Job[Any]) -> None:
    """Resume a stopped or failed job. Its finished steps are not repeated."""
    status = job.stored_status()
    if status.state == DONE:
        return
    try:
        # Holding this lock ensures that the process of the job has ended.
        with job.lock(seconds=SECONDS_TO_LEAVE):
            withdraw_stop(job.folder)
            note(job.folder, "gone on", who=job.owner)
            write_status(
                job.folder, RunStatus(state=QUEUED, fraction=status.fraction, seconds=status.seconds)
            )
    except Timeout:
        # The job has already been resumed.
        return
    enqueue(job, again=True)
