"""Several machines with one PostgreSQL database: if one machine fails, another finishes its jobs."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fairdash.jobs import queue
from fairdash.runs import worker
from fairdash.runs.launch import cancel, start_run
from fairdash.runs.state import DONE, RUNNING
from fairdash.runs.store import create_run
from tests.conftest import missing
from tests.jobs.test_queues import LONGER, source, undisturbed, units
from tests.runs.test_resumed import assert_same
from tests.runs.test_runs import ENDLESS, PLAN, QUICK, SOURCE, wait
from tests.serving import until
from tests.ui.conftest import open_page

# Variants: without PostgreSQL, test_queues and test_resumed check that a killed job resumes.
pytestmark = [pytest.mark.variant, pytest.mark.processes]
__all__ = ["undisturbed"]

Process = subprocess.Popen[bytes]
#: Length of the database outage; 40 s was tested by hand.
SECONDS_AWAY = float(os.environ.get("FAIRDASH_TEST_SECONDS_AWAY", "5"))


def program(name: str) -> str:
    """Path of a PostgreSQL program, which Debian does not put on the PATH."""
    places = [os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    found = shutil.which(name, path=os.pathsep.join(places))
    if not found:
        missing("postgres", "no PostgreSQL found: install it")
    return str(found)


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server for one test, which can be started and killed.

    Parameters
    ----------
    control
        The command that starts and stops it, up to what it is to do.
    url
        Its address.
    """

    control: tuple[str, ...]
    url: str

    def start(self) -> None:
        subprocess.run([*self.control, "start"], check=True)

    def stop(self, *, check: bool = True) -> None:
        subprocess.run([*self.control, "-m", "immediate", "stop"], check=check)


@pytest.fixture
def postgres(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    """A PostgreSQL server that the app and its workers use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("postgres")
    place, log = folder / "data", folder / "log"
    user: list[str] = []
    if getpass.getuser() == "root":
        # PostgreSQL refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
        for above in (folder.parent, *folder.parent.parents[:-2]):
            above.chmod(above.stat().st_mode | 0o011)
    subprocess.run([*user, program("initdb"), "-D", str(place), "-A", "trust", "-U", "fairdash"], check=True)
    control = [*user, program("pg_ctl"), "-D", str(place), "-w", "-s", "-l", str(log)]
    found = Postgres(
        control=(*control, "-o", f"-p {port} -k {folder} -h 127.0.0.1"),
        url=f"postgresql://fairdash@127.0.0.1:{port}/postgres",
    )
    found.start()
    monkeypatch.setenv("FAIRDASH_DATABASE", found.url)
    try:
        yield found
    finally:
        found.stop(check=False)


@pytest.fixture
def machine(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Process]]:
    """Start a worker as an administrator does, in a separate session; the app runs on machine a."""
    monkeypatch.setenv("FAIRDASH_MACHINE", "a")
    started: list[Process] = []

    def start(name: str) -> Process:
        command = [sys.executable, "-m", "fairdash", "worker", "--database", postgres.url, "--queues", "long"]
        environment = os.environ | {"FAIRDASH_MACHINE": name}
        started.append(subprocess.Popen(command, env=environment, start_new_session=True))
        return started[-1]

    yield start
    for each in started:
        end(each)


def end(process: Process) -> None:
    """Kill a machine with all processes that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def at_work(job: str) -> str:
    """The machine's process that runs a job; empty if it waits or has ended."""
    pending = (each for each in queue.active("long") if each.status == "PENDING")
    return next((each.executor_id or "" for each in pending if each.workflow_id == job), "")


def test_a_second_machine_finishes_the_job(machine: Callable[[str], Process], undisturbed: object) -> None:
    machines = {name: machine(name) for name in ("a", "b")}
    until(lambda: all(queue.is_locked(queue.lock_of("long").with_name(f"{m}-long.lock")) for m in machines))
    # One machine, whichever is ready first, is kept busy, so that the other takes the run.
    other = start_run(SOURCE, ENDLESS)
    until(lambda: at_work(other.id))
    run = start_run(source(), LONGER)
    until(lambda: len(units(run)) >= 2)
    mine, others = at_work(run.id), at_work(other.id)
    assert {mine, others} == {"a-long", "b-long"}
    cancel(other)
    end(machines[mine[0]])
    assert wait(run).state == DONE
    assert_same(run.read_result(), undisturbed)


def at_steps() -> set[str]:
    """Machines that compute steps of runs."""
    return {each.executor_id or "" for each in queue.active(queue.STEPS) if each.status == queue.AT_WORK}


def test_machines_share_the_steps_of_a_run_and_failures_lose_none(machine: Callable[[str], Process]) -> None:
    machines = {name: machine(name) for name in ("a", "b")}
    until(lambda: all(queue.is_locked(queue.lock_of("long").with_name(f"{m}-long.lock")) for m in machines))
    # The estimated time is long enough to share the run, which has no references.
    table = source(10_000)
    plan = replace(LONGER, settings=replace(QUICK, batch_size=1024, n_epochs=330))
    assert worker.is_worth_sharing(table.load(), plan)
    run = start_run(table, plan)
    until(lambda: at_work(run.id))
    until(lambda: {"a-long", "b-long"} <= at_steps())
    other = next(name for name in machines if f"{name}-long" != at_work(run.id))
    end(machines[other])
    assert wait(run).state == DONE
    alone = create_run(table, plan)
    assert worker.main(alone.id) == 0
    assert_same(run.read_result(), alone.read_result())
    until(lambda: not queue.active(queue.STEPS))


def test_a_database_outage_neither_ends_a_run_nor_changes_the_result(
    postgres: Postgres, machine: Callable[[str], Process], undisturbed: object
) -> None:
    machine("a")
    until(lambda: queue.is_locked(queue.lock_of("long")))
    run = start_run(source(), LONGER)
    waiting = start_run(SOURCE, replace(PLAN, random_state=1))
    until(lambda: len(units(run)) >= 2)
    postgres.stop()
    assert run.status.state in (RUNNING, DONE), "what is at work needs no database"
    assert waiting.status.doing == "waiting for the database, which can't be reached"
    page = open_page("train", run=waiting.id)
    assert "Waiting for the database, which can't be reached" in page.get("progress")[0].proto.text
    with pytest.raises(queue.UnavailableError, match="can't be reached"):
        start_run(SOURCE, ENDLESS)
    time.sleep(SECONDS_AWAY)
    assert wait(run).state == DONE
    postgres.start()
    assert_same(run.read_result(), undisturbed)
    # The process survives and takes the next jobs.
    assert wait(waiting).state == DONE
    other = start_run(SOURCE, PLAN)
    assert wait(other).state == DONE


def test_a_terminated_or_killed_worker_leaves_no_child_processes(machine: Callable[[str], Process]) -> None:
    lock = queue.lock_of("long").with_name("a-long.lock")
    # A terminated worker exits cleanly, and the children of a killed worker notice its end.
    for tell, status in ((subprocess.Popen.terminate, 0), (subprocess.Popen.kill, -signal.SIGKILL)):
        one = machine("a")
        until(lambda: queue.is_locked(lock))
        tell(one)
        assert one.wait(timeout=20) == status
        until(lambda: not queue.is_locked(lock))
