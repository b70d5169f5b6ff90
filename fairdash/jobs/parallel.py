"""Compute the steps of a job in other processes with any executor, also on several machines.

The process of the job runs the job's program repeatedly (:class:`fairdash.jobs.steps.Replay`). In each run,
the process submits the steps that can be computed by then, until no step is missing. A step is a call of a
module-level function with two strings, the job's folder and the step's name. The function stores the result
in the folder and returns the result's hash. Processes exchange no rows, states or predictions.

<job>/units/progress/   current activity and progress of each running step

The process of the job submits its steps through a :class:`QueueExecutor`. A worker on any machine takes the
steps from the queue and computes them in a pool of processes (:class:`StepPool`). The database stores each
step's name and the hash of the step's result.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairdash.errors import Cancelled, FairdashError, Problem, RunError, trace_of
from fairdash.jobs import queue
from fairdash.jobs.cancellation import SECONDS_BETWEEN_CHECKS, StopCheck, is_stop_requested, request_stop
from fairdash.jobs.steps import MissingSteps, Replay
from fairdash.storage import data_folder, make_parents, sha256
from fairdash.utils.memory import limit_memory
from fairdash.utils.records import from_plain, to_plain

if TYPE_CHECKING:
    from dbos import WorkflowStatus


#: Maximum number of unfinished steps of an executor that does not state how many steps it computes at once.
MAX_WIDTH = 10_000
#: Maximum number of pools that may break in succession before a step is finished.
MAX_BROKEN = 5

log = logging.getLogger("fairdash.cli.worker")

T = TypeVar("T")
#: Function that computes a step from folder and name, and returns the hash of the result and the step's share
#: of the work.
ComputeStep = Callable[[str, str], tuple[str, float]]


class StepProgress:
    """Write the progress of one step several times a second, and check for requests to stop.

    Parameters
    ----------
    replay
        Steps of the job, with the step to compute as the target.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay, self._check = replay, StopCheck(replay.folder.parent)
        self._place = progress_of(replay.folder, replay.target)
        self._first: float | None = None
        #: Share of the job's work that this step has completed.
        self.share = 0.0
        make_parents(self._place)

    def __call__(self, message: str, fraction: float) -> None:
        """Report the progress of this step. Raise Cancelled on a request to stop."""
        if not self._replay.is_computing:
            return
        if self._first is None:
            self._first = fraction
        self.share = max(fraction - self._first, 0.0)
        if self._check():
            try:
                self._place.write_text(json.dumps([message, self.share]), encoding="utf-8")
            except OSError as error:
                # The page then shows outdated progress, but no result is lost.
                log.warning("progress could not be written: %s", error.strerror)


def progress_of(folder: Path, name: str) -> Path:
    """Return the file of a step's progress."""
    return folder / "progress" / f"{sha256(name.encode())[:16]}.json"


def compute_steps(
    program: Callable[[Replay], T],
    folder: Path,
    *,
    step: ComputeStep,
    executor: Executor | Callable[[], Executor],
    width: Callable[[], int] = lambda: MAX_WIDTH,
    progress: Callable[[str, float], None] = lambda *_: None,
    on_result: Callable[[Replay, str], None] = lambda *_: None,
) -> T:
    """Run a job's program, while an executor computes the missing steps.

    Parameters
    ----------
    program
        Function that returns the job's result. Each costly part is a step.
    folder
        Folder of the steps' results, to which all processes of the executor have access.
    step
        Module-level function that computes a step.
    executor
        Executor, or a function that creates one for the job, and a new one if the executor's processes die.
    width
        Number of steps that the executor computes at once. At most this many steps are submitted, so the next
        step to compute is always the first missing step in the order of the program.
    progress
        Called several times a second with the current activity and the completed share. An exception from it,
        such as Cancelled, stops the job.
    on_result
        Called once for each finished step, including steps finished in earlier runs.

    Raises
    ------
    RunError
        The processes die repeatedly.
    """
    replay = Replay(folder)
    for name in list(replay.index):
        on_result(replay, name)
    creates_pool = not isinstance(executor, Executor)
    new_pool: Callable[[], Executor] = executor if callable(executor) else lambda: executor
    pool, running, n_broken, activity = new_pool(), dict[Future[tuple[str, float]], str](), 0, "starting"
    try:
        while True:
            try:
                return program(replay)
            except MissingSteps as missing:
                names = missing.names
            try:
                not_submitted = [name for name in names if name not in running.values()]
                for name in not_submitted[: max(width() - len(running), 0)]:
                    running[pool.submit(step, str(folder), name)] = name
                finished: set[Future[tuple[str, float]]] = set()
                while not finished:
                    finished, _ = wait(running, timeout=SECONDS_BETWEEN_CHECKS, return_when=FIRST_COMPLETED)
                    activity, share = _progress(folder, running.values(), activity)
                    progress(activity, share + sum(each for _, each in replay.index.values()))
                for future in finished:
                    name = running.pop(future)
                    replay.record(name, *future.result())
                    on_result(replay, name)
                    n_broken = 0
            except BrokenExecutor as error:
                n_broken += 1
                if n_broken > MAX_BROKEN or not creates_pool:
                    raise RunError.of(
                        "The processes that compute this were stopped repeatedly",
                        "The memory may not suffice. Close other programs, or take a sample of the rows.",
                    ) from error
                log.warning("a process has ended; unfinished steps are computed again")
                pool.shutdown(wait=False, cancel_futures=True)
                pool, running = new_pool(), {}
    finally:
        if creates_pool:
            pool.shutdown(wait=False, cancel_futures=True)
        elif running:
            # The caller may delete the folder next, so no step may still write to it.
            request_stop(folder.parent)
            wait([future for future in running if not future.cancel()])


