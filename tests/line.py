"""A queue in memory that runs jobs in threads of the test process, because starting a worker takes seconds.

It replaces :mod:`fairdash.jobs.queue` in every test without the mark ``processes``. A job takes the same path
as in a worker, starting with :func:`fairdash.cli.worker.run_job`. Jobs start when a test waits for
something (:func:`tests.serving.until`), so that a test may also run a job directly.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fairdash.jobs import queue
from fairdash.jobs.cancellation import CANCEL
from fairdash.jobs.queue import AT_WORK, STOPPED, WAITING, QueueState
from fairdash.storage import data_folder
from tests import serving

_DONE = "SUCCESS"


@dataclass
class _Waiting:
    place: str
    part: str
    queue_name: str
    folder: Path
    state: str = WAITING


@dataclass
class Line:
    """Jobs in order of arrival, by their names in the queue, and one thread for each queue with jobs."""

    jobs: dict[str, _Waiting] = field(default_factory=dict)
    threads: dict[str, threading.Thread] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def submit(
        self, place: str, *, queue_name: str, owner: str, part: str = "", id: str | None = None, again: bool = False,
    ) -> None:  # fmt: skip
        id = id or place.rpartition("/")[2]
        with self.lock:
            if (at := self.state_of(id)) is None or again or not at.is_active:
                self.jobs.pop(id, None)
                self.jobs[id] = _Waiting(place, part, queue_name, data_folder(place))

    def state_of(self, id: str) -> QueueState | None:
        with self.lock:
            return QueueState(self.jobs[id].state, self._ahead(id)) if id in self.jobs else None

    def _ahead(self, id: str) -> tuple[str, ...]:
        """Jobs of the same queue before a waiting job: the running job and those that have waited longer."""
        at, mine = list(self.jobs).index(id), self.jobs[id]
        own = {name: each.state for name, each in self.jobs.items() if each.queue_name == mine.queue_name}
        waiting = [name for name in [*self.jobs][:at] if own.get(name) == WAITING]
        ahead = [*(name for name, state in own.items() if state == AT_WORK), *waiting]
        return tuple(ahead) if mine.state == WAITING else ()

    def cancel(self, ids: Iterable[str]) -> None:
        with self.lock:
            for id in ids:
                if (at := self.state_of(id)) is not None and at.is_active:
                    self.jobs[id].state = STOPPED

    def delete_jobs(self, ids: Iterable[str]) -> None:
        with self.lock:
            for id in ids:
                self.jobs.pop(id, None)

    def ensure_worker(self, queue_name: str) -> None:
        self.called.add(queue_name)

    def begin(self) -> None:
        """Start a thread for each queue that has a job and was asked to start."""
        with self.lock:
            for queue_name in self.called - self.threads.keys():
                if self._next(queue_name) is not None:
                    thread = threading.Thread(target=self._work, args=(queue_name,), daemon=True)
                    self.threads[queue_name] = thread
                    thread.start()

    def ensure_workers(self) -> None:
        for queue_name in queue.QUEUES:
            queue.ensure_worker(queue_name)

    def _next(self, queue_name: str) -> _Waiting | None:
        own = (each for each in self.jobs.values() if each.queue_name == queue_name)
        return next((each for each in own if each.state == WAITING), None)

    def _work(self, queue_name: str) -> None:
        from fairdash.cli.worker import run_job

        while True:
            with self.lock:
                job = self._next(queue_name)
                if job is None:
                    del self.threads[queue_name]
                    return
                job.state = AT_WORK
            try:
                status = run_job(job.place, job.part)
            except Exception:
                # As in a worker, a job that was deleted in the meantime ends here.
                status = 1
            with self.lock:
                if job.state == AT_WORK:
                    job.state = STOPPED if status else _DONE

    def end(self) -> None:
        """Stop the running jobs and wait for their end."""
        with self.lock:
            active = [each for each in self.jobs.values() if each.state in (WAITING, AT_WORK)]
            threads = list(self.threads.values())
            for each in active:
                each.state = STOPPED
        for each in active:
            if each.folder.is_dir():
                (each.folder / CANCEL).touch()
        for thread in threads:
            thread.join()


#: Functions of the queue that the queue in memory replaces.
REPLACED = ("submit", "state_of", "cancel", "delete_jobs", "ensure_worker", "ensure_workers")


def stand_in(patch: pytest.MonkeyPatch) -> Line:
    """Replace the queue by a queue in memory."""
    line = Line()
    for name in REPLACED:
        patch.setattr(queue, name, getattr(line, name))
    patch.setattr(serving, "begin_work", line.begin)
    return line
