"""Two owners: the data of one owner don't exist for the other, whatever the request and the endpoint."""

import ast
import json
import re
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import pytest

from fairdash.__main__ import main
from fairdash.data import build_dataset, uploads
from fairdash.data.source import UploadSource, load_source, save_source, sources_folder
from fairdash.errors import FairdashError, RunError, StorageError
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.evaluation.result import SweepResult
from fairdash.runs import deletion
from fairdash.runs.deletion import delete_file_and_derived, derived_from_file
from fairdash.runs.launch import cancel, resume, start_run
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob, create_model, find_model
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.state import DONE, RunStatus, write_status
from fairdash.runs.store import Job, Run, RunSpec
from fairdash.storage import LOCAL, check_owner, log
from fairdash.ui import cached
from tests.runs.test_runs import LAM
from tests.serving import ROOT, until
from tests.test_canary import PLAN, ROLES, table

ANNE, BEN = "a" * 32, "b" * 32


def upload_for(owner: str, *, days: int | None = 30) -> UploadSource:
    content = table().to_csv(index=False).encode()
    kept = uploads.keep_upload(content, name=f"secret-{owner[0]}.csv", keep_days=days, owner=owner)
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=ROLES)


@cache
def found() -> SweepResult:
    """The result of a preview on the table that both owners have."""
    return execute_sweep(build_dataset(table(), ROLES, name="table"), PLAN, is_preview=True)


def make_for(owner: str) -> tuple[UploadSource, Run, SearchJob, ModelJob]:
    """An upload, its data source, a finished run, a search and a model of one owner."""
    source = upload_for(owner)
    save_source(source, owner=owner)
    run = Run.create(RunSpec(source=source, plan=PLAN, owner=owner))
    run.write_result(found())
    write_status(run.folder, RunStatus(state=DONE, fraction=1.0))
    search = create_search(source, LAM, owner=owner)
    model = create_model(source, PLAN, run=run.id, method="hgr_nn", lam=1.0, owner=owner)
    return source, run, search, model


def message(job: type[Job], id: str, owner: str) -> str:
    with pytest.raises(RunError) as caught:
        job(id, owner=owner)
    return str(caught.value)


def test_data_of_other_owners_behave_as_if_they_did_not_exist() -> None:
    source, *jobs = make_for(ANNE)
    for job in jobs:
        kind = type(job)
        assert kind(job.id, owner=ANNE).id == kind(job.id).id == job.id
        for stranger in (BEN, LOCAL):
            assert message(kind, job.id, stranger) == message(kind, "0" * 12, stranger)
    assert [run.id for run in list_runs(owner=ANNE).runs] == [jobs[0].id]
    at = {"run": jobs[0].id, "method": "hgr_nn", "lam": 1.0}
    assert find_model(**at, owner=ANNE) is not None
    for stranger in (BEN, LOCAL):
        assert list_runs(owner=stranger).runs == uploads.list_uploads(owner=stranger) == ()
        assert find_model(**at, owner=stranger) is None
        with pytest.raises(StorageError) as unknown:
            load_source("0" * 16, owner=stranger)
        with pytest.raises(StorageError, match=f"^{re.escape(str(unknown.value))}$"):
            load_source(source.id, owner=stranger)
        for look in (uploads.check_stored, lambda *of, owner: uploads.set_retention(*of, None, owner=owner)):
            with pytest.raises(StorageError, match="not stored here any more"):
                look(source.sha256, owner=stranger)


@pytest.mark.parametrize(("first", "second"), [(ANNE, BEN), (ANNE, LOCAL)])
def test_two_owners_of_identical_files_keep_and_delete_them_independently(first: str, second: str) -> None:
    (source, *jobs), (others, *other_jobs) = make_for(first), make_for(second)
    assert (source.sha256, len(uploads.list_uploads(owner=None))) == (others.sha256, 2)
    assert [each.name for each in uploads.list_uploads(owner=first)] == [f"secret-{first[0]}.csv"]
    folders = derived_from_file(source.sha256, owner=first).folders
    assert {folder.name for folder in folders} == {job.id for job in jobs}
    delete_file_and_derived(source.sha256, owner=first)
    assert not any(job.folder.exists() for job in jobs)
    assert all(job.folder.is_dir() for job in other_jobs)
    assert (uploads.owners_of(source.sha256), load_source(others.id, owner=second)) == ({second}, others)
    assert not any(sources_folder(first).glob("*.json"))
    delete_file_and_derived(source.sha256, owner=second)
    assert uploads.list_uploads(owner=None) == ()
    with pytest.raises(StorageError):
        uploads.read_upload(source.sha256)


@pytest.mark.parametrize("text", ["", "..", "a" * 31, "A" * 32, f"{'a' * 32}/..", "local/x"])
def test_an_invalid_owner_id_is_refused_and_never_used_as_a_path(text: str) -> None:
    keep = partial(uploads.keep_upload, b"a,b\n1,2\n", name="x.csv")
    for use in (lambda: check_owner(text), lambda: sources_folder(text), lambda: keep(owner=text)):
        with pytest.raises(StorageError, match="id of an owner"):
            use()


