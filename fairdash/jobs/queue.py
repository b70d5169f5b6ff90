"""Queue of all jobs, as a client of DBOS Transact.

<home>/jobs.sqlite                  jobs that wait, run or have ended
<home>/workers/<queue>.lock         lock of the process that runs a queue on this machine; a process that ends
                                    normally deletes the file, so an unlocked file reveals a dead process
<home>/workers/<queue>.log          output of this process; with several machines, the file name begins with
                                    the machine's name

If several machines share one home, ``FAIRDASH_DATABASE`` names a PostgreSQL database that replaces
jobs.sqlite. The database contains ids and states, but no rows of data. The app does not look up ended jobs in
the queue, because importing DBOS takes 0.4 s.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairdash.errors import StorageError
from fairdash.jobs.cancellation import is_locked
from fairdash.jobs.process import n_cores, start_detached
from fairdash.storage import data_folder, make_parents, write_error

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus
    from sqlalchemy import Engine

#: Queues of jobs that train for minutes, of jobs for which a user waits, and of studies.
LONG, QUICK, STUDIES = QUEUES = ("long", "quick", "studies")
#: `WORKFLOW` runs a job, with the job's path and part as arguments, and `STEP` runs a step. `STEPS` is the
#: queue of the steps if several machines share the work.
WORKFLOW, STEP, STEPS = "carry_out", "step", "steps"
#: Version of the steps. It changes when results of older steps can't be used any more. Older jobs stay
#: unchanged.
VERSION = "5"
#: Seconds between two polls of a queue. One poll takes a few milliseconds, even when the queue is empty.
POLL = {LONG: 0.5, QUICK: 0.15, STUDIES: 0.3}

#: Seconds between two attempts of a worker to reach a database that does not respond.
SECONDS_BETWEEN_TRIES = 1.0

#: DBOS's names of the states. A job in another state has failed, because its processes died too often.
WAITING, AT_WORK, STOPPED = "ENQUEUED", "PENDING", "CANCELLED"
ACTIVE = WAITING, AT_WORK

#: A worker on another machine is regarded as dead after this number of seconds without a heartbeat. A live
#: worker sends several heartbeats in this time. On the same machine, a file lock shows whether a worker is
#: alive.
SECONDS_TO_LIVE = 15
#: Maximum number of seconds to wait for a connection to the database's machine.
SECONDS_TO_CONNECT = 5

_TABLE = "CREATE TABLE IF NOT EXISTS fairdash_workers (name TEXT PRIMARY KEY, seen TIMESTAMPTZ NOT NULL)"
_HEARTBEAT = (
    "INSERT INTO fairdash_workers VALUES (:name, clock_timestamp()) "
    "ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()"
)
_ALIVE = (
    "SELECT count(*) FROM fairdash_workers WHERE name LIKE '%-' || :queue "
    "AND seen >= clock_timestamp() - make_interval(secs => :seconds)"
)
_DEAD = "SELECT name FROM fairdash_workers WHERE seen < clock_timestamp() - make_interval(secs => :seconds)"

log = logging.getLogger("fairdash.jobs")

Answer = TypeVar("Answer")


class UnavailableError(StorageError):
    """Error for a shared database that does not respond, but may respond again soon."""


@dataclass(frozen=True)
class QueueState:
    """State of a job.

    Parameters
    ----------
    state
        WAITING, AT_WORK, STOPPED (on request, or after a recorded error), or another state of DBOS.
    ahead
        Ids of the jobs that run before this waiting job, in order. Empty if the job does not wait.
    """

    state: str
    ahead: tuple[str, ...] = ()

    @property
    def is_active(self) -> bool:
        """Return whether the job waits or is being processed."""
        return self.state in ACTIVE


def database_url() -> str:
    """Return the address of the database."""
    return os.environ.get("FAIRDASH_DATABASE") or f"sqlite:///{data_folder('jobs.sqlite')}"


def is_shared() -> bool:
    """Return whether several machines may process the jobs."""
    return not database_url().startswith("sqlite")


def prepare(queue_name: str = QUICK) -> None:
    """Start a process and open the database in advance, for a job that a user will probably start soon."""
    if os.environ.get("FAIRDASH_NO_STANDBY"):
        return
    threading.Thread(target=client, daemon=True, name="fairdash jobs").start()
    ensure_worker(queue_name)


def client() -> DBOSClient:
    """Return the client of the database, which is created if it is missing.

    Raises
    ------
    UnavailableError
        The database does not respond.
    StorageError
        The database can't be opened, or the home folder can't be written.
    """
    with errors_in_words(), _opening:
        return _open_client(database_url())


def submit(
    place: str, *, queue_name: str, owner: str, part: str = "", id: str | None = None, again: bool = False
) -> None:
    """Add a job to the queue unless it waits or runs there. A finished or stopped job is added again.

    Parameters
    ----------
    place
        Path of the job, ``"<folder>/<id>"``, as in :func:`fairdash.cli.worker.run_job`.
    queue_name
        One of QUEUES. The caller must call :func:`ensure_worker`.
    owner
        Owner of the job.
    part
        Part of the job to run, as in :func:`fairdash.cli.worker.run_job`.
    id
        Id in the queue; by default the id in `place`.
    again
        True to add the job even if its state is AT_WORK, because no process runs it any more.
    """
    _submit(WORKFLOW, queue_name, id or place.rpartition("/")[2], place, part, owner=owner, run_again=again)


def submit_step(id: str, place: str, name: str, *, owner: str) -> None:
    """Add a step of a job to the queue of steps, replacing an earlier attempt that has ended."""
    _submit(STEP, STEPS, id, place, name, owner=owner)


def _submit(
    workflow: str, queue_name: str, id: str, *arguments: str, owner: str, run_again: bool = False
) -> None:
    from dbos import EnqueueOptions

    workflows = _workflows(workflow_ids=[id])
    if run_again or not any(flow.status in ACTIVE for flow in workflows):
        options = EnqueueOptions(
            workflow_name=workflow, queue_name=queue_name, workflow_id=id, authenticated_user=owner
        )
        with errors_in_words():
            client().delete_workflows([flow.workflow_id for flow in workflows])
            client().enqueue(options, *arguments)


def state_of(id: str) -> QueueState | None:
    """Return the state of a job, or None if the job was never in the queue."""
    for job in _workflows(workflow_ids=[id]):
        waiting_jobs = sorted(active(job.queue_name), key=_queue_order) if job.status == WAITING else []
        return QueueState(
            job.status,
            tuple(other.workflow_id for other in waiting_jobs if _queue_order(other) < _queue_order(job)),
        )
    return None


def active(queue_name: str | None) -> list[WorkflowStatus]:
    """Return the jobs that wait or run in a queue."""
    return _workflows(queue_name=queue_name, status=[*ACTIVE])


def steps_of(ids: Collection[str]) -> list[WorkflowStatus]:
    """Return the states of steps, with their results."""
    return _workflows(workflow_ids=list(ids), load_output=True) if ids else []


def delete_steps(job: str) -> None:
    """Remove a job's steps from the queue."""
    ids = [flow.workflow_id for flow in _workflows(workflow_id_prefix=f"{job}-step-")]
    cancel(ids)
    delete_jobs(ids)


