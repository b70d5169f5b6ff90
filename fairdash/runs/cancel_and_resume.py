"""Queue a job, cancel it, and resume it."""

from __future__ import annotations

from typing import Any, TypeVar

from filelock import Timeout

from fairdash.jobs import queue
from fairdash.jobs.cancellation import request_stop, withdraw_stop
from fairdash.runs.state import DONE, QUEUED, RunStatus, write_status
from fairdash.runs.store import FIRST, Job, Run
from fairdash.storage.log import note

SomeJob = TypeVar("SomeJob", bound=Job[Any])

#: A process that has recorded the end of a job holds its lock for a moment more.
SECONDS_TO_LEAVE = 5.0


def enqueue(job: SomeJob, *, again: bool = False) -> SomeJob:
    """Queue a job that is not queued yet; otherwise do nothing.

    Parameters
    ----------
    again
        Whether no process has it, whatever the queue says.
    """
    spec, place = job.spec, f"{job.folder_name}/{job.id}"
    first = (
        job.preview_id
        if isinstance(job, Run) and spec.first is not None and not job.available_result
        else None
    )
    # The process of the preview starts the rest: two processes that start would share its cores.
    queue.submit(place, queue_name=job.queue_name, owner=spec.owner, now=first is None, again=again)
    if first is not None:
        queue.submit(place, queue_name=queue.QUICK, owner=spec.owner, part=FIRST, id=first, again=again)
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
