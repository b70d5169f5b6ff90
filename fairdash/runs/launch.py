"""Submit runs, searches, models and audits to the queue, cancel them and resume them."""

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
    """Queue a plan; `first` is a smaller sweep as a preview, on `first_share` of the rows.

    If the same plan of the same owner is already in progress on the same data, that run is returned, so
    simultaneous requests share it. The id depends on all of these.
    """
    spec = RunSpec(
        source=source,
        plan=plan,
        first=first,
        first_share=first_share,
        owner=owner,
        defaults=current_defaults(),
    )
    asked = json.dumps(to_plain(spec) | {"created": None}, sort_keys=True)
    for again in itertools.count():
        id = sha256(f"{asked}\n{again}".encode())[:12]
        try:
            run = Run.create(spec, id=id)
            if not run.status.is_over and not run.is_cancelled():
                break
        except RunError:
            # One that can't be read any more has this id.
            continue
    if not (run.folder / LOG).exists():
        note(run.folder, "asked for", who=owner, **_facts_of(source))
    enqueue(run)
    return run


def start_again(run: Run, *, owner: str = LOCAL) -> Run:
    """Queue the same plan on the same data again; the existing run stays."""
    spec = run.spec
    return start_run(spec.source, spec.plan, first=spec.first, first_share=spec.first_share, owner=owner)


def start_search(source: DatasetSource, plan: SettingsSearch | LamSearch, *, owner: str = LOCAL) -> SearchJob:
    """Queue a search."""
    return enqueue(create_search(source, plan, owner=owner))


def start_model(source: DatasetSource, plan: Sweep, **asked: Any) -> ModelJob:
    """Queue a refit of a model on all rows. Parameters as in :class:`fairdash.runs.models.ModelSpec`."""
    return enqueue(create_model(source, plan, **asked))


def start_audit(source: DatasetSource, plan: AuditPlan, **asked: Any) -> AuditJob:
    """Queue the audit of a price. Parameters as in :func:`fairdash.runs.audits.create_audit`."""
    return enqueue(create_audit(source, plan, **asked))


def start_repair(audit: AuditJob, sensitive: str) -> RepairJob:
    """Queue the repair of an audited price along one of the audit's sensitive attributes."""
    return enqueue(create_repair(audit, sensitive))


def start_study(study: Study) -> StudyJob:
    """Queue a study, unless it is finished or running; a stopped one starts again.

    Raises
    ------
    StorageError
        Its folder can't be written.
    """
    job = create_study(study)
    state = job.status.state
    if state in (CANCELLED, FAILED):
        # Its file may be what was damaged.
        write_whole(job.folder / SPEC, spec_text(study).encode())
        resume(job)
        return job
    # A process that has not yet seen the request to stop continues.
    withdraw_stop(job.folder)
    return enqueue(job) if state == QUEUED else job


def _facts_of(source: DatasetSource) -> dict[str, Any]:
    """Return the data's hash and the columns by role, for a log line."""
    roles = getattr(source, "roles", None)
    data = f"sha256 {source.sha256}" if isinstance(source, UploadSource) else source.title
    columns = {} if roles is None else {part: value for part, value in vars(roles).items() if value}
    return {"data": data, "recipe": source.id, "columns": columns}


SomeJob = TypeVar("SomeJob", bound=Job[Any])

#: A process that has recorded the end of a job holds its lock for a moment more.
SECONDS_TO_LEAVE = 5.0


def enqueue(job: SomeJob, *, again: bool = False) -> SomeJob:
    """Queue a job that is not queued yet; otherwise do nothing.

    Parameters
    ----------
    again
        Whether no process has it, regardless of the queue's state.
    """
    spec, place = job.spec, f"{job.folder_name}/{job.id}"
    first = (
        job.preview_id
        if isinstance(job, Run) and spec.first is not None and not job.available_result
        else None
    )
    queue.submit(place, queue_name=job.queue_name, owner=spec.owner, again=again)
    if first is not None:
        queue.submit(place, queue_name=queue.QUICK, owner=spec.owner, part=FIRST, id=first, again=again)
    # The process of the preview starts the rest: two processes that start would share its cores.
    queue.ensure_worker(job.queue_name if first is None else queue.QUICK)
    return job


def cancel(job: Job[Any]) -> None:
    """Stop a job before its next step; a working process checks several times a second."""
    request_stop(job.folder)
    note(job.folder, "asked to stop", who=job.owner)
    queue.cancel(job.workflow_ids)


def resume(job: Job[Any]) -> None:
    """Resume a stopped or failed job after its last finished step."""
    status = job.stored_status()
    if status.state == DONE:
        return
    try:
        # Its process has ended by then.
        with job.lock(seconds=SECONDS_TO_LEAVE):
            withdraw_stop(job.folder)
            note(job.folder, "gone on", who=job.owner)
            write_status(
                job.folder, RunStatus(state=QUEUED, fraction=status.fraction, seconds=status.seconds)
            )
    except Timeout:
        # It has been resumed already.
        return
    enqueue(job, again=True)