def _queue_order(workflow: WorkflowStatus) -> tuple[bool, int, str]:
    return workflow.status != AT_WORK, workflow.created_at or 0, workflow.workflow_id


def time_of_attempt(id: str) -> int | None:
    """Return the time of the last attempt to run a job, in ms since the epoch, to identify the attempt."""
    return next((flow.dequeued_at for flow in _workflows(workflow_ids=[id])), None)


def cancel_attempt(id: str, *, begun: int | None) -> None:
    """Cancel the attempt that began at the time `begun`, unless the job has been resumed since."""
    if any(flow.status == AT_WORK and flow.dequeued_at == begun for flow in _workflows(workflow_ids=[id])):
        with errors_in_words():
            client().cancel_workflows([id])


def cancel(ids: Collection[str]) -> None:
    """Prevent further steps of these jobs from starting. Ended jobs keep their state."""
    if known_ids := _known_workflows(ids):
        with errors_in_words():
            client().cancel_workflows(known_ids)


def delete_jobs(ids: Collection[str]) -> None:
    """Delete these jobs from the database."""
    if known_ids := _known_workflows(ids):
        with errors_in_words():
            client().delete_workflows(known_ids)


def retry_until_available(query: Callable[[], Answer]) -> Answer:
    """Repeat a database call until the database responds, so that a worker's job survives an outage."""
    while True:
        try:
            return query()
        except UnavailableError as error:
            log.warning("%s", error)
            time.sleep(SECONDS_BETWEEN_TRIES)


def ensure_worker(queue_name: str) -> None:
    """Start a process for a queue on this machine, unless one runs. It ends when it has nothing to do."""
    lock = lock_of(queue_name)
    if not is_locked(lock):
        make_parents(lock)
        try:
            lock.touch()
        except OSError as error:
            raise write_error(error) from error
        start_detached("fairdash.cli.worker", queue_name, log=lock.with_suffix(".log"))


def ensure_workers() -> None:
    """Restart dead processes. Every page visit can call this function, because it only reads files."""
    for queue_name in QUEUES:
        if lock_of(queue_name).exists():
            ensure_worker(queue_name)


