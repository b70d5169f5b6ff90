"""State of a job: its progress and outcome, written by its process and read by pages.

<job>/status.json   progress, or outcome of the job;

sealed (:mod:`fairdash.storage.bundle`) The queue knows whether a job waits or runs
(:mod:`fairdash.jobs.queue`), and the job's folder whether it has to stop (:mod:`fairdash.jobs.cancellation`).
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

#: Time left follows the paces of so many last seconds, once so many and such a share have been worked. An
#: estimate from the plan alone may be off by such a share.
SECONDS_OF_PACE, SECONDS_THAT_TELL, SHARE_THAT_TELLS, UNSURE = (60.0, 180.0), 3.0, 0.1, 0.3
_LEAST = 1e-9
#: A result that can't be written is kept in memory so long, and written again and again.
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
        Time since the worker began.
    seconds_left
        Range of the estimate; None without an estimate.
    message
        Reason of the failure, for the user.
    before
        Number of jobs ahead of it, while it is queued.
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
    """Read a job's status; OSError or ValueError if it can't be read."""
    return from_plain(RunStatus, read_sealed(folder / STATUS))


def write_status(folder: Path, status: RunStatus) -> None:
    """Write a job's status, and log its end; StorageError if the disk is full."""
    write_sealed(folder / STATUS, to_plain(status))
    if status.is_over:
        what = {DONE: "finished", CANCELLED: "stopped", FAILED: "failed"}[status.state]
        note(folder, what, who=WORKER, why=status.message)


def current_status(job: Job[Any]) -> RunStatus:
    """Progress of a job: from its file if it has ended, otherwise from the queue."""
    status = job.stored_status()
    if status.is_over:
        return status
    is_away = False
    try:
        at = queue.state_of(job.id)
    except queue.UnavailableError:
        at, is_away = None, True
    # A worker may have finished it between the two looks.
    if (ended := job.status_if_over) is not None:
        return ended
    if is_at_work(job.folder):
        return status
    if is_away:
        return replace(status, doing="waiting for the database, which can't be reached")
    if at is None and status.state == QUEUED:
        return status
    if at is not None and at.is_active:
        if at.state == queue.WAITING and status.state == QUEUED:
            return replace(status, before=len(at.ahead), doing=_waits_for(job, at.ahead))
        return replace(status, state=RUNNING, doing=status.doing or "starting")
    if at is not None and at.state == queue.STOPPED:
        return replace(status, state=CANCELLED, seconds_left=None)
    ended_early = f"The process that ran this {job.label} has ended. Start it again."
    return replace(status, state=FAILED, message=ended_early)


def _waits_for(job: Job[Any], ahead: Sequence[str]) -> str:
    """Return the reason for waiting; jobs of other owners are counted but not named."""
    from fairdash.runs.worker import open_job

    if not ahead:
        return ""
    id, *_ = ahead[0].split("-")
    try:
        first = open_job(id, owner=job.owner)
        of = getattr(first.spec, "source", None)
        named = f"the {first.label} on “{of.title}”" if of and id != job.id else "its preview"
        words = f"{named} ({first.stored_status().fraction:.0%} done)"
    except RunError:
        words = "another user's job"
    return f"waiting for {words}" + (f" and {counted(len(ahead) - 1, 'more job')}" if ahead[1:] else "")


class JobContext:
    """Context of a running job: its owner, its progress, and whether it has to stop.

    Parameters
    ----------
    ends
        Whether the job ends with this work.
    """

    def __init__(self, job: Job[Any], *, ends: bool = True) -> None:
        self.job, self.owner, self.ends = job, job.owner, ends
        self.check = StopCheck(job.folder)
        # The seconds before an interruption count.
        before = job.stored_status()
        self.started = time.monotonic() - before.seconds
        #: Estimated seconds left, and the share of the work done at that time; used until the pace is known.
        self.estimate, self.estimated_at = before.seconds_left, before.fraction
        self.fraction = 0.0
        #: When which share of the work was done, in the last minutes.
        self.paced: list[tuple[float, float]] = []

    def begin(self, doing: str, *, fraction: float = 0.0) -> None:
        self.fraction = fraction
        self._write(doing, fraction, self.estimate if fraction < 1 else None)

    def end(self, state: str, message: str = "") -> None:
        if not self.ends:
            if message:
                log.warning("%s", message)
            return
        fraction = 1.0 if state == DONE else self.fraction
        status = RunStatus(state=state, fraction=fraction, seconds=self._seconds(), message=message)
        self._retry(lambda: write_status(self.job.folder, status))

    def progress(self, doing: str, fraction: float) -> None:
        """Report that `fraction` of the work is completed; raise Cancelled if the user wants to stop."""
        if self.check():
            self.fraction = fraction
            self._write(doing, fraction, self._seconds_left(fraction))

    def _seconds_left(self, fraction: float) -> tuple[float, float] | None:
        """Range of the time left; None in the first seconds without an estimate.

        It covers the estimates from the pace of the last minutes, and the initial estimate until enough of
        the work is completed.
        """
        now = time.monotonic()
        recent = [(at, done) for at, done in self.paced if at >= now - SECONDS_OF_PACE[-1]]
        self.paced = [*recent, (now, fraction)]
        left = []
        for seconds in SECONDS_OF_PACE:
            at, done = next((each for each in self.paced if each[0] >= now - seconds), (now, fraction))
            if now - at >= SECONDS_THAT_TELL and fraction > done:
                left.append((now - at) / (fraction - done) * (1 - fraction))
        if self.estimate is not None and (not left or fraction < self.estimated_at + SHARE_THAT_TELLS):
            rest = min((1 - fraction) / max(1 - self.estimated_at, 1 - fraction, _LEAST), 1.0)
            left += [rest * each for each in self.estimate]
        return (min(left), max(left)) if left else None

    def save(self, write: Callable[[], None]) -> None:
        """Write results; if the disk is full, wait for space rather than lose them.

        Raises
        ------
        Cancelled
            The user wants to stop it.
        StorageError
            There was no space for SECONDS_TO_RETRY.
        """

        def wait() -> None:
            self.check(now=True)
            self.begin("waiting for disk space: free some to continue", fraction=1.0)

        self._retry(write, wait=wait)

    def _write(self, doing: str, fraction: float, left: tuple[float, float] | None) -> None:
        """Write the progress; a temporarily full disk must not stop the work."""
        status = RunStatus(
            state=RUNNING, doing=doing, fraction=fraction, seconds=self._seconds(), seconds_left=left
        )
        try:
            write_status(self.job.folder, status)
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
