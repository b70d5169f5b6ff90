"""What is damaged, or can't be written, is named; everything else works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairdash.data.source import save_source
from fairdash.errors import StorageError
from fairdash.runs.launch import start_run
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob, create_model, find_model
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.store import Run, create_run
from fairdash.storage.bundle import open_sealed_text
from tests.runs.test_searches import LAM
from tests.tiers import few
from tests.ui.conftest import PLAN, SOURCE, charts, open_page, words

PAGES = ("home", "patterns", "paper", "data", "train", "tradeoff", "audit")
UNFORESEEN = "Unexpected error"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def errors(at) -> str:
    return "\n".join(each.value.replace("\\", "") for each in at.error)


DAMAGE = {
    "cut off": b'{"fairdash_source": 1, "kind": "cata',
    "no text": b"\xff\xfe\x00\x9f" * 40,
    "empty": b"",
    "a number": b"5",
    "a deep one": b"[" * 100_000,
    "a name that is none": json.dumps(
        {"fairdash_source": 1, "kind": "upload", "sha256": "0" * 64, "name": None,
         "roles": {"target": "a", "sensitive": ["b"], "features": ["c"]}}
    ).encode(),
    "a column that is none": json.dumps(
        {"fairdash_source": 1, "kind": "upload", "sha256": "0" * 64, "name": "x",
         "roles": {"target": None, "sensitive": ["b"], "features": [5]}}
    ).encode(),
}  # fmt: skip


@pytest.mark.parametrize("damage", few(DAMAGE, "cut off", "a column that is none"))
def test_one_damaged_source_is_named_where_it_is_asked_for_and_nowhere_else(
    home: Path, finished_run: Run, damage: str
) -> None:
    bad = "0123456789abcdef"
    save_source(SOURCE)
    (home / "sources" / f"{bad}.json").write_bytes(DAMAGE[damage])
    for page in ("home", "data", "tradeoff"):
        at = open_page(page, dataset=bad)
        assert not at.exception
        assert UNFORESEEN not in errors(at)
        if page != "home":
            assert bad in errors(at)
        at = open_page(page, dataset=save_source(SOURCE))
        assert not at.exception
        assert not at.error


def spoiled(folder: Path, file: str, change: Callable[[dict], object]) -> None:
    # Without its seal, as a file of before: what it says is found to be wrong, not that it has changed.
    content = open_sealed_text((folder / file).read_text())
    change(content)
    (folder / file).write_text(json.dumps(content))


SPOIL: dict[str, tuple[str, Callable[[dict], object]]] = {
    "no time": ("spec.json", lambda spec: spec.update(created=None)),
    "a time that is a number": ("spec.json", lambda spec: spec.update(created=17)),
    "a time that is none": ("spec.json", lambda spec: spec.update(created="yesterday")),
    "an objective that is none": ("spec.json", lambda spec: spec["plan"].update(objective=None)),
    "a source that is none": ("spec.json", lambda spec: spec.update(source=None)),
    "a state that is none": ("status.json", lambda status: status.update(state=None)),
    "a share that is none": ("status.json", lambda status: status.update(fraction="half")),
}


@pytest.mark.parametrize("damage", few(SPOIL, "no time", "a state that is none"))
def test_one_damaged_run_is_named_and_the_others_are_shown(finished_run: Run, damage: str) -> None:
    bad = create_run(SOURCE, PLAN)
    spoiled(bad.folder, *SPOIL[damage])
    assert list_runs().damaged == (bad.id,)
    at = open_page("home")
    assert not at.exception
    assert not at.error
    assert bad.id in at.warning[0].value
    assert "done" in words(at)
    for page in ("train", "tradeoff"):
        at = open_page(page, run=bad.id)
        assert not at.exception
        assert "The files of this run are incomplete or damaged" in errors(at)
    at = open_page("tradeoff", run=finished_run.id)
    assert not at.exception
    assert not at.error


def test_a_damaged_model_or_search_is_passed_over(finished_run: Run) -> None:
    place = {"run": finished_run.id, "method": "hgr_nn", "lam": 1.0}
    good, bad = (create_model(SOURCE, PLAN, **place) for _ in range(2))
    search = create_search(SOURCE, LAM)
    for job in (bad, search):
        spoiled(job.folder, "spec.json", lambda spec: spec.update(created=None))
    found = find_model(**place)
    assert found is not None
    assert found.id == good.id
    for job in (ModelJob(bad.id), SearchJob(search.id)):
        with pytest.raises(RuntimeError, match="damaged"):
            job.spec  # noqa: B018
    assert "incomplete or damaged" in errors(open_page("train", search=search.id))


class _ReadOnly:
    """What Python's audit hook refuses while it is set; a hook can't be taken off."""

    home = ""


def _refuse(event: str, args: tuple) -> None:
    if not _ReadOnly.home or event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        return
    if event == "open" and not (
        isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    ):
        return
    if str(args[0]).startswith(_ReadOnly.home):
        raise OSError(30, "Read-only file system", str(args[0]))


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    """As if the home lay on a medium that can't be written: the tests may run as root, whom no mode stops."""
    home.mkdir(exist_ok=True)
    if not hasattr(_ReadOnly, "hooked"):
        sys.addaudithook(_refuse)
        _ReadOnly.hooked = True  # type: ignore[attr-defined]
    _ReadOnly.home = str(home)
    try:
        yield
    finally:
        _ReadOnly.home = ""


def test_what_is_in_a_home_that_cant_be_written_is_shown(home: Path, finished_run: Run) -> None:
    waiting = create_run(SOURCE, PLAN)
    with read_only(home):
        with pytest.raises(StorageError):
            save_source(SOURCE)
        for page in PAGES:
            at = open_page(page)
            assert not at.exception, page
            assert UNFORESEEN not in errors(at), page
        at = open_page("home")
        assert not at.error
        assert "done" in words(at)
        assert "waiting" in words(at)
        at = open_page("tradeoff", run=finished_run.id)
        assert not at.exception
        assert charts(at), "the run is shown"
        assert "Read-only file system" in errors(at)
        at = open_page("train", run=waiting.id)
        assert UNFORESEEN not in errors(at)


def test_what_would_need_writing_says_why_it_cant(home: Path) -> None:
    with read_only(home):
        at = open_page("tradeoff")
        assert not at.exception
        assert "a file can't be stored (Read-only file system)" in errors(at).lower().replace(
            "read-only", "Read-only"
        )
        with pytest.raises(StorageError, match="FAIRDASH_HOME"):
            start_run(SOURCE, PLAN)


def test_a_run_at_work_is_seen_in_a_home_that_cant_be_written(home: Path) -> None:
    run = create_run(SOURCE, PLAN)
    hold = (
        "from fairdash.runs.status import RunStatus; from fairdash.runs.store import Run; import time\n"
        f"run = Run('{run.id}')\nwith run.lock():\n"
        "    run.write_status(RunStatus(state='running', doing='training'))\n    print('held', flush=True)\n"
        "    time.sleep(99)"
    )
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with read_only(home):
                assert run.status.state == "running"
                assert "at work" in words(open_page("home"))
        finally:
            process.kill()
    with read_only(home):
        assert run.status.state == "failed"


@pytest.mark.parametrize("value", ["", "x"])
def test_an_address_that_names_nothing_gets_the_default(finished_run: Run, value: str) -> None:
    names = ("objective", "model", "measure", "lam", "sensitive", "against")
    at = open_page("tradeoff", run=finished_run.id, **dict.fromkeys(names, value))
    assert not at.exception
    assert not at.error
    assert charts(at)
