"""Worker process that runs the jobs of a queue one by one (``python -m fairdash.cli.worker QUEUE``).

The process starts when there is work, continues after the browser and the app are closed, and ends after some
time without work. If the process is killed, the next page visit restarts it, and DBOS resumes the job after
its last step.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from fairdash.errors import trace_of
from fairdash.jobs import process as detached
from fairdash.jobs import queue
from fairdash.jobs.cancellation import SECONDS_FOR_THE_LOCK, StopCheck
from fairdash.jobs.parallel import warm_up
from fairdash.jobs.process import environment, n_cores
from fairdash.jobs.steps import Checkpoints
from fairdash.storage import make_parents
from fairdash.utils.memory import limit_memory

if TYPE_CHECKING:
    from fairdash.runs.store import Run

#: Time in seconds for which an idle process waits for jobs. It is about the time that a user spends on the
#: Data page.
SECONDS_TO_WAIT = 180
SECONDS_BETWEEN_CHECKS, SECONDS_BETWEEN_HEARTBEATS, SECONDS_BETWEEN_STARTS = 0.5, 3.0, 10.0
#: Maximum number of times that a job's process may die before the job is recorded as failed.
MAX_DEATHS = 20

log = logging.getLogger("fairdash.cli.worker")


def main(queue_name: str, *, parent: int | None = None) -> int:
    """Process a queue until it is empty, unless another process of this machine does so.

    Parameters
    ----------
    parent
        Id of the parent process. While the parent runs, this process also runs, even without jobs.
    """
    lock = queue.lock_of(queue_name)
    make_parents(lock)
    try:
        seconds = SECONDS_FOR_THE_LOCK if parent is None else -1
        with FileLock(lock, timeout=seconds, is_singleton=False):
            _work(queue_name, parent)
            if sys.platform != "win32":  # Windows deletes the file on release
                lock.unlink(missing_ok=True)
    except Timeout:
        return 0
    if parent is None and queue.active(queue_name):
        # A job may be added to the queue while this process is ending.
        queue.ensure_worker(queue_name)
    return 0


def serve(queues: Sequence[str]) -> int:
    """Keep a process running for each of the queues until a signal stops this process. Then return 0."""
    is_stopping = threading.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: is_stopping.set())
    children: dict[str, subprocess.Popen[bytes]] = {}
    while not is_stopping.is_set():
        for queue_name in queues:
            if queue_name not in children or children[queue_name].poll() is not None:
                command = [sys.executable, "-m", "fairdash.cli.worker", queue_name, str(os.getpid())]
                children[queue_name] = subprocess.Popen(command, env=environment())  # noqa: S603 (our own module)
        # Starts are at least some seconds apart, because each process would end immediately without a
        # database.
        is_stopping.wait(SECONDS_BETWEEN_STARTS)
    for child in children.values():
        child.terminate()
    for child in children.values():
        child.wait()
    return 0


def run_job(place: str, part: str) -> int:
    """Run a job, or the preview of a run. Return 0 if it is complete.

    Parameters
    ----------
    place
        Folder and id of the job, as ``"<folder>/<id>"``.
    part
        ``"first"`` for a run's preview, otherwise ``""``.
    """
    from fairdash.runs import worker as runs
    from fairdash.runs.store import FIRST, Run

    job = runs.open_job(place.rpartition("/")[2])
    if part == FIRST and isinstance(job, Run):
        if n_cores() > 1:
            # The worker of the complete run imports its packages while the preview uses only one core.
            queue.ensure_worker(queue.LONG)
        status = runs.work_at(job, runs.preview, ends=False)
        queue.ensure_worker(queue.LONG)
        return status
    if isinstance(job, Run):
        _wait_for_preview(job)
    run_step = Checkpoints(job.units, check=StopCheck(job.folder))
    while (status := runs.work_at(job, runs.WORK[type(job)], run_step=run_step)) == 0:
        if job.status_if_over is not None:
            break
        # Another process still runs this job. This worker waits, so that it can continue the job if that
        # process dies.
        time.sleep(SECONDS_BETWEEN_CHECKS)
    return status


def _wait_for_preview(run: Run) -> None:
    """Wait until the preview, which has a separate queue, is finished."""
    while run.available_result is None and not run.is_cancelled():
        state = queue.retry_until_available(lambda: queue.state_of(run.preview_id))
        if state is None or not state.is_active:
            return
        queue.ensure_worker(queue.QUICK)
        time.sleep(queue.POLL[queue.QUICK])


def _work(queue_name: str, parent: int | None) -> None:
    from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, error

    from fairdash.evaluation.parallel_sweep import compute_step
    from fairdash.jobs.parallel import StepPool

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    # A stopped job is not an error. The run's log records who stopped the job.
    logging.getLogger("dbos").addFilter(
        lambda record: (
            not (record.exc_info and isinstance(record.exc_info[1], error.DBOSAwaitedWorkflowCancelledError))
        )
    )
    queue.client()

    @DBOS.workflow(name=queue.WORKFLOW, max_recovery_attempts=MAX_DEATHS)
    def workflow(place: str, part: str) -> None:
        id = str(DBOS.workflow_id)
        begun = queue.retry_until_available(lambda: queue.time_of_attempt(id))
        try:
            status = run_job(place, part)
        except Exception as fault:
            # No caller handles errors of the workflow. A job that was deleted while it ran also ends here.
            log.error("%s: %s", place, trace_of(fault))
            status = 1
        if status != 0:
            # The workflow is cancelled, because DBOS can't resume a workflow that has ended.
            queue.retry_until_available(lambda: queue.cancel_attempt(id, begun=begun))
            raise error.DBOSWorkflowCancelledError(place)

    # Several steps run at the same time, each in a process that has loaded the table.
    step_pool = StepPool(compute_step, count=n_cores())

    @DBOS.workflow(name=queue.STEP, max_recovery_attempts=MAX_DEATHS)
    def step(place: str, name: str) -> list[Any]:
        return step_pool.compute(place, name)

    DBOS(
        config=DBOSConfig(
            name="fairdash",
            system_database_url=queue.database_url(),
            serializer=DBOSPortableJSONSerializer(),
            application_version=queue.VERSION,
            executor_id=queue.worker_at(queue_name),
            run_migrations=False,
            log_level="WARNING",
        )
    )
    DBOS.listen_queues(
        [queue_name, queue.STEPS] if queue.is_shared() and queue_name == queue.LONG else [queue_name]
    )
    _import_all(queue_name)
    limit_memory()
    if queue.is_shared():
        queue.heartbeat(queue.worker_at(queue_name))
    DBOS.launch()
    if queue_name != queue.STUDIES:
        # Uploads must also be deleted after their retention period on machines without the app.
        from fairdash.runs.deletion import start_deletion_thread

        start_deletion_thread()
    try:
        _wait_for_jobs(queue_name, parent)
    finally:
        DBOS.destroy()
        step_pool.close()


def _wait_for_jobs(queue_name: str, parent: int | None) -> None:
    """Let DBOS work until the queue has been empty for a while, or the parent process has ended.

    While the database can't be reached, jobs wait for it, and so does this function.
    """
    idle_since = last_heartbeat = reachable_since = time.monotonic()
    is_unreachable = False
    while time.monotonic() - idle_since < SECONDS_TO_WAIT:
        time.sleep(SECONDS_BETWEEN_CHECKS)
        if parent is not None and os.getppid() != parent:
            return
        try:
            if parent is not None or queue.active(queue_name):
                idle_since = time.monotonic()
            if not queue.is_shared() or time.monotonic() - last_heartbeat < SECONDS_BETWEEN_HEARTBEATS:
                continue
            last_heartbeat = time.monotonic()
            queue.heartbeat(queue.worker_at(queue_name))
            if is_unreachable:
                log.warning("the database is back")
                is_unreachable = False
            # After an outage of the database, during which no worker could send a heartbeat, workers get time
            # for one.
            if time.monotonic() - reachable_since > queue.SECONDS_TO_LIVE:
                queue.requeue_jobs_of_dead_workers(queue_name)
        except queue.UnavailableError as error:
            if not is_unreachable:
                log.warning("%s", error)
            is_unreachable = True
            idle_since = reachable_since = time.monotonic()


def _import_all(queue_name: str) -> None:
    """Import all packages that jobs of the queue need before there is a job."""
    if queue_name == queue.LONG and not os.environ.get("FAIRDASH_NO_STANDBY"):
        # Packages are imported in a separate process at the same time.
        warm_up()
    import fairdash.runs.worker

    if queue_name != queue.STUDIES:
        import fairdash.evaluation.execute_sweep
        import fairdash.training.stack  # noqa: F401
    if queue_name == queue.QUICK and not queue.active(queue_name):
        _run_minimal_preview()


def _run_minimal_preview() -> None:
    """Run a minimal preview now, because torch and other packages load many parts only on first use."""
    from fairdash.data.source import CatalogueSource
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.training.sweep import default_plan, preview_of

    dataset = CatalogueSource(dataset="household", options={"n": 100}).load()
    plan = preview_of(default_plan(dataset))
    settings = replace(plan.settings, n_epochs=2, warm_up_epochs=1)
    execute_sweep(dataset, replace(plan, lams=plan.lams[:1], settings=settings), is_preview=True)


if __name__ == "__main__":
    # Jobs in the other queues have a lower priority, because a user waits for the jobs in the quick queue.
    detached.lower_priority(by=5 if sys.argv[1] == queue.QUICK else 10)
    sys.exit(main(sys.argv[1], parent=int(sys.argv[2]) if len(sys.argv) > 2 else None))
