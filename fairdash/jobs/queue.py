"""Queue of all jobs: a client of DBOS Transact.

<home>/jobs.sqlite               waiting, running and ended jobs
<home>/workers/<queue>.lock         held by the process that runs a queue on this machine; a process that ends
                                    by itself deletes it, so that a lock held by no process reveals a dead one
<home>/workers/<queue>.log          its output; with several machines the file name begins with that of the
                                    machine

``FAIRDASH_DATABASE`` names a PostgreSQL database instead, for several machines that share one home. The
database holds ids and states, but no rows of data. Importing DBOS takes 0.4 s, so ended jobs are not looked
up here.
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
from fairdash.storage import cant_keep, data_folder, make_parents

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus
    from sqlalchemy import Engine

#: Queues of jobs that train for minutes, of jobs that a user waits for, and of studies.
LONG, QUICK, STUDIES = QUEUES = ("long", "quick", "studies")
#: The workflows: of a job, whose arguments are its place and which part of it; and of a step of one, where
#: several machines share the work.
WORKFLOW, STEP, STEPS = "carry_out", "step", "steps"
#: Version of the steps: a change that makes older results useless changes it; older jobs stay as they are.
VERSION = "5"
#: How often a queue's process asks for work, in seconds. It takes milliseconds, also at rest.
POLL = {LONG: 0.5, QUICK: 0.15, STUDIES: 0.3}

#: How often a worker asks again while the database is away.
SECONDS_BETWEEN_TRIES = 1.0

#: DBOS's names of the states. An unfinished job in another state has failed: its processes died too often.
WAITING, AT_WORK, STOPPED = "ENQUEUED", "PENDING", "CANCELLED"
ACTIVE = WAITING, AT_WORK

#: Seconds without a heartbeat after which another machine's worker counts as dead. It sends several in this
#: time. On one machine, a file lock shows whether the worker is alive.
SECONDS_TO_LIVE = 15
#: A machine that does not even refuse is not waited for longer.
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


class AwayError(StorageError):
    """The database shared by several machines does not respond, and may return soon."""


@dataclass(frozen=True)
class QueueState:
    """State of a job.

    Parameters
    ----------
    state
        WAITING, AT_WORK, STOPPED on request or by a recorded error, or another state.
    ahead
        Ids of the jobs ahead of it in its queue, in order, if it waits.
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
    """Start a process and open the database in advance, because someone is about to start a job."""
    if os.environ.get("FAIRDASH_NO_STANDBY"):
        return
    threading.Thread(target=client, daemon=True, name="fairdash jobs").start()
    ensure_worker(queue_name)


def client() -> DBOSClient:
    """Return the client of the database, which is created if missing.

    Raises
    ------
    AwayError
        The database does not respond.
    StorageError
        It can't be opened, or the home can't be written.
    """
    with in_words(), _opening:
        return _opened(database_url())


def submit(
    place: str, *, queue_name: str, owner: str, part: str = "", id: str | None = None, again: bool = False
) -> None:
    """Add a job to the queue unless it is there; a finished or stopped job is added again.

    Parameters
    ----------
    place
        ``"<room>/<id>"``, as in :func:`fairdash.cli.worker.carry_out`.
    queue_name
        One of QUEUES. The caller must call :func:`ensure_worker`.
    owner
        Owner of the job.
    part
        Part of the job, for the process.
    id
        Name in the queue; by default that of the place.
    again
        Whether no process holds the job, so that a state of being at work is out of date.
    """
    _submit(WORKFLOW, queue_name, id or place.rpartition("/")[2], place, part, owner=owner, again=again)


def submit_step(id: str, place: str, name: str, *, owner: str) -> None:
    """Add a step of a job to the queue of steps, replacing an earlier attempt that has ended."""
    _submit(STEP, STEPS, id, place, name, owner=owner)