def _progress(folder: Path, names: Iterable[str], activity: str) -> tuple[str, float]:
    """Return the activities of the running steps, and the share of the work that they have completed."""
    total = 0.0
    for name in names:
        try:
            activity, share = json.loads(progress_of(folder, name).read_bytes())
            total += share
        except (OSError, ValueError):
            # The step has not begun, or its progress is being written.
            continue
    return activity, total


def local_pool(count: int, folder: Path) -> ProcessPoolExecutor:
    """Return a pool of processes on this machine. They end with this process, or on a request to stop.

    Parameters
    ----------
    folder
        Folder of the results of the steps.
    """
    return ProcessPoolExecutor(
        count, mp_context=_context(), initializer=_prepare_process, initargs=(str(folder),)
    )


def warm_up() -> None:
    """Start the process from which pools are forked, with the modules for steps, on systems that can fork."""
    if _context().get_start_method() == "forkserver":
        forkserver.ensure_running()


def _context() -> BaseContext:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    context.set_forkserver_preload(["fairdash.evaluation.parallel_sweep", "fairdash.training.stack"])
    return context


def _prepare_process(folder: str) -> None:
    """Limit the memory of a pool process, and let it stop when its parent or its job stops."""
    limit_memory()
    threading.Thread(target=_stop_with_parent_or_job, args=(Path(folder),), daemon=True).start()


def _stop_with_parent_or_job(folder: Path) -> None:
    """Stop this process when its parent ends for any reason, or when the job must stop."""
    parent = multiprocessing.parent_process()
    while parent is not None and parent.exitcode is None:
        parent.join(SECONDS_BETWEEN_CHECKS)
        if is_stop_requested(folder.parent) or not folder.is_dir():
            break
    os._exit(1)


class QueueExecutor(Executor):
    """Executor that stores steps in the database, where the workers of all machines take and compute them.

    Parameters
    ----------
    job_path
        Path of the job in the home folder, ``"<folder>/<id>"``. The path of the home folder may differ
        between machines.
    owner
        Owner of the job.
    """

    def __init__(self, job_path: str, *, owner: str) -> None:
        self._place, self._owner, self._job = job_path, owner, job_path.rpartition("/")[2]
        self._futures: dict[str, Future[Any]] = {}
        self._is_over = threading.Event()
        threading.Thread(target=self._poll_results, daemon=True).start()

    def submit(self, _: Any, /, *args: Any, **__: Any) -> Future[Any]:
        """Add a step to the queue, unless an earlier process of this job has added the step."""
        _, name = args
        id = f"{self._job}-step-{sha256(name.encode())[:16]}"
        queue.retry_until_available(lambda: queue.submit_step(id, self._place, name, owner=self._owner))
        self._futures[id] = Future()
        return self._futures[id]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 (no waiting)
        """Remove the job's steps from the queue."""
        self._is_over.set()
        queue.retry_until_available(lambda: queue.delete_steps(self._job))

    def _poll_results(self) -> None:
        while not self._is_over.wait(SECONDS_BETWEEN_CHECKS):
            ids = [id for id, future in list(self._futures.items()) if not future.done()]
            for step in queue.retry_until_available(partial(queue.steps_of, ids)):
                if step.status not in queue.ACTIVE:
                    set_future(self._futures[step.workflow_id], step)


def set_future(future: Future[Any], step: WorkflowStatus) -> None:
    """Set a future to the result of a step, or to its error."""
    if step.output is None:
        # The step was removed from the queue, or its workers have died too often.
        future.set_exception(BrokenExecutor(step.status))
        return
    digest, share, problems = step.output
    if digest:
        future.set_result((digest, share))
    else:
        error = RunError(*(from_plain(Problem, problem) for problem in problems)) if problems else Cancelled()
        future.set_exception(error)


class StepPool:
    """Pool of processes on this machine, which computes the steps of one job at a time.

    Parameters
    ----------
    step
        Module-level function that computes a step.
    count
        Number of processes.
    """

    def __init__(self, step: ComputeStep, *, count: int) -> None:
        self._step, self._count = step, count
        self._folder: Path | None = None
        self._pool: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()

    def compute(self, place: str, name: str) -> list[Any]:
        """Compute a step. Return the hash of its result, its share of the work, and problems, if any."""
        folder = data_folder(place) / "units"
        try:
            for _ in range(MAX_BROKEN):
                executor = self._pool_for(folder)
                try:
                    return [*executor.submit(self._step, str(folder), name).result(), []]
                except BrokenExecutor:
                    if is_stop_requested(folder.parent) or not folder.is_dir():
                        raise Cancelled from None
                    with self._lock:
                        self._folder = None if self._pool is executor else self._folder
            raise RunError.of(
                "The processes of a machine were stopped repeatedly", "Give the machine more memory."
            )
        except Cancelled:
            problems = []
        except FairdashError as error:
            problems = [*error.problems]
        except Exception as error:
            # Errors in this process reach no caller, so the result reports them.
            log.error("a step of %s: %s", place, trace_of(error))
            problem = f"a step of this job has failed ({type(error).__name__})"
            problems = [
                Problem(what=problem, hint="The log of the worker that computed the step gives the reason.")
            ]
        return ["", 0.0, [to_plain(problem) for problem in problems]]

    def _pool_for(self, folder: Path) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None or folder != self._folder:
                self.close()
                self._pool, self._folder = local_pool(self._count, folder), folder
            return self._pool

    def close(self) -> None:
        """Stop the processes after their current tasks."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None
