"""Progress and outcome of a job. The process of the job writes the state, and pages read it.

<job>/status.json progress or outcome of the job, with its own hash (:mod:`fairdash.storage.bundle`)

The queue knows whether a job is waiting or running (:mod:`fairdash.jobs.queue`). A file in the folder of the
job shows that it has to stop (:mod:`fairdash.jobs.cancellation`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdash.errors import RunError, StorageError
from fairdash.jobs import queue
from fairdash.jobs.cancellation import StopCheck, is_at_work
from fairdash.storage.bundle import read_sealed, write_sealed
from fairdash.storage.log import WORKER, note
from fairdash.utils.records import from_plain, to_plain
from fairdash.utils.text import counted

if TYPE_CHECKING:
    from fairdash.runs.store import Job

#: The remaining time is estimated from the pace in the last 60 and in the last 180 seconds. A pace is
#: measured over at least 3 seconds, and replaces the initial estimate after a tenth of the work. The initial
#: estimate, which comes from the plan, may be wrong by 30 %.
SECONDS_OF_PACE, SECONDS_THAT_TELL, SHARE_THAT_TELLS, UNSURE = (60.0, 180.0), 3.0, 0.1, 0.3
_MIN_SHARE = 1e-9
#: If a result can't be written, it stays in memory, and fairdash tries again every second for ten minutes.
SECONDS_TO_RETRY, SECONDS_BETWEEN_TRIES = 600.0, 1.0

STATUS = "status.json"
log = logging.getLogger("fairdash.cli.worker")

_STATES = QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """Progress of a run.

    Parameters
    ----------
    state
        ``"queued"``, ``"running"``, ``"done"``, ``"cancelled"`` or ``"failed"``.
    doing
        Current step, or the reason for waiting, in plain words.
    fraction
        Completed share of the work, 0 to 1.
    seconds
        Seconds for which processes have worked on the job.
    seconds_left
        Lowest and highest estimate of the remaining seconds, or None if there is no estimate.
    message
        Reason of the failure, for the user.
    before
        Number of jobs that precede this job in the queue.
    """

    state: str
    doing: str = ""
    fraction: float = 0.0
    seconds: float = 0.0
    seconds_left: tuple[float, float] | None = None
    message: str = ""
    before: int = 0

    def __post_init__(self) -> None:
        if self.state not in _STATES:
            raise ValueError("not a status")

    @property
    def is_over(self) -> bool:
        return self.state in (DONE, CANCELLED, FAILED)


def read_status(folder: Path) -> RunStatus:
    """Read the status of a job; raise an OSError or a ValueError if the status can't be read."""
    return from_plain(RunStatus, read_sealed(folder / STATUS))


def write_status(folder: Path, status: RunStatus) -> None:
    """Write the status of a job, and log its end. Raise a StorageError if the disk is full."""
    write_sealed(folder / STATUS, to_plain(status))
    if status.is_over:
        state_text = {DONE: "finished", CANCELLED: "stopped", FAILED: "failed"}[status.state]
        note(folder, state_text, who=WORKER, why=status.message)


def current_status(job: Job[Any]) -> RunStatus:
    """Return the status of a job. If the job has not ended, its state comes from the queue."""
    status = job.stored_status()
    if status.is_over:
        return status
    is_away = False
    try:
        queue_state = queue.state_of(job.id)
    except queue.UnavailableError:
        queue_state, is_away = None, True
    # The status is read again, because the process may have ended the job after the first reading.
    if (final_status := job.status_if_over) is not None:
        return final_status
    if is_at_work(job.folder):
        return status
    if is_away:
        return replace(status, doing="waiting for the database, which can't be reached")
    if queue_state is None and status.state == QUEUED:
        return status
    if queue_state is not None and queue_state.is_active:
        if queue_state.state == queue.WAITING and status.state == QUEUED:
            return replace(status, before=len(queue_state.ahead), doing=_waits_for(job, queue_state.ahead))
        return replace(status, state=RUNNING, doing=status.doing or "starting")
    if queue_state is not None and queue_state.state == queue.STOPPED:
        return replace(status, state=CANCELLED, seconds_left=None)
    ended_early = f"The process that ran this {job.label} has ended. Start it again."
    return replace(status, state=FAILED, message=ended_early)