def lock_of(queue_name: str) -> Path:
    """Return the lock that a queue's process holds."""
    return data_folder("workers") / f"{worker_at(queue_name)}.lock"


def worker_at(queue_name: str) -> str:
    """Return the name of this machine's process for a queue. With SQLite, it is the name of the queue.

    If several machines have the same host name, ``FAIRDASH_MACHINE`` replaces the host name.
    """
    if not is_shared():
        return queue_name
    return f"{os.environ.get('FAIRDASH_MACHINE') or socket.gethostname()}-{queue_name}"


def _workflows(*, load_output: bool = False, **which: Any) -> list[WorkflowStatus]:
    if not is_shared() and not data_folder("jobs.sqlite").is_file():
        return []
    with errors_in_words():
        return client().list_workflows(**which, load_input=False, load_output=load_output)


def _known_workflows(ids: Collection[str]) -> list[str]:
    return [flow.workflow_id for flow in _workflows(workflow_ids=list(ids))] if ids else []


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Convert a database error to UnavailableError if the database does not respond, else to StorageError."""
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    try:
        yield
    except DBAPIError as error:
        if is_shared() and (
            error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError))
        ):
            raise UnavailableError.of(
                "the job database can't be reached",
                "Check that the PostgreSQL of FAIRDASH_DATABASE responds. Running jobs wait for it.",
            ) from error
        hint = (
            "Check that the PostgreSQL of FAIRDASH_DATABASE responds and can be written."
            if is_shared()
            else f"Make sure that {data_folder('jobs.sqlite')} can be written. If it is damaged, rename it."
        )
        raise StorageError.of(
            f"the job queue can't be used ({type(error.orig).__name__})",
            f"{hint} The queue contains no finished work. Unfinished work can be started again.",
        ) from error


_opening = threading.Lock()


@lru_cache(maxsize=8)
def _open_client(url: str) -> DBOSClient:
    from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer

    if url.startswith("sqlite:"):
        database_file = data_folder("jobs.sqlite")
        try:
            make_parents(database_file)
            # Create the database file with mode 0600 before SQLite does, so that other users can't read it.
            os.close(os.open(database_file, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise write_error(error) from error
    DBOS.migrate(url)
    client = DBOSClient(
        system_database_url=url,
        serializer=DBOSPortableJSONSerializer(),
        # A page must not wait for a database that does not respond, and shows an error instead.
        retry_connection_errors=False,
    )
    for queue_name in QUEUES:
        client.register_queue(queue_name, worker_concurrency=1, polling_interval_sec=POLL[queue_name])
    # Machines that share the work must have the same number of cores.
    client.register_queue(STEPS, worker_concurrency=n_cores(), polling_interval_sec=POLL[QUICK])
    return client


def heartbeat(name: str) -> None:
    """Report that the worker with this name is alive, or raise UnavailableError."""
    from sqlalchemy import text

    with errors_in_words(), _database(database_url()).begin() as database:
        database.execute(text(_HEARTBEAT), {"name": name})


def n_processes() -> int:
    """Return the number of processes of live workers for steps, if all machines have equally many cores."""
    from sqlalchemy import text

    def count_processes() -> int:
        with errors_in_words(), _database(database_url()).begin() as database:
            return int(
                database.execute(text(_ALIVE), {"queue": LONG, "seconds": SECONDS_TO_LIVE}).scalar_one()
            )

    return max(retry_until_available(count_processes), 1) * n_cores()


def requeue_jobs_of_dead_workers(queue_name: str) -> int:
    """Put the jobs of dead workers back into a queue, and return the number of these jobs.

    During an outage of the database, no worker can send a heartbeat. Call this function only if the database
    has responded for at least SECONDS_TO_LIVE.
    """
    from sqlalchemy import text

    with errors_in_words(), _database(database_url()).begin() as database:
        dead = list(database.execute(text(_DEAD), {"seconds": SECONDS_TO_LIVE}).scalars())
    n_returned = 0
    for name in (queue_name, STEPS) if queue_name == LONG else (queue_name,):
        abandoned = [
            flow.workflow_id for flow in active(name) if flow.status == AT_WORK and flow.executor_id in dead
        ]
        if abandoned:
            with errors_in_words():
                client().resume_workflows(abandoned, queue_name=name)
        n_returned += len(abandoned)
    return n_returned


@lru_cache(maxsize=2)
def _database(url: str) -> Engine:
    from sqlalchemy import create_engine, text

    # psycopg is the driver that DBOS installs.
    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_pre_ping=True,
        connect_args={"connect_timeout": SECONDS_TO_CONNECT},
    )
    with engine.begin() as database:
        database.execute(text(_TABLE))
    return engine
