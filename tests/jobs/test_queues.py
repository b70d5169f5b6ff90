"""Jobs wait in a queue, survive the end of their process, and resume after the last finished unit."""

import os
import re
import signal
import sqlite3
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairdash.cli import worker as queue_worker
from fairdash.data import UploadSource, keep_upload
from fairdash.data.source import CatalogueSource
from fairdash.errors import StorageError
from fairdash.evaluation.result import SweepResult
from fairdash.jobs import queue
from fairdash.runs import worker
from fairdash.runs.launch import cancel, resume, start_run
from fairdash.runs.listing import list_runs
from fairdash.runs.state import CANCELLED, DONE, QUEUED, RUNNING
from fairdash.runs.store import Run, create_run
from fairdash.storage import data_folder, make_parents
from tests.runs.test_resumed import assert_same
from tests.runs.test_runs import ENDLESS, PLAN, QUICK, SOURCE, wait
from tests.serving import until
from tests.tiers import few
from tests.ui.conftest import open_page

if sys.platform != "win32":
    import fcntl

#: A run of several seconds and about a dozen units.
LONGER = replace(
    PLAN, methods=("standard", "hgr_spline"), lams=(1.0,), n_splits=1, settings=replace(QUICK, n_epochs=20)
)


def source(n: int = 200) -> UploadSource:
    """A table with two sensitive columns, for which no references are trained, to halve the time of a run."""
    rng = np.random.default_rng(0)
    table = CatalogueSource(dataset="household", options={"n": n}).load().table()
    table = table.assign(Income=rng.normal(30, 5, n).round(2))
    upload = keep_upload(table.to_csv(index=False).encode(), name="household.csv")
    roles = replace(SOURCE.load().roles, sensitive=("Age", "Income"))
    return UploadSource(sha256=upload.sha256, name=upload.name, roles=roles)


def processes(queue_name: str) -> list[int]:
    """The worker processes of a queue of this test's home."""
    home, found = os.environ["FAIRDASH_HOME"].encode(), []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes().split(b"\0")
            if queue_name.encode() in command and home in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue  # it has ended since
    return found


def kill(queue_name: str) -> None:
    (process,) = processes(queue_name)
    os.kill(process, signal.SIGKILL)
    # Its memory is released slightly before its files are closed.
    until(lambda: not processes(queue_name) and not queue.is_locked(queue.lock_of(queue_name)))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(tmp_path_factory.mktemp("undisturbed") / "home"))
        run = create_run(source(), LONGER)
        assert worker.main(run.id) == 0
        return run.read_result()


def units(run: Run) -> dict[str, tuple[int, int]]:
    """Stored units, with the time of writing and the place on disk."""
    whole = (path for path in run.units.glob("*") if len(path.name) == 64)
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in whole}