def _submit(
    workflow: str, queue_name: str, id: str, *arguments: str, owner: str, again: bool = False
) -> None:
    from dbos import EnqueueOptions

    found = _workflows(workflow_ids=[id])
    if again or not any(each.status in ACTIVE for each in found):
        options = EnqueueOptions(
            workflow_name=workflow, queue_name=queue_name, workflow_id=id, authenticated_user=owner
        )
        with in_words():
            client().delete_workflows([each.workflow_id for each in found])
            client().enqueue(options, *arguments)


def state_of(id: str) -> QueueState | None:
    """Return the state of a job; None if it was never in this home's queue."""
    for job in _workflows(workflow_ids=[id]):
        line = sorted(active(job.queue_name), key=_place) if job.status == WAITING else []
        return QueueState(job.status, tuple(each.workflow_id for each in line if _place(each) < _place(job)))
    return None


def active(queue_name: str | None) -> list[WorkflowStatus]:
    """Return the jobs that wait or run in a queue."""
    return _workflows(queue_name=queue_name, status=[*ACTIVE])


def steps_of(ids: Collection[str]) -> list[WorkflowStatus]:
    """Return the states of steps, with their results."""
    return _workflows(workflow_ids=list(ids), load_output=True) if ids else []


def forget_steps(job: str) -> None:
    """Take a job's steps off the queue."""
    ids = [each.workflow_id for each in _workflows(workflow_id_prefix=f"{job}-step-")]
    cancel(ids)
    forget(ids)


def _place(workflow: WorkflowStatus) -> tuple[bool, int, str]:
    return workflow.status != AT_WORK, workflow.created_at or 0, workflow.workflow_id


def begun_at(id: str) -> int | None:
    """Return when the job last left the queue, in ms since the epoch, which identifies the attempt."""
    return next((each.dequeued_at for each in _workflows(workflow_ids=[id])), None)


def give_up(id: str, *, begun: int | None) -> None:
    """Record the end of the attempt that began then, unless the job has been resumed meanwhile."""
    if any(each.status == AT_WORK and each.dequeued_at == begun for each in _workflows(workflow_ids=[id])):
        with in_words():
            client().cancel_workflows([id])


def cancel(ids: Collection[str]) -> None:
    """Prevent further steps of these jobs from starting; ended jobs keep their state."""
    if known := _known(ids):
        with in_words():
            client().cancel_workflows(known)


def forget(ids: Collection[str]) -> None:
    """Delete these jobs from the database."""
    if known := _known(ids):
        with in_words():
            client().delete_workflows(known)


def retry_until_available(ask: Callable[[], Answer]) -> Answer:
    """Retry a database call until the database responds, for a worker whose job outlives an outage."""
    while True:
        try:
            return ask()
        except AwayError as error:
            log.warning("%s", error)
            time.sleep(SECONDS_BETWEEN_TRIES)


def ensure_worker(queue_name: str) -> None:
    """Keep a process for a queue on this machine; it ends by itself when there is nothing to do."""
    lock = lock_of(queue_name)
    if not is_locked(lock):
        make_parents(lock)
        try:
            lock.touch()
        except OSError as error:
            raise cant_keep(error) from error
        start_detached("fairdash.cli.worker", queue_name, log=lock.with_suffix(".log"))


def ensure_workers() -> None:
    """Restart dead processes; only files are read, so that any page visit can call this."""
    for queue_name in QUEUES:
        if lock_of(queue_name).exists():
            ensure_worker(queue_name)


def lock_of(queue_name: str) -> Path:
    """Return the lock that a queue's process holds."""
    return data_folder("workers") / f"{worker_at(queue_name)}.lock"


def worker_at(queue_name: str) -> str:
    """Return the name of this machine's process for a queue; with SQLite there is one machine.

    ``FAIRDASH_MACHINE`` sets it if several machines have the same host name.
    """
    if not is_shared():
        return queue_name
    return f"{os.environ.get('FAIRDASH_MACHINE') or socket.gethostname()}-{queue_name}"


