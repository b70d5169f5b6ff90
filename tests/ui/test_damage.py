"""What is damaged, or can't be written, is named; everything else works."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairdash.data.source import save_source
from fairdash.errors import StorageError
from fairdash.runs.listing import list_runs
from fairdash.runs.store import Run, create_run
from fairdash.storage.bundle import open_sealed_text, sealed_text
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
        assert UNFORESEEN not in errors(at)
        if page != "home":
            assert bad in errors(at)
    assert not open_page("data", dataset=save_source(SOURCE)).error


def spoiled(folder: Path, file: str, change: Callable[[dict], object]) -> None:
    # Sealed anew: what it says is found to be wrong, not that it has changed.
    content = open_sealed_text((folder / file).read_text())
    change(content)
    (folder / file).write_text(sealed_text(content))


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
    assert not at.error
    assert bad.id in at.warning[0].value
    assert "done" in words(at)
    for page in ("train", "tradeoff"):
        at = open_page(page, run=bad.id)
        assert "The files of this run are incomplete or damaged" in errors(at)
    at = open_page("tradeoff", run=finished_run.id)
    assert not at.error


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
            assert UNFORESEEN not in errors(at), page
        at = open_page("home")
        assert not at.error
        assert "done" in words(at)
        assert "waiting" in words(at)
        at = open_page("tradeoff", run=finished_run.id)
        assert charts(at), "the run is shown"
        assert "Read-only file system" in errors(at)
        at = open_page("train", run=waiting.id)
        assert UNFORESEEN not in errors(at)


@pytest.mark.parametrize("value", ["", "x"])
def test_an_address_that_names_nothing_gets_the_default(finished_run: Run, value: str) -> None:
    names = ("objective", "model", "measure", "lam", "sensitive", "against")
    at = open_page("tradeoff", run=finished_run.id, **dict.fromkeys(names, value))
    assert not at.error
    assert charts(at)
