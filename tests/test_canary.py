"""A planted personal value appears only in the data, not in messages or logs; deletion removes it."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles, UploadSource, delete_upload, keep_upload, list_uploads, read_table
from fairdash.data.source import save_source
from fairdash.errors import FairdashError, StorageError
from fairdash.jobs import cancellation
from fairdash.jobs.cancellation import is_at_work
from fairdash.lab.studies import PROXIES, Study
from fairdash.runs import deletion, worker
from fairdash.runs.deletion import delete_expired, delete_file_and_derived
from fairdash.runs.launch import start_model, start_run
from fairdash.runs.models import create_model
from fairdash.runs.searches import create_search
from fairdash.runs.state import DONE, FAILED, QUEUED, RUNNING
from fairdash.runs.store import Run, create_run
from fairdash.runs.studies import create_study
from fairdash.storage import data_folder
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
from fairdash.ui import cached
from fairdash.utils.safe_csv import safe_csv
from tests.runs.changed_archives import unpacked
from tests.runs.test_runs import LAM, wait
from tests.runs.test_runs_command import naming
from tests.serving import until
from tests.ui.conftest import calm, click, open_page
from tests.ui.test_data_page import said, said_in_errors

pytestmark = pytest.mark.usefixtures("light_runs")

TEXT, NUMBER = "CANARY-Zoé-7391", 739173.0625
SMALL = {"hidden": (4,), "adversary_hidden": (4,), "batch_size": 64, "n_epochs": 4, "warm_up_epochs": 1}
PLAN = Sweep(lams=(1.0,), n_splits=1, settings=TrainingSettings(**SMALL), device="cpu")
ROLES = Roles(target="cost", sensitive=("age",), features=("power", "town"))


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 10, n).round(2), "power": rng.normal(5, 1, n).round(3)})
    frame["town"] = rng.choice(["Lyon", "Brest"], n)
    frame["cost"] = (frame["power"] * 10 + frame["age"]).round(2)
    frame.loc[[7, 40], "town"] = TEXT
    frame.loc[7, ["age", "power", "cost"]] = NUMBER
    return frame


def upload(frame: pd.DataFrame) -> UploadSource:
    kept = keep_upload(frame.to_csv(index=False).encode(), name="policies.csv")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=ROLES)


def holds_canary(content: bytes) -> bool:
    words = (TEXT, "7391-", "739173.06", "739,173.06", repr(NUMBER))
    planted = [word.encode(code) for word in words for code in ("utf-8", "utf-16-le", "cp1252")]
    planted += [np.array(NUMBER, kind).tobytes() for kind in ("<f8", ">f8")]
    return any(one in content for one in planted)


def files_with_canary(home: Path) -> set[str]:
    files = (path for path in home.rglob("*") if path.is_file())
    return {str(path.relative_to(home)) for path in files if any(map(holds_canary, decoded(path)))}


def test_a_planted_value_appears_only_in_data_files_from_upload_to_export(home: Path) -> None:
    source = upload(table())
    study = Study(PROXIES, source=source.to_json(), sensitive="age")
    assert worker.main(create_study(study).id) == 0
    run = start_run(source, PLAN)
    assert wait(run).state == DONE
    result = run.read_result()
    for exported in (result.frame, result.members):
        assert not holds_canary(safe_csv(exported))
    assert files_with_canary(home) == {
        f"uploads/{source.sha256}.upload",
        # The rows that pages draw are data too.
        f"runs/{run.id}/result/rows.safetensors",
    }


def test_a_downloaded_model_contains_no_cell_values_except_text_levels(home: Path) -> None:
    source = upload(table())
    job = start_model(source, PLAN, run="0" * 12, method="hgr_nn", lam=1.0)
    assert (wait(job).state, files_with_canary(home)) == (DONE, {f"uploads/{source.sha256}.upload"})
    files = unpacked((job.folder / "result" / "bundle.zip").read_bytes())
    # The cell value is escaped as in JSON; the README of the bundle mentions it, and no other file may
    # contain it.
    assert b"CANARY" in files.pop("model.safetensors")
    assert "every value that occurs in the columns of text" in " ".join(files["README.txt"].decode().split())
    for content in (*files.values(), *(path.read_bytes() for path in (home / "workers").glob("*.log"))):
        assert not holds_canary(content)
        assert b"CANARY" not in content


def test_error_messages_name_the_code_location_and_quote_no_cell(home, caplog, monkeypatch, capsys) -> None:
    caplog.set_level(logging.DEBUG)
    source = upload(table())
    messages = []

    def fails(source: UploadSource) -> str:
        run = create_run(source, PLAN)
        assert (worker.main(run.id), run.status.state) == (1, FAILED)
        messages.append(run.status.message)
        return messages[-1]

    def broken(*args: object, **options: object) -> None:
        raise ValueError(f"could not convert string to float: '{TEXT}'")

    with monkeypatch.context() as patch:
        patch.setattr(UploadSource, "load", broken)
        assert fails(source).rstrip(".").split()[-1] in caplog.text, "its number is told"
        study = Study(PROXIES, source=source.to_json(), sensitive="age")
        assert worker.main(create_study(study).id) == 1
    assert "ValueError" in caplog.text
    assert "test_canary.py" in caplog.text, "the place is told"
    bad = table().astype({"cost": object})
    bad.loc[3, "cost"] = TEXT
    assert "“cost”" in fails(upload(bad))
    delete_upload(source.sha256)
    assert "not stored here any more" in fails(source)
    printed = capsys.readouterr()
    assert not holds_canary("".join([*messages, caplog.text, printed.out, printed.err]).encode())
    assert all(name.startswith("uploads/") for name in files_with_canary(home))


def test_reports_on_reading_a_table_quote_no_cell() -> None:
    dataset = upload(table()).load()
    frame, report = read_table(table().to_csv(index=False).encode())
    assert len(frame) == 200
    said = "\n".join([*report.sentences(), *dataset.notes, repr(dataset)])
    assert not holds_canary(said.encode())


def test_a_page_error_is_logged_without_personal_values(caplog: pytest.LogCaptureFixture) -> None:
    from fairdash.ui.frame import plain_errors

    caplog.set_level(logging.DEBUG)
    with plain_errors():
        try:
            float(TEXT)
        except ValueError as error:
            raise KeyError(TEXT) from error
    assert "KeyError" in caplog.text
    assert "ValueError" in caplog.text
    assert not holds_canary(caplog.text.encode())


#: A run that continues until it is stopped.
ENDLESS = replace(PLAN, settings=replace(PLAN.settings, n_epochs=1_000_000))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def decoded(path: Path) -> Iterator[bytes]:
    """Contents of a file as bytes, or as text for a packed table; safetensors stores plain numbers."""
    yield path.read_bytes()
    if path.suffix == ".parquet":
        yield pd.read_parquet(path).to_csv().encode()


def with_canary(home: Path) -> set[str]:
    """Folders with a planted value, also inside archives and with JSON escapes."""
    found = {name.split("/")[0] for name in files_with_canary(home)}
    for path in (path for path in home.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if content.startswith(b"PK"):
            content = b"".join(unpacked(content).values())
        if b"CANARY" in content or holds_canary(content):
            found.add(path.relative_to(home).parts[0])
    return found


def make_everything(source: UploadSource) -> None:
    """Finish a run, a model, a search and a study, and cause an error that leaves files."""
    save_source(source)
    for job in (
        create_run(source, PLAN),
        create_model(source, PLAN, run="0" * 12, method="hgr_nn", lam=1.0),
        create_search(source, LAM),
    ):
        assert worker.main(job.id) == 0
    study = Study(PROXIES, source=source.to_json(), sensitive="age")
    assert worker.main(create_study(study).id) == 0
    damaged = create_run(source, PLAN)
    (damaged.folder / "spec.json").write_text(f"{source.sha256} cut off")
    (damaged.folder / ".result1").mkdir()
    table().to_parquet(damaged.folder / ".result1" / "rows.parquet", compression="zstd")
    kept = damaged.folder.parents[1] / "uploads"
    (kept / ".cut-off.part").write_bytes((kept / f"{source.sha256}.upload").read_bytes()[:5000])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, UploadSource]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(tmp_path_factory.mktemp("deletion") / "home"))
        source = upload(table())
        make_everything(source)
        return data_folder("runs").parent, source


@pytest.fixture
def everything(template: tuple[Path, UploadSource], home: Path) -> UploadSource:
    """A file from which everything was made, in the home of this test."""
    shutil.copytree(template[0], home)
    return template[1]


def test_the_button_delete_it_now_removes_all_traces_of_data(home: Path, everything: UploadSource) -> None:
    source, other = everything, keep_upload(b"a,b\n1,2\n", name="other.csv")
    kept = create_run(UploadSource(sha256=other.sha256, name="other.csv", roles=ROLES), PLAN)
    running = start_run(source, ENDLESS)
    assert wait(running, lambda status: status.state != QUEUED).state == RUNNING
    assert with_canary(home) == {"uploads", "runs", "models"}
    at = open_page("data", dataset=save_source(source))
    assert "3 runs, 1 model, 1 search, 1 background computation" in said(at)
    assert "Running jobs (1) are stopped first" in said(at)
    at = calm(click(at, "Delete it now"))
    assert (with_canary(home), naming(home, source.sha256)) == (set(), [])
    assert not running.folder.exists()
    assert [each.sha256 for each in list_uploads()] == [other.sha256] == [kept.spec.source.sha256]
    # No thread or process remains that could restore the data, and opening the page doesn't restore them
    # either.
    until(lambda: not any("_work" in each.name for each in threading.enumerate()))
    at.run()
    assert (with_canary(home), len(list_uploads())) == (set(), 1)


def test_deletion_kills_a_worker_process_that_ignores_the_stop_request(monkeypatch) -> None:
    monkeypatch.setattr(cancellation.end_process, "__kwdefaults__", {"seconds": 0.2})
    source = upload(table())
    run = create_run(source, PLAN)
    deaf = "from fairdash.runs import worker; import time; worker.WORK = {worker.Run: lambda *_: time.sleep(99)}; "
    process = subprocess.Popen([sys.executable, "-c", f"{deaf}worker.main('{run.id}')"], env=os.environ)
    try:
        until(lambda: is_at_work(run.folder))
        delete_file_and_derived(source.sha256)
        assert process.wait(timeout=10) != 0
    finally:
        process.kill()
    assert not run.folder.exists()


def test_a_worker_that_starts_work_after_deletion_does_not_restore_the_run(home: Path) -> None:
    source = upload(table())
    run = create_run(source, PLAN)
    late = worker.open_job(run.id)
    delete_file_and_derived(source.sha256)
    assert worker.work_at(late, worker._train) == 1
    assert not run.folder.exists()


def looks(source: UploadSource, run: Run) -> list[Callable[[], object]]:
    """All data of a file and a run that a server holds in memory."""
    return [
        lambda: cached.dataset_of(source), lambda: cached.summary_of(source),
        lambda: cached.upload_of(source.sha256, source.name, source.reading),
        lambda: cached.contents_of(source.sha256), lambda: cached.result_of(run),
        lambda: cached.fronts_of(run, sensitive="age"),
    ]  # fmt: skip


def test_another_server_process_stops_showing_deleted_data() -> None:
    source = upload(table())
    run = create_run(source, PLAN)
    assert worker.main(run.id) == 0
    # The data are in the memory of this process, as of any process that has shown them.
    assert cached.dataset_of(source).n_rows == len(cached.result_of(run).target) == 200
    assert cached.upload_of(source.sha256, source.name, source.reading)[1].n_rows == 200
    cached.contents_of(source.sha256)
    code = f"from fairdash.runs.deletion import delete_file_and_derived as delete; delete('{source.sha256}')"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
    for look in (*looks(source, run), lambda: cached._load(source)):
        with pytest.raises(FairdashError):
            look()


def test_a_browser_window_that_still_holds_a_deleted_file_does_not_restore_it() -> None:
    at = open_page("data").segmented_control(key="data.choice table").set_value("upload").run()
    content = table().to_csv(index=False).encode()
    at = at.file_uploader[0].set_value(("policies.csv", content, "text/csv")).run()
    (kept,) = list_uploads()
    delete_file_and_derived(kept.sha256)
    at = at.run()
    assert list_uploads() == ()
    assert "not stored here any more" in said_in_errors(at)
    # If the user uploads the file again, it is a new file.
    at = at.run()
    at = at.file_uploader[0].set_value(("policies.csv", content, "text/csv")).run()
    assert [each.sha256 for each in list_uploads()] == [kept.sha256]


def test_expiry_of_the_retention_term_deletes_everything_made_from_the_file(home, everything) -> None:
    (kept,) = list_uploads()
    assert (delete_expired(), with_canary(home)) == (0, {"uploads", "runs", "models"})
    assert (delete_expired(now=kept.kept_at + timedelta(days=31)), with_canary(home)) == (1, set())
    assert naming(home, everything.sha256) == []


def test_an_interrupted_deletion_is_completed_later(home, everything, monkeypatch) -> None:
    def cut_off(folder: Path) -> None:
        raise OSError(28, "No space left on device", str(folder))

    with monkeypatch.context() as patch:
        patch.setattr(deletion.shutil, "rmtree", cut_off)
        with pytest.raises(StorageError, match="Not everything can be deleted"):
            delete_file_and_derived(everything.sha256)
    assert with_canary(home) == {"runs", "models"}
    deletion.process_deletions()
    assert (with_canary(home), naming(home, everything.sha256)) == (set(), [])


def test_remains_of_a_killed_upload_are_deleted_after_an_hour(home: Path) -> None:
    killed = (
        "import os, signal, sys; from fairdash.data import keep_upload; write = os.replace\n"
        "def replace(a, b): write(a, b) if str(b).endswith('.json') else os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.replace = replace; keep_upload(sys.stdin.buffer.read(), name='policies.csv')"
    )
    content = safe_csv(table())
    process = subprocess.run([sys.executable, "-c", killed], input=content, env=os.environ, check=False)
    assert (process.returncode, list_uploads(), with_canary(home)) == (-signal.SIGKILL, (), {"uploads"})
    written = max(path.stat().st_mtime for path in (home / "uploads").iterdir())
    delete_expired(now=datetime.fromtimestamp(written + 60, UTC))
    assert with_canary(home) == {"uploads"}, "it may still be written"
    delete_expired(now=datetime.fromtimestamp(written + 4000, UTC))
    assert with_canary(home) == set()


def test_a_file_used_by_a_new_run_is_kept_despite_a_pending_deletion(home: Path) -> None:
    source = upload(table())
    mark = home / "uploads" / f"{source.sha256}.deleting"
    mark.touch()
    run = create_run(source, PLAN)
    delete_expired()
    assert Run(run.id).status.state == QUEUED
    assert not mark.exists()