@pytest.mark.processes
@pytest.mark.parametrize("kills", few([(1,), (1, 5)], (1,)), ids=str)
def test_a_run_whose_process_is_killed_gives_the_same_result_as_an_undisturbed_run(
    undisturbed: SweepResult, kills: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standby process takes the run and a second process resumes it; the database never contains data rows."""
    monkeypatch.delenv("FAIRDASH_NO_STANDBY")
    queue.prepare(queue.LONG)
    until(lambda: processes(queue.LONG))
    queue.prepare(queue.LONG)
    run = start_run(source(), LONGER)
    kept: dict[str, tuple[int, int]] = {}
    for n in kills:
        until(lambda n=n: len(units(run)) >= n or run.status.is_over)
        kill(queue.LONG)
        assert run.status.state == RUNNING, "it goes on as soon as somebody looks"
        again = [name for name in kept if units(run)[name] != kept[name]]
        assert len(again) <= 1, "one may have been kept, and killed before it was recorded"
        kept = units(run)
        queue.ensure_workers()
    assert (wait(run).state, len(processes(queue.LONG))) == (DONE, 1)
    assert_same(run.read_result(), undisturbed)
    until(lambda: not run.units.exists())
    curves = run.curves()
    assert not curves.duplicated(["method", "lam", "epoch"]).any()
    assert_no_rows_in_the_database()


def assert_no_rows_in_the_database() -> None:
    """The database contains only ids, states and hashes, and therefore needs no secure deletion."""
    with sqlite3.connect(data_folder("jobs.sqlite")) as database:
        tables = ("operation_outputs", "output"), ("workflow_input", "inputs")
        written = [
            row[0] for table, what in tables for row in database.execute(f"SELECT {what} FROM {table}")
        ]
    assert written
    assert all(len(each) < 120 for each in written)
    assert data_folder("jobs.sqlite").stat().st_mode & 0o077 == 0


def test_a_stopped_run_resumes_after_its_last_step(undisturbed: SweepResult) -> None:
    run = start_run(source(), LONGER)
    until(lambda: len(units(run)) >= 3)
    cancel(run)
    until(lambda: run.stored_status().is_over)
    status = run.status
    assert status.state == CANCELLED
    assert 0 < status.fraction < 1
    kept = units(run)
    assert len(kept) >= 3
    assert run.can_go_on
    resume(run)
    assert wait(run).state == DONE
    assert not run.can_go_on
    until(lambda: (at := queue.state_of(run.id)) is not None and not at.is_active)
    assert_same(run.read_result(), undisturbed)


def test_runs_execute_one_at_a_time_and_previews_run_before_waiting_runs() -> None:
    first, second = start_run(SOURCE, ENDLESS), start_run(SOURCE, replace(ENDLESS, lams=(2.0,)))
    wait(first, lambda status: status.fraction > 0)
    least = replace(PLAN, methods=("standard", "pearson"), lams=(1.0,), n_splits=1)
    third = start_run(SOURCE, least, first=least)
    assert (second.status.state, second.status.before, third.status.before) == (QUEUED, 1, 2)
    assert re.fullmatch(r"waiting for the run on “.*” \(\d+% done\)", second.status.doing)
    assert re.fullmatch(r"waiting for the run on .* and 1 more job", third.status.doing)
    other = start_run(SOURCE, ENDLESS, owner="ab" * 16)
    assert other.status.doing == "waiting for another user's job and 2 more jobs"
    cancel(other)
    until(lambda: third.available_result == "first")
    assert second.status.state == QUEUED, "one at a time"
    before = (third.folder / "first" / "sha256.json").stat().st_mtime_ns
    for run in (second, first):
        cancel(run)
    assert wait(third).state == DONE
    assert first.status.state == second.status.state == CANCELLED
    assert (third.folder / "first" / "sha256.json").stat().st_mtime_ns == before


@pytest.mark.skipif(sys.platform == "win32", reason="nobody looks by a shared lock there")
def test_a_queue_process_starts_even_while_a_page_checks_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(queue_worker, "_work", lambda queue_name, parent: begun.append(queue_name))
    lock = queue.lock_of("long")
    make_parents(lock)
    lock.touch()
    # Hold the lock as is_locked does, which a page calls every second.
    handle = os.open(lock, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    threading.Timer(0.3, os.close, [handle]).start()
    assert (queue_worker.main("long"), begun) == (0, ["long"])
    assert not lock.exists(), "a lock that stays is of a process that died"


@pytest.mark.processes
def test_a_damaged_database_is_reported_and_finished_runs_stay_readable(done: Run) -> None:
    data_folder("jobs.sqlite").write_bytes(b"no database" * 1000)
    assert (done.status.state, done.read_result().predictions.shape) == (DONE, (2 + 4, 200))
    with pytest.raises(StorageError, match="rename it"):
        start_run(SOURCE, PLAN)


@pytest.mark.processes
def test_finished_runs_are_shown_without_the_database(done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRDASH_DATABASE", "postgresql://nobody@127.0.0.1:9/fairdash")
    with pytest.raises(StorageError, match="PostgreSQL of FAIRDASH_DATABASE responds"):
        start_run(SOURCE, replace(PLAN, random_state=1))
    # The lists show the requested run, whose progress is unknown without the database.
    for name, said in (("home", 1), ("runs", 1), ("tradeoff", 0)):
        at = open_page(name, run=done.id)
        assert not at.error
        lines = [each.value for each in (*at.markdown, *at.caption)]
        assert sum("waiting for the database, which can't be reached" in line for line in lines) == said


def test_listing_finished_runs_sends_no_database_query(done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page must not wait for the database."""
    monkeypatch.setattr(queue, "client", None)
    assert [run.status.state for run in list_runs().runs] == [DONE]
