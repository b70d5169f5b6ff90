"""``fairdash runs``, which offers the actions of the Runs page in a shell; a deleted run leaves no trace."""

import json
import threading
from pathlib import Path

import pytest

from fairdash.__main__ import main
from fairdash.errors import RunError, StorageError
from fairdash.jobs import queue
from fairdash.runs import deletion
from fairdash.runs.deletion import delete_run, derived_from_runs, last_deletion
from fairdash.runs.launch import cancel, enqueue, start_model
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob, create_model
from fairdash.runs.store import Run, create_run
from fairdash.storage import sha256
from tests.runs.finished import PLAN, SOURCE


def test_runs_are_listed_newest_first_and_damaged_ones(done: Run, capsys: pytest.CaptureFixture[str]) -> None:
    done.rename("the old one")
    newest, bad = create_run(SOURCE, PLAN), create_run(SOURCE, PLAN)
    (bad.folder / "spec.json").write_text("{")
    assert main(["runs", "list"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert [line[:12] for line in lines] == [newest.id, done.id]
    assert any("the old one, demographic_parity" in line and "done" in line for line in lines)
    assert bad.id in printed.err
    assert main(["runs", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["damaged"] == [bad.id]
    assert {each["id"]: each["state"] for each in found["runs"]} == {done.id: "done", newest.id: "queued"}


def test_runs_show_prints_plan_and_models_of_a_run(done: Run, capsys: pytest.CaptureFixture[str]) -> None:
    model = create_model(SOURCE, PLAN, run=done.id, method="pearson", lam=1.0)
    assert main(["runs", "show", done.id]) == 0
    said = capsys.readouterr().out
    assert model.id in said
    assert "Household" in said
    assert "defaults" not in said  # the defaults are those of today
    assert main(["runs", "show", done.id, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["plan"]["n_splits"], found["can_go_on"]) == (2, False)


def test_runs_commands_report_an_unknown_run_as_gone(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("show", "resume", "delete", "export"):
        for id in ("0123456789ab", "../../etc", ""):
            assert main(["runs", command, id]) == 2
            assert "This run is gone" in capsys.readouterr().err


def test_runs_resume_continues_a_stopped_run(done: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "resume", done.id]) == 2
    assert "nothing to resume" in capsys.readouterr().err
    stopped = create_run(SOURCE, PLAN)
    enqueue(stopped)
    cancel(stopped)
    stopped.units.mkdir()
    (stopped.units / f"{1:064x}").touch()
    assert (stopped.status.state, main(["runs", "resume", stopped.id, "--json"])) == ("cancelled", 0)
    assert json.loads(capsys.readouterr().out) == {"id": stopped.id, "goes_on": True}
    assert stopped.status.state == "queued"


def test_runs_delete_lists_what_will_be_deleted_and_asks_for_confirmation(
    done: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_model(SOURCE, PLAN, run=done.id, method="pearson", lam=1.0)
    assert main(["runs", "delete", done.id]) == 2
    printed = capsys.readouterr()
    assert "this run and 1 model made from it" in printed.out
    assert "--yes" in printed.err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "")
    assert (main(["runs", "delete", done.id]), len(list_runs().runs)) == (1, 1)
    assert main(["runs", "delete", done.id, "--json"]) == 2
    capsys.readouterr()
    assert main(["runs", "delete", done.id, "--yes", "--json"]) == 0
    gone = json.loads(capsys.readouterr().out)
    assert (gone["id"], gone["deleted"], len(gone["models"]), list_runs().runs) == (done.id, True, 1, ())


def test_exported_runs_can_be_imported(done: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "away" / "run.zip"
    assert main(["runs", "export", done.id, "--out", str(place), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"file": str(place), "bytes": place.stat().st_size, "sha256": sha256(place.read_bytes())}
    assert main(["runs", "import", str(place)]) == 0
    assert "already exists here" in capsys.readouterr().out
    assert (main(["runs", "delete", done.id, "--yes"]), main(["runs", "import", str(place)])) == (0, 0)
    assert done.id in capsys.readouterr().out
    capsys.readouterr()
    assert main(["report", done.id, "--out", str(tmp_path / "report.html"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == (tmp_path / "report.html").stat().st_size
    place.write_bytes(place.read_bytes()[:-1])
    assert main(["runs", "import", str(place)]) == 2
    assert main(["runs", "import", str(tmp_path / "none.zip")]) == 2
    assert "can't be read" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def _nobody_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "ensure_worker", lambda queue_name: None)


def model_of(run: Run) -> ModelJob:
    return start_model(SOURCE, PLAN, run=run.id, method="pearson", lam=1.0)


def naming(home: Path, id: str) -> list[Path]:
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path for path in files if id in str(path) or id.encode() in path.read_bytes()]


def test_a_deleted_run_leaves_no_file_that_names_it(done: Run, tmp_path: Path) -> None:
    run, other = done, create_run(SOURCE, PLAN)
    run.rename("one that goes")
    enqueue(run)
    models = [model_of(run), model_of(run)]
    (models[1].folder / "spec.json").write_text(f'cut off: "run": "{run.id}"')
    kept, before = model_of(other), last_deletion()
    assert derived_from_runs(run).jobs[ModelJob] == tuple(sorted(each.folder for each in models))
    delete_run(run)
    names = [run.id, *(each.id for each in models)]
    assert not any(map(queue.state_of, names))
    assert {path.name for id in names for path in naming(tmp_path / "home", id)} <= {"jobs.sqlite"}
    assert ([each.id for each in list_runs().runs], kept.spec.run) == ([other.id], other.id)
    assert last_deletion() != before
    with pytest.raises(RunError, match="gone"):
        Run(run.id)


def test_a_deleted_run_leaves_the_queue() -> None:
    run = create_run(SOURCE, PLAN, first=PLAN)
    enqueue(run)
    assert all(map(queue.state_of, run.workflow_ids))
    delete_run(run)
    assert not any(map(queue.state_of, run.workflow_ids))
    assert not run.folder.exists()


def test_deletion_stops_a_running_job_first() -> None:
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
    assert derived_from_runs(run).n_at_work == 1
    delete_run(run)
    assert heard.is_set()
    assert not run.folder.exists()


def test_a_failed_deletion_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    run = create_run(SOURCE, PLAN)

    def refuse(folder: Path) -> None:
        raise OSError(13, "Permission denied", str(folder))

    monkeypatch.setattr(deletion.shutil, "rmtree", refuse)
    with pytest.raises(StorageError, match="writable"):
        delete_run(run)
