"""Several machines at one PostgreSQL: what one of them leaves by dying, another finishes."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairdash.jobs import engine
from fairdash.runs.launch import start_run
from fairdash.runs.status import DONE
from tests.conftest import missing
from tests.jobs.test_lanes import LONGER, assert_equal, undisturbed, units, until
from tests.runs.test_runs import ENDLESS, SOURCE, wait

pytestmark = pytest.mark.serial
__all__ = ["undisturbed"]


def program(name: str) -> str:
    """Path of one of PostgreSQL's programs; Debian keeps them out of the way."""
    places = [os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    found = shutil.which(name, path=os.pathsep.join(places))
    if not found:
        missing("postgres", "no PostgreSQL found: install it")
    return str(found)


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a PostgreSQL of this test's own, which the app and its workers are told."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("postgres")
    place, log = folder / "data", folder / "log"
    user: list[str] = []
    if getpass.getuser() == "root":
        # It refuses to be run by root.
        user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
        for above in (folder.parent, *folder.parent.parents[:-2]):
            above.chmod(above.stat().st_mode | 0o011)
    control = [*user, program("pg_ctl"), "-D", str(place), "-w", "-s"]
    subprocess.run([*user, program("initdb"), "-D", str(place), "-A", "trust", "-U", "fairdash"], check=True)
    subprocess.run(
        [*control, "-l", str(log), "-o", f"-p {port} -k {folder} -h 127.0.0.1", "start"], check=True
    )
    url = f"postgresql://fairdash@127.0.0.1:{port}/postgres"
    monkeypatch.setenv("FAIRDASH_DATABASE", url)
    try:
        yield url
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False)


def machine(name: str, database: str) -> subprocess.Popen[bytes]:
    """A worker as an administrator starts it, in a session of its own."""
    command = [sys.executable, "-m", "fairdash", "worker", "--database", database, "--lanes", "long"]
    environment = os.environ | {"FAIRDASH_MACHINE": name}
    return subprocess.Popen(command, env=environment, start_new_session=True)


def test_what_a_machine_that_dies_was_at_the_other_finishes(
    database: str, undisturbed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines = {name: machine(name, database) for name in ("a", "b")}
    # The app is on the first of them, and starts no worker of its own beside it.
    monkeypatch.setenv("FAIRDASH_MACHINE", "a")
    try:
        until(
            lambda: all(
                engine.is_locked(engine.lock_of("long").with_name(f"{m}-long.lock")) for m in machines
            )
        )
        run, other = start_run(SOURCE, LONGER), start_run(SOURCE, ENDLESS)
        until(lambda: len(units(run)) >= 2)
        until(lambda: {each.executor_id for each in engine.active("long")} == {"a-long", "b-long"})
        at = {each.workflow_id: each.executor_id for each in engine.active("long")}
        other.ask_to_cancel()
        died = machines[at[run.id][0]]
        os.killpg(died.pid, signal.SIGKILL)
        died.wait()
        assert wait(run, lambda status: status.is_over, seconds=120).state == DONE
        assert_equal(run.read_result(), undisturbed)
    finally:
        for each in machines.values():
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()


def test_a_worker_that_is_told_to_end_leaves_nobody_behind(database: str) -> None:
    one = machine("a", database)
    lock = engine.lock_of("long").with_name("a-long.lock")
    until(lambda: engine.is_locked(lock))
    one.terminate()
    assert one.wait(timeout=20) == 0
    until(lambda: not engine.is_locked(lock), seconds=10)
    # And one that is killed outright: its children notice.
    one = machine("a", database)
    until(lambda: engine.is_locked(lock))
    one.kill()
    one.wait()
    until(lambda: not engine.is_locked(lock), seconds=30)
