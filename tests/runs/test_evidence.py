"""A run is evidence: changes are named, results survive a failed write, and damage is never guessed away."""

import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from fairdash.errors import RunError, StorageError
from fairdash.jobs import cancellation
from fairdash.runs import launch, state, store, worker
from fairdash.runs.launch import cancel, start_run
from fairdash.runs.listing import list_runs
from fairdash.runs.state import DONE, FAILED, QUEUED, RUNNING, RunStatus, write_status
from fairdash.runs.store import Run, create_run
from fairdash.storage import data_folder, make_private
from tests.runs.test_runs import PLAN, SOURCE

pytestmark = pytest.mark.usefixtures("light_runs")

LEAST = replace(PLAN, methods=("standard", "pearson"), lams=(1.0,), n_splits=1)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Home of a finished run with a preview."""
    home = tmp_path_factory.mktemp("evidence") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(home))
        assert worker.main(create_run(SOURCE, LEAST, first=LEAST).id) == 0
    return home


@pytest.fixture
def run(template: Path) -> Run:
    shutil.copytree(template, data_folder("runs").parent)
    (found,) = list_runs().runs
    return found


def flipped(content: bytes, bit: int) -> bytes:
    found = bytearray(content)
    found[bit // 8] ^= 1 << bit % 8
    return bytes(found)


def open_all(run: Run) -> None:
    """Read all that a page reads of a run."""
    again = Run(run.id)
    again.spec  # noqa: B018 (reading it is the test)
    again.stored_status()
    again.read_result()


def test_a_flipped_bit_in_any_stored_file_is_detected_and_the_file_is_named(run: Run) -> None:
    other = create_run(SOURCE, PLAN)
    kept = [path for part in ("result", "first") for path in (run.folder / part).iterdir()]
    kept += [run.folder / "spec.json", run.folder / "status.json"]
    names = {path.name for path in kept}
    assert {"rows.safetensors", "curves.jsonl", "about.json", "members.parquet"} <= names
    for path in kept:
        content = path.read_bytes()
        if path.parent.name == "first":
            # The preview is read if there is no result.
            (run.folder / "result").rename(run.folder / "aside")
        for bit in (3, 4 * len(content), 8 * len(content) - 2):
            path.write_bytes(flipped(content, bit))
            with pytest.raises(RunError, match="damaged") as raised:
                open_all(run)
            # If the file of hashes was changed, the message names the file that it no longer matches.
            assert path.name in str(raised.value) or path.name == "sha256.json", (path, bit)
        path.write_bytes(content)
        open_all(run)
        if path.parent.name == "first":
            (run.folder / "aside").rename(run.folder / "result")
    other.spec  # noqa: B018


def failing(times: int, write: Callable[..., None]) -> tuple[list[int], Callable[..., None]]:
    """A writer that fails this number of times because the disk is full."""
    asked: list[int] = []

    def attempt(*args: object, **options: object) -> None:
        asked.append(1)
        if len(asked) <= times:
            raise StorageError.of("a file can't be kept (No space left on device)", "Free some space.")
        write(*args, **options)

    return asked, attempt


def test_a_run_retries_and_finishes_after_the_disk_was_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full while the run writes its progress and while it writes its result."""
    monkeypatch.setattr(state, "SECONDS_BETWEEN_TRIES", 0.0)
    monkeypatch.setattr(cancellation, "SECONDS_BETWEEN_CHECKS", 0.0)
    run = create_run(SOURCE, LEAST)
    told, tell = failing(5, state.write_status)
    monkeypatch.setattr(state, "write_status", tell)
    wrote, write = failing(3, store.write_result)
    monkeypatch.setattr(store, "write_result", write)
    assert (worker.main(run.id), len(wrote)) == (0, 4)
    assert len(told) > 5
    assert Run(run.id).status.state == DONE
    open_all(run)
    assert {path.name for path in run.folder.iterdir()} <= {
        "process.json", "result", "spec.json", "status.json", "worker.lock", "log.json", "log.jsonl", "log.lock",
    }  # fmt: skip


def test_a_run_fails_with_the_cause_when_the_disk_stays_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SECONDS_BETWEEN_TRIES", 0.0)
    monkeypatch.setattr(state, "SECONDS_TO_RETRY", 0.0)
    run = create_run(SOURCE, LEAST)
    _, write = failing(10**6, store.write_result)
    monkeypatch.setattr(store, "write_result", write)
    assert (worker.main(run.id), run.status.state) == (1, FAILED)
    assert "No space left on device" in run.status.message


def test_a_finished_run_is_not_trained_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is started again on the run, whose data have changed by now, does nothing."""
    before = (run.folder / "status.json").read_bytes()
    monkeypatch.setattr(worker, "_train", None)
    assert (worker.main(run.id), (run.folder / "status.json").read_bytes()) == (0, before)
    assert run.status.state == DONE


def test_the_state_of_a_run_does_not_depend_on_file_times() -> None:
    run = create_run(SOURCE, PLAN)
    for seconds in (-86_400, 86_400):
        then = time.time() + seconds
        os.utime(run.folder / "status.json", (then, then))
        assert run.status.state == QUEUED


def test_simultaneous_requests_for_the_same_run_share_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(launch, "enqueue", lambda job: started.append(job.id))
    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(lambda _: start_run(SOURCE, PLAN, first=PLAN).id, range(10)))
    (one,) = {*found, *started}
    assert [run.id for run in list_runs().runs] == [one]
    assert start_run(SOURCE, PLAN).id != one, "another plan is another run"
    assert start_run(SOURCE, PLAN, first=PLAN, owner="somebody").id != one, "another owner has another run"
    cancel(Run(one))
    again = start_run(SOURCE, PLAN, first=PLAN)
    assert again.id != one, "what is about to stop is not what is asked for"
    write_status(again.folder, RunStatus(state=FAILED))
    assert start_run(SOURCE, PLAN, first=PLAN).id != again.id, "what is over is trained again"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_folders_readable_by_other_users_are_made_private(run: Run) -> None:
    assert make_private() == ()
    data_folder("runs").chmod(0o777)
    assert (make_private(), data_folder("runs").stat().st_mode & 0o777) == ((data_folder("runs"),), 0o700)


def test_a_run_counts_as_done_when_its_worker_died_after_writing_the_result(run: Run) -> None:
    write_status(run.folder, RunStatus(state=RUNNING, doing="writing the result", fraction=1.0))
    assert (run.status.state, worker.main(run.id), run.status.state) == (DONE, 0, DONE)
