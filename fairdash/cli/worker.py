"""Worker process that runs the jobs of a queue one by one: ``python -m fairdash.cli.worker LANE``.

The process starts when there is work, outlives the browser and the app, and ends after a while without work.
If it is killed, the next page visit restarts it; DBOS then resumes its job after the last finished unit.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from fairdash.jobs import process as detached
from fairdash.jobs import queue
from fairdash.jobs.process import SECONDS_FOR_THE_LOCK, environment
from fairdash.jobs.steps import Checkpoints
from fairdash.storage import make_parents
from fairdash.utils.error_log import trace_of
from fairdash.utils.memory import limit_memory

if TYPE_CHECKING:
    from fairdash.runs.store import Run

#: How long a process stands by; someone who reads a page on data takes about so long.
SECONDS_TO_WAIT = 180
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_BEATS, SECONDS_BETWEEN_STARTS = 0.5, 3.0, 10.0
#: A job of another machine that has taken so long is worth a second machine's start.
SECONDS_BEFORE_A_HAND = 8.0
#: A job whose process has died so often is given up.
MAX_DEATHS = 20

log = logging.getLogger("fairdash.cli.worker")


def main(lane: str, *, parent: int | None = None) -> int:
    """Work at a lane until there is nothing to do, unless another process of this machine does.

    Parameters
    ----------
    parent
        The process that wants the lane worked at as long as it lives itself, work or not.
    """
    lock = queue.lock_of(lane)
    make_parents(lock)
    try:
        seconds = SECONDS_FOR_THE_LOCK if parent is None else -1
        with FileLock(lock, timeout=seconds, is_singleton=False):
            _work(lane, parent)
    except Timeout:
        return 0
    if parent is None and queue.is_needed(lane):
        # Asked for while this process was on its way out.
        queue.see_to(lane)
    return 0


def serve(lanes: Sequence[str]) -> int:
    """Have a process work at each of the lanes until this one is told to end; then 0."""
    told = threading.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: told.set())
    children: dict[str, subprocess.Popen[bytes]] = {}
    begun: dict[str, float] = {}
    while True:
        for lane in lanes:
            is_there = lane in children and children[lane].poll() is None
            # Where the database is gone, each would end at once.
            if not is_there and time.monotonic() - begun.get(lane, -math.inf) > SECONDS_BETWEEN_STARTS:
                begun[lane] = time.monotonic()
                command = [sys.executable, "-m", "fairdash.cli.worker", lane, str(os.getpid())]
                children[lane] = subprocess.Popen(command, env=environment())  # noqa: S603 (our own module)
        if told.wait(SECONDS_BETWEEN_LOOKS):
            break
    for child in children.values():
        child.terminate()
    for child in children.values():
        child.wait()
    return 0


def carry_out(place: str, part: str) -> int:
    """Carry out a job, or a part of it; 0 if it is done.

    Parameters
    ----------
    place
        ``"<folder>/<id>"``.
    part
        ``"first"`` for a run's preview, else nothing.
    """
    from fairdash.runs import worker as runs
    from fairdash.runs.store import FIRST, Run

    job = runs.open_job(place.rpartition("/")[2])
    if part == FIRST and isinstance(job, Run):
        status = runs.work_at(job, runs.first_look, ends=False)
        queue.call(queue.LONG)
        return status
    if isinstance(job, Run):
        _wait_for_first_look(job)
    unit = Checkpoints(job.units, check=job.check_cancelled)
    while (status := runs.work_at(job, runs.WORK[type(job)], unit=unit)) == 0:
        if job.status_if_over is not None:
            break
        # Take over jobs of workers that stopped sending heartbeats.
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return status


def _wait_for_first_look(run: Run) -> None:
    """It has a lane of its own, and goes first."""
    while run.look is None and not run.is_cancelled():
        at = queue.once_it_is_there(lambda: queue.state_of(run.first_in_line))
        if at is None or not at.is_active:
            return
        queue.see_to(queue.QUICK)
        time.sleep(queue.POLL[queue.QUICK])


def _work(lane: str, parent: int | None) -> None:
    from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, error

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    # Stopping a job is no error; the log names who stopped it.
    logging.getLogger("dbos").addFilter(
        lambda record: (
            not (record.exc_info and isinstance(record.exc_info[1], error.DBOSAwaitedWorkflowCancelledError))
        )
    )
    queue.client()

    @DBOS.workflow(name=queue.WORKFLOW, max_recovery_attempts=MAX_DEATHS)
    def workflow(place: str, part: str) -> None:
        id = str(DBOS.workflow_id)
        begun = queue.once_it_is_there(lambda: queue.begun_at(id))
        try:
            status = carry_out(place, part)
        except Exception as fault:
            # The boundary of the process; a job that was deleted meanwhile ends here too.
            log.error("%s: %s", place, trace_of(fault))
            status = 1
        if status != 0:
            # It was stopped, or has failed and said so: it can go on from here, which what has ended can't.
            queue.once_it_is_there(lambda: queue.give_up(id, begun=begun))
            raise error.DBOSWorkflowCancelledError(place)

    DBOS(
        config=DBOSConfig(
            name="fairdash",
            system_database_url=queue.database_url(),
            serializer=DBOSPortableJSONSerializer(),
            application_version=queue.VERSION,
            executor_id=queue.worker_at(lane),
            run_migrations=False,
            log_level="WARNING",
        )
    )
    DBOS.listen_queues([lane])
    _import_all(lane)
    limit_memory()
    if queue.is_shared():
        queue.beat(queue.worker_at(lane))
    DBOS.launch()
    if lane != queue.STUDIES:
        # Where the app is not, terms hold too.
        from fairdash.runs.deletion import keep_enforcing

        keep_enforcing()
    try:
        _stand_by(lane, parent)
    finally:
        DBOS.destroy()


def _stand_by(lane: str, parent: int | None) -> None:
    """Let DBOS work until the queue was empty for a while, or the parent process has died.

    A database that is away ends nothing: DBOS has each job wait for it, and so does this.
    """
    quiet_since = looked = there_since = time.monotonic()
    is_away = False
    hand = _Hand()
    while time.monotonic() - quiet_since < SECONDS_TO_WAIT:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        if parent is not None and os.getppid() != parent:
            return
        try:
            if parent is not None or queue.is_needed(lane):
                quiet_since = time.monotonic()
            if not queue.is_shared() or time.monotonic() - looked < SECONDS_BETWEEN_BEATS:
                continue
            looked = time.monotonic()
            queue.beat(queue.worker_at(lane))
            if lane == queue.LONG:
                hand.lend()
            if is_away:
                log.warning("the database is back")
                is_away = False
            # Nobody could beat while it was away: others get the time to.
            if time.monotonic() - there_since > queue.SECONDS_TO_LIVE:
                queue.take_over(lane)
        except queue.AwayError as error:
            if not is_away:
                log.warning("%s", error)
            is_away = True
            quiet_since = there_since = time.monotonic()


class _Hand:
    """A helper process that an idle worker lends to another machine's run, one run at a time."""

    def __init__(self) -> None:
        self.run = ""
        self.process: subprocess.Popen[bytes] | None = None

    def lend(self) -> None:
        """Work on a run of another machine while this machine has no run of its own."""
        from fairdash.runs.worker import start_helper

        other = queue.of_another_machine(queue.LONG, seconds=SECONDS_BEFORE_A_HAND)
        if other == self.run:
            return
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.run = other
        self.process = start_helper(other) if other else None


def _import_all(lane: str) -> None:
    """Everything that a job of the lane needs, before there is one; beyond it the memory is limited."""
    import fairdash.runs.worker

    if lane != queue.STUDIES:
        import fairdash.evaluation.execute_sweep
        import fairdash.training.stack  # noqa: F401
    if lane == queue.QUICK and not queue.is_needed(lane):
        _rehearse()


def _rehearse() -> None:
    """Run the smallest preview: torch and others load much of themselves when it is first used."""
    from fairdash.data.source import CatalogueSource
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.training.sweep import default_plan, preview_of

    dataset = CatalogueSource(dataset="household", options={"n": 100}).load()
    plan = preview_of(default_plan(dataset))
    settings = replace(plan.settings, n_epochs=2, warm_up_epochs=1)
    execute_sweep(dataset, replace(plan, lams=plan.lams[:1], settings=settings), is_preview=True)


if __name__ == "__main__":
    # Somebody waits for what is in the quick lane.
    detached.lower_priority(by=5 if sys.argv[1] == queue.QUICK else 10)
    sys.exit(main(sys.argv[1], parent=int(sys.argv[2]) if len(sys.argv) > 2 else None))