def _workflows(*, load_output: bool = False, **which: Any) -> list[WorkflowStatus]:
    if not is_shared() and not data_folder("jobs.sqlite").is_file():
        return []
    with in_words():
        return client().list_workflows(**which, load_input=False, load_output=load_output)


def _known(ids: Collection[str]) -> list[str]:
    return [each.workflow_id for each in _workflows(workflow_ids=list(ids))] if ids else []


@contextmanager
def in_words() -> Iterator[None]:
    """Convert a database error for the user: AwayError if there is no response, else StorageError."""
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    try:
        yield
    except DBAPIError as error:
        if is_shared() and (
            error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError))
        ):
            raise AwayError.of(
                "the job database can't be reached",
                "Check that the PostgreSQL of FAIRDASH_DATABASE answers. Running jobs wait for it.",
            ) from error
        hint = (
            "Check that the PostgreSQL of FAIRDASH_DATABASE answers and can be written."
            if is_shared()
            else f"See that {data_folder('jobs.sqlite')} can be written. If it is damaged, move it away."
        )
        raise StorageError.of(
            f"the job queue can't be used ({type(error.orig).__name__})",
            f"{hint} Finished work is not in it. Unfinished work can be started again.",
        ) from error


_opening = threading.Lock()


@lru_cache(maxsize=8)
def _opened(url: str) -> DBOSClient:
    from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer

    if url.startswith("sqlite:"):
        place = data_folder("jobs.sqlite")
        try:
            make_parents(place)
            # Before SQLite makes it: nobody else reads it.
            os.close(os.open(place, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise cant_keep(error) from error
    DBOS.migrate(url)
    found = DBOSClient(
        system_database_url=url,
        serializer=DBOSPortableJSONSerializer(),
        # A page says that the database is away, rather than wait for it.
        retry_connection_errors=False,
    )
    for queue_name in QUEUES:
        found.register_queue(queue_name, worker_concurrency=1, polling_interval_sec=POLL[queue_name])
    # Machines that share the work are of one kind.
    found.register_queue(STEPS, worker_concurrency=n_cores(), polling_interval_sec=POLL[QUICK])
    return found


def heartbeat(name: str) -> None:
    """Report that the worker with this name is alive; AwayError if the database does not respond."""
    from sqlalchemy import text

    with in_words(), _database(database_url()).begin() as database:
        database.execute(text(_HEARTBEAT), {"name": name})


def n_processes() -> int:
    """Return the number of processes that live workers have for steps, on machines of the same kind."""
    from sqlalchemy import text

    def ask() -> int:
        with in_words(), _database(database_url()).begin() as database:
            return int(
                database.execute(text(_ALIVE), {"queue": LONG, "seconds": SECONDS_TO_LIVE}).scalar_one()
            )

    return max(retry_until_available(ask), 1) * n_cores()


def take_over(queue_name: str) -> int:
    """Return the jobs of dead workers to a queue, and return their number.

    During a database outage no worker can report, so call this only after SECONDS_TO_LIVE of operation.
    """
    from sqlalchemy import text

    with in_words(), _database(database_url()).begin() as database:
        dead = list(database.execute(text(_DEAD), {"seconds": SECONDS_TO_LIVE}).scalars())
    n_left = 0
    for name in (queue_name, STEPS) if queue_name == LONG else (queue_name,):
        left = [
            each.workflow_id for each in active(name) if each.status == AT_WORK and each.executor_id in dead
        ]
        if left:
            with in_words():
                client().resume_workflows(left, queue_name=name)
        n_left += len(left)
    return n_left


@lru_cache(maxsize=2)
def _database(url: str) -> Engine:
    from sqlalchemy import create_engine, text

    # The driver that DBOS brings.
    found = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_pre_ping=True,
        connect_args={"connect_timeout": SECONDS_TO_CONNECT},
    )
    with found.begin() as database:
        database.execute(text(_TABLE))
    return found
