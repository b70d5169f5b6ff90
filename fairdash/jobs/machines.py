"""Share a job's steps among machines: each is a workflow on a queue of the database that all machines use.

The process that has the job submits its steps through a :class:`QueueExecutor`. The worker of any machine
takes them from the queue into its own pool of processes (:class:`StepPool`). The database holds the name of a
step, and the hash of what it has found.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdash.errors import Cancelled, FairdashError, Problem, RunError
from fairdash.jobs import queue
from fairdash.jobs.cancellation import is_stop_requested
from fairdash.jobs.parallel import MAX_BROKEN, ComputeStep, local_pool
from fairdash.storage import data_folder, sha256
from fairdash.utils.error_log import trace_of
from fairdash.utils.records import from_plain, to_plain

if TYPE_CHECKING:
    from dbos import WorkflowStatus

SECONDS_BETWEEN_LOOKS = 0.3
_CANCELLED = "cancelled"

log = logging.getLogger("fairdash.cli.worker")


class QueueExecutor(Executor):
    """Executor whose steps the workers of all machines take from the database.

    Parameters
    ----------
    place
        ``"<folder>/<id>"`` of the job in the home, which each machine may see at another path.
    owner
        Owner of the job.
    """

    def __init__(self, place: str, *, owner: str) -> None:
        self._place, self._owner, self._job = place, owner, place.rpartition("/")[2]
        self._futures: dict[str, Future[Any]] = {}
        self._is_over = threading.Event()
        threading.Thread(target=self._follow, daemon=True).start()

    def submit(self, _: Any, /, *args: Any, **__: Any) -> Future[Any]:
        """Put a step on the queue, unless it is there since an earlier process had this job."""
        _, name = args
        id = f"{self._job}-step-{sha256(name.encode())[:16]}"
        queue.retry_until_available(lambda: queue.enqueue_step(id, self._place, name, owner=self._owner))
        self._futures[id] = Future()
        return self._futures[id]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 (it waits for none)
        """Take the job's steps off the queue."""
        self._is_over.set()
        queue.retry_until_available(lambda: queue.forget_steps(self._job))

    def _follow(self) -> None:
        while not self._is_over.wait(SECONDS_BETWEEN_LOOKS):
            ids = [id for id, future in list(self._futures.items()) if not future.done()]
            for each in queue.retry_until_available(partial(queue.steps_of, ids)):
                if each.status not in (queue.WAITING, queue.AT_WORK) and not self._is_over.is_set():
                    _settle(self._futures[each.workflow_id], each)


def _settle(future: Future[Any], found: WorkflowStatus) -> None:
    """Hand on what a step has found, or what it says of its failure."""
    digest, share, failure, problems = found.output or ("", 0.0, "", [])
    if digest:
        future.set_result((digest, share))
    elif problems:
        future.set_exception(RunError(*(from_plain(Problem, each) for each in problems)))
    elif failure:
        future.set_exception(Cancelled() if failure == _CANCELLED else RuntimeError(failure))
    else:
        # Taken off the queue, or its workers have died too often.
        future.set_exception(BrokenExecutor(found.status))


class StepPool:
    """Processes of this machine for the steps of one job at a time.

    Parameters
    ----------
    step
        Computes a step; a function of a module.
    count
        Number of processes.
    """

    def __init__(self, step: ComputeStep, *, count: int) -> None:
        self._step, self._count = step, count
        self._folder: Path | None = None
        self._pool: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()

    def compute(self, place: str, name: str) -> list[Any]:
        """Compute a step; return the hash of its result and its share, then what went wrong, in words."""
        folder = data_folder(place) / "units"
        try:
            for _ in range(MAX_BROKEN):
                pool = self._pool_for(folder)
                try:
                    return [*pool.submit(self._step, str(folder), name).result(), "", []]
                except BrokenExecutor:
                    if is_stop_requested(folder.parent) or not folder.is_dir():
                        raise Cancelled from None
                    with self._lock:
                        self._folder = None if self._pool is pool else self._folder
            raise RunError.of("The processes of a machine were ended again and again", "Give it more memory.")
        except FairdashError as error:
            return ["", 0.0, str(error), [to_plain(each) for each in error.problems]]
        except Cancelled:
            return ["", 0.0, _CANCELLED, []]
        except Exception as error:
            # The boundary of the process.
            log.error("a step of %s: %s", place, trace_of(error))
            return ["", 0.0, f"a step has failed ({type(error).__name__}): see its worker's log", []]

    def _pool_for(self, folder: Path) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None or folder != self._folder:
                self.close()
                self._pool, self._folder = local_pool(self._count, folder), folder
            return self._pool

    def close(self) -> None:
        """End the processes when they have done what they were given."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None
