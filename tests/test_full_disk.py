"""A full disk: every failed write is reported, and existing files stay unchanged.

The limit on file size is that of the operating system, so it affects every writer, including the database.
"""

import resource
import shutil
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.data.source import CatalogueSource, save_source
from fairdash.data.uploads import keep_upload
from fairdash.errors import StorageError
from fairdash.jobs import queue
from fairdash.jobs.steps import save
from fairdash.lab.studies import Study
from fairdash.runs import launch, worker
from fairdash.runs.deletion import delete_run
from fairdash.runs.result import write_arrays
from fairdash.runs.state import CANCELLED, DONE, RUNNING, RunStatus, write_status
from fairdash.runs.store import Run, create_run
from fairdash.storage import data_folder
from fairdash.training.search import SettingsSearch
from tests.runs.test_runs import PLAN, SOURCE

pytestmark = pytest.mark.usefixtures("light_runs")


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow by a byte."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents() -> dict[str, bytes]:
    """Contents of all non-empty files in the home, by name."""
    home = data_folder("runs").parent
    # The database guarantees its own consistency, and log files of processes are not evidence.
    names = (path for path in home.rglob("*") if path.is_file() and not path.name.startswith("jobs.sqlite"))
    return {str(path.relative_to(home)): content for path in names if (content := path.read_bytes())}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a finished and a stopped run."""
    home = tmp_path_factory.mktemp("full") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(home))
        assert worker.main(create_run(SOURCE, PLAN).id) == 0
        write_status(create_run(SOURCE, replace(PLAN, n_splits=1)).folder, RunStatus(state=CANCELLED))
        queue.client()
    return home


@pytest.fixture
def runs(template: Path) -> tuple[Run, Run]:
    """The finished and the stopped run, in the home of this test."""
    shutil.copytree(template, data_folder("runs").parent)
    found = [Run(path.name) for path in data_folder("runs").iterdir()]
    done, stopped = sorted(found, key=lambda run: run.stored_status().state != DONE)
    return done, stopped


#: Written file, mapped to the function that writes it for the finished and the stopped run.
WRITERS: Mapping[str, Callable[[Run, Run], object]] = {
    "an upload": lambda *_: keep_upload(b"age,price\n40,1\n", name="prices.csv"),
    "a recipe": lambda *_: save_source(CatalogueSource(dataset="crime")),
    "a run": lambda *_: launch.start_run(SOURCE, replace(PLAN, random_state=7)),
    "a run again": lambda _, stopped: launch.resume(stopped),
    "a name": lambda done, _: done.rename("of the committee"),
    "how far it is": lambda _, stopped: write_status(stopped.folder, RunStatus(state=RUNNING)),
    "a result": lambda done, stopped: stopped.write_result(done.read_result()),
    "a training curve": lambda _, stopped: stopped.add_curve(pd.DataFrame({"epoch": [1]})),
    "a unit": lambda _, stopped: save(stopped.units, {"found.json": b"1"}),
    "a search": lambda *_: launch.start_search(SOURCE, SettingsSearch()),
    "a model": lambda done, _: launch.start_model(SOURCE, PLAN, run=done.id, method="pearson", lam=1.0),
    "an audit": lambda *_: launch.start_audit(
        SOURCE, AuditPlan(columns=Columns(price="cost", sensitive="age"))
    ),
    "a study": lambda *_: launch.start_study(Study("fig2")),
}


@pytest.mark.processes
@pytest.mark.parametrize("name", WRITERS)
def test_a_write_to_a_full_disk_is_reported_and_leaves_stored_files_unchanged(name, runs) -> None:
    before = contents()
    with full_disk(), pytest.raises(StorageError, match=r"(?i)free some space|can be written") as said:
        WRITERS[name](*runs)
    assert "can't be" in str(said.value)
    assert (contents(), runs[0].status.state) == (before, DONE)


@pytest.mark.processes
def test_a_run_can_be_stopped_and_deleted_when_the_disk_is_full(runs: tuple[Run, Run]) -> None:
    """Otherwise no user could free space; the database stores the missed updates later."""
    done, stopped = runs
    write_status(stopped.folder, RunStatus(state=RUNNING))
    with full_disk():
        with pytest.raises(StorageError):
            launch.cancel(stopped)
        with pytest.raises(StorageError):
            delete_run(done)
    assert stopped.is_cancelled()
    assert not done.folder.exists()


def test_training_continues_without_curves_when_the_disk_is_full(runs, monkeypatch) -> None:
    _, stopped = runs
    write_status(stopped.folder, RunStatus(state=RUNNING))
    add = Run.add_curve

    def on_a_full_disk(run: Run, curve: pd.DataFrame) -> None:
        with full_disk():
            add(run, curve)

    monkeypatch.setattr(Run, "add_curve", on_a_full_disk)
    assert (worker.main(stopped.id), stopped.status.state) == (0, DONE)
    assert stopped.curves().empty


def test_arrays_are_written_without_a_copy_and_a_full_disk_is_reported(tmp_path):
    arrays = {"predictions": np.arange(2e6).reshape(2, -1), "weight": None}
    tracemalloc.start()
    write_arrays(tmp_path / "rows.safetensors", arrays)
    assert tracemalloc.get_traced_memory()[1] < 4e6
    tracemalloc.stop()
    assert np.array_equal(load_file(tmp_path / "rows.safetensors")["predictions"], arrays["predictions"])
    with full_disk(), pytest.raises(StorageError, match="can't be stored"):
        write_arrays(tmp_path / "other.safetensors", arrays)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.safetensors"]