def test_the_command_line_acts_as_the_local_owner_unless_another_is_given(capsys, tmp_path) -> None:
    _, run, *_ = make_for(ANNE)
    place = tmp_path / "report.html"
    errors = []
    for asked in ([run.id], ["0" * 12], [run.id, "--owner", BEN], [run.id, "--owner", "../x"]):
        assert main(["report", *asked, "--out", str(place)]) == 2
        errors.append(capsys.readouterr().err)
    assert errors[0] == errors[1]
    assert not place.exists()
    assert main(["report", run.id, "--owner", ANNE, "--out", str(place)]) == 0
    (*_, last) = log.read(run.folder).events
    assert (last.who, last.what, last.details["file"]) == (ANNE, "exported", "report.html")
    assert b"Log of this run" in place.read_bytes()


#: Functions that open or list data of an owner.
QUERIES = {
    *("Run", "SearchJob", "ModelJob", "list_runs", "find_model", "load_source", "save_source"),
    *("list_uploads", "keep_upload", "set_retention", "check_kept", "made_from", "delete_made_from"),
    *("start_run", "start_search", "start_model", "delete_upload"),
    *("AuditJob", "start_audit", "RepairJob", "find_repair"),
}


def test_pages_and_commands_pass_an_owner_to_every_query() -> None:
    files = [*(ROOT / "fairdash" / "ui").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    files += (ROOT / "fairdash" / "cli").glob("*.py")
    nodes = ((path, node) for path in files for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    silent, found = [], set()
    for path, call in ((path, node) for path, node in nodes if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if name in QUERIES:
            found.add(name)
            if not any(keyword.arg == "owner" for keyword in call.keywords):
                silent.append(f"{path.relative_to(ROOT)}:{call.lineno} {name}")
    assert {"Run", "list_runs", "load_source", "start_run", "keep_upload"} <= found
    assert silent == []


def test_the_log_records_user_action_and_data_of_every_event() -> None:
    source = upload_for(ANNE)
    run = start_run(source, PLAN, owner=ANNE)
    start_run(source, PLAN, owner=ANNE)
    cancel(run)
    write_status(run.folder, RunStatus(state="cancelled"))
    resume(run)
    found = log.read(run.folder)
    assert found.is_whole
    done = [(event.who, event.what) for event in found.events]
    expected = [(ANNE, "asked for"), (ANNE, "asked to stop"), (log.WORKER, "stopped"), (ANNE, "gone on")]
    assert (done[:2], [each for each in done if each in expected]) == (expected[:2], expected)
    assert source.sha256 in found.events[0].in_words
    assert found.events[0].details["columns"]["target"] == ROLES.target


def noted(folder: Path) -> list[str]:
    (folder / "spec.json").touch()
    for k in range(4):
        log.note(folder, f"event {k}", who=LOCAL)
    return (folder / log.LOG).read_text().splitlines()


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], lines[1].replace("event", "Event"), *lines[2:]],
        lambda lines: [*lines[:3], lines[3].replace("event", "Event")], lambda lines: [lines[0], *lines[2:]],
        lambda lines: lines[:-1], lambda lines: [lines[0], lines[2], lines[1], lines[3]],
        lambda lines: ["{", *lines], lambda lines: [],
    ],
)  # fmt: skip
def test_an_altered_log_is_reported(change, tmp_path: Path) -> None:
    lines = noted(tmp_path)
    assert log.read(tmp_path).is_whole
    (tmp_path / log.LOG).write_text("".join(f"{line}\n" for line in change(lines)))
    assert not log.read(tmp_path).is_whole


def test_a_log_write_failure_is_reported_without_raising_an_error(tmp_path, monkeypatch, caplog) -> None:
    noted(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise StorageError.of("a file can't be kept (No space left on device)", "Free some space.")

    monkeypatch.setattr(log, "write_whole", full)
    log.note(tmp_path, "exported", who=LOCAL)
    assert "could not log for" in caplog.text
    assert log.read(tmp_path).is_whole


def expire(home: Path) -> None:
    """Pretend that everything was uploaded long ago."""
    for path in (home / "uploads").glob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"kept_at": "2020-01-01T00:00:00+00:00"}))


def is_in_memory(source: UploadSource) -> bool:
    with suppress(FairdashError):
        return cached._load(source) is not None
    return False


def test_retention_terms_apply_when_no_user_is_connected(tmp_path: Path) -> None:
    source, *jobs = make_for(ANNE)
    cached.dataset_of(source, owner=ANNE)
    end = deletion.start_deletion_thread(seconds=0.05, then=cached.drop_deleted_entries)
    try:
        assert jobs[0].folder.is_dir()
        expire(tmp_path / "home")
        until(lambda: not any(job.folder.exists() for job in jobs) and not uploads.list_uploads(owner=None))
        until(lambda: not is_in_memory(source))
    finally:
        end()