def _waits_for(job: Job[Any], ahead: Sequence[str]) -> str:
    """Describe what a job waits for. The jobs of other owners are counted and not named."""
    from fairdash.runs.worker import open_job

    if not ahead:
        return ""
    id, *_ = ahead[0].split("-")
    try:
        first_job = open_job(id, owner=job.owner)
        source = getattr(first_job.spec, "source", None)
        awaited = f"the {first_job.label} on “{source.title}”" if source and id != job.id else "its preview"
        words = f"{awaited} ({first_job.stored_status().fraction:.0%} done)"
    except RunError:
        words = "another user's job"
    return f"waiting for {words}" + (f" and {counted(len(ahead) - 1, 'more job')}" if ahead[1:] else "")


class JobContext:
    """Owner and progress of a running job, with a check for a request to stop.

    Parameters
    ----------
    ends
        True if the job ends when this work ends. False for a preview.
    """

    def __init__(self, job: Job[Any], *, ends: bool = True) -> None:
        self.job, self.owner, self.ends = job, job.owner, ends
        self.check = StopCheck(job.folder)
        # The number of seconds includes the time before an interruption.
        stored_status = job.stored_status()
        self.started = time.monotonic() - stored_status.seconds
        #: Initial estimate of the remaining seconds, and the completed share of the work at the time of this
        #: estimate.
        self.estimate, self.estimated_at = stored_status.seconds_left, stored_status.fraction
        self.fraction = 0.0
        #: Pairs of a time in the last minutes and the completed share of the work at this time.
        self.paced: list[tuple[float, float]] = []

    def begin(self, message: str, *, fraction: float = 0.0) -> None:
        self.fraction = fraction
        self._write(message, fraction, self.estimate if fraction < 1 else None)

    def end(self, state: str, message: str = "") -> None:
        if not self.ends:
            if message:
                log.warning("%s", message)
            return
        fraction = 1.0 if state == DONE else self.fraction
        status = RunStatus(state=state, fraction=fraction, seconds=self._seconds(), message=message)
        self._retry(lambda: write_status(self.job.folder, status))

    def progress(self, message: str, fraction: float) -> None:
        """Report the completed share of the work; raise Cancelled if the user has asked to stop."""
        if self.check():
            self.fraction = fraction
            self._write(message, fraction, self._seconds_left(fraction))

    def _seconds_left(self, fraction: float) -> tuple[float, float] | None:
        """Return the lowest and highest estimate of the remaining seconds, or None if there is no estimate.

        The estimates come from the pace of the last minutes. Until enough of the work is completed, the
        initial estimate is also used.
        """
        clock = time.monotonic()
        recent_paces = [
            (time_then, done_then)
            for time_then, done_then in self.paced
            if time_then >= clock - SECONDS_OF_PACE[-1]
        ]
        self.paced = [*recent_paces, (clock, fraction)]
        estimates = []
        for seconds in SECONDS_OF_PACE:
            time_then, done_then = next(
                (pair for pair in self.paced if pair[0] >= clock - seconds), (clock, fraction)
            )
            if clock - time_then >= SECONDS_THAT_TELL and fraction > done_then:
                estimates.append((clock - time_then) / (fraction - done_then) * (1 - fraction))
        if self.estimate is not None and (not estimates or fraction < self.estimated_at + SHARE_THAT_TELLS):
            remaining = min((1 - fraction) / max(1 - self.estimated_at, 1 - fraction, _MIN_SHARE), 1.0)
            estimates += [remaining * seconds_left for seconds_left in self.estimate]
        return (min(estimates), max(estimates)) if estimates else None

    def save(self, write: Callable[[], None]) -> None:
        """Write results. If the disk is full, wait for free space, so that the results are not lost.

        Raises
        ------
        Cancelled
            The user has asked to stop the job.
        StorageError
            The disk was full for SECONDS_TO_RETRY.
        """

        def wait_briefly() -> None:
            self.check(now=True)
            self.begin("waiting for disk space: delete files to continue", fraction=1.0)

        self._retry(write, wait=wait_briefly)

    def _write(self, message: str, fraction: float, left: tuple[float, float] | None) -> None:
        """Write the progress. A full disk does not stop the work."""
        status = RunStatus(
            state=RUNNING, doing=message, fraction=fraction, seconds=self._seconds(), seconds_left=left
        )
        try:
            write_status(self.job.folder, status)
        except StorageError as error:
            log.warning("the progress can't be written: %s", error)

    def _retry(self, write: Callable[[], None], *, wait: Callable[[], None] = lambda: None) -> None:
        deadline = time.monotonic() + SECONDS_TO_RETRY
        while True:
            try:
                return write()
            except StorageError as error:
                if time.monotonic() > deadline:
                    raise
                log.warning("writing failed and is tried again: %s", error)
            wait()
            time.sleep(SECONDS_BETWEEN_TRIES)

    def _seconds(self) -> float:
        return time.monotonic() - self.started
