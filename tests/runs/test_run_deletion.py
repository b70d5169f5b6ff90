"""Deleting a run: nothing of it remains, in its folder, in the line, or in models; others are as they were."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fairdash.errors import RunError, StorageError
from fairdash.jobs import queue
from fairdash.runs import deletion
from fairdash.runs.deletion import delete_run, last_deletion, made_in
from fairdash.runs.launch import put_in_line, start_model
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob
from fairdash.runs.store import Run, create_run
from tests.runs.finished import PLAN, SOURCE


@pytest.fixture(autouse=True)
def _nobody_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "see_to", lambda lane: None)


def model_of(run: Run) -> ModelJob:
    return start_model(SOURCE, PLAN, run=run.id, method="pearson", lam=1.0)


def naming(home: Path, id: str) -> list[Path]:
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path for path in files if id in str(path) or id.encode() in path.read_bytes()]


def test_nothing_of_it_remains(done: Run, tmp_path: Path) -> None:
    run, other = done, create_run(SOURCE, PLAN)
    run.rename("one that goes")
    put_in_line(run)
    models = [model_of(run), model_of(run)]
    (models[1].folder / "spec.json").write_text(f'cut off: "run": "{run.id}"')
    kept, before = model_of(other), last_deletion()
    assert made_in(run).jobs[ModelJob] == tuple(sorted(each.folder for each in models))
    delete_run(run)
    names = [run.id, *(each.id for each in models)]
    assert queue.states_of(names) == {}
    assert [
        path for id in names for path in naming(tmp_path / "home", id) if path.name != "jobs.sqlite"
    ] == []
    assert [each.id for each in list_runs().runs] == [other.id]
    assert kept.spec.run == other.id
    assert last_deletion() != before
    with pytest.raises(RunError, match="gone"):
        Run(run.id)


def test_one_that_waits_is_taken_out_of_the_line() -> None:
    run = create_run(SOURCE, PLAN, first=PLAN)
    put_in_line(run)
    assert queue.states_of(run.names_in_line).keys() == set(run.names_in_line)
    delete_run(run)
    assert queue.states_of(run.names_in_line) == {}
    assert not run.folder.exists()


def test_whoever_is_at_work_is_asked_to_stop_first() -> None:
    run = create_run(SOURCE, PLAN)
    begun, heard = threading.Event(), threading.Event()

    def work() -> None:
        with run.lock():
            begun.set()
            while not run.is_cancelled():
                heard.wait(0.05)
            heard.set()

    threading.Thread(target=work).start()
    assert begun.wait(10)
    assert made_in(run).n_at_work == 1
    delete_run(run)
    assert heard.is_set()
    assert not run.folder.exists()


def test_what_can_not_be_deleted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    run = create_run(SOURCE, PLAN)

    def refuse(folder: Path) -> None:
        raise OSError(13, "Permission denied", str(folder))

    monkeypatch.setattr(deletion.shutil, "rmtree", refuse)
    with pytest.raises(StorageError, match="writable"):
        delete_run(run)
