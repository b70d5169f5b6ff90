"""Damaged files and failed writes are named, and everything else works."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairdash.data.source import save_source
from fairdash.errors import StorageError
from fairdash.runs.listing import list_runs
from fairdash.runs.store import Run, create_run
from fairdash.storage.bundle import open_sealed_text, sealed_text
from tests.tiers import few
from tests.ui.conftest import PLAN, SOURCE, calm, charts, open_page, words

PAGES = ("home", "patterns", "paper", "data", "train", "tradeoff", "audit")
UNFORESEEN = "Unexpected error"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def errors(at) -> str:
    return "\n".join(each.value.replace("\\", "") for each in at.error)


UPLOAD = {"fairdash_source": 1, "kind": "upload", "sha256": "0" * 64, "name": "x"}
ROLES = {"target": "a", "sensitive": ["b"], "features": ["c"]}
DAMAGE = {
    "cut off": b'{"fairdash_source": 1, "kind": "cata', "no text": b"\xff\xfe\x00\x9f" * 40, "a number": b"5",
    "a deep one": b"[" * 100_000,
    "a column that is none": json.dumps(UPLOAD | {"roles": ROLES | {"target": None, "features": [5]}}).encode(),
}  # fmt: skip


@pytest.mark.parametrize("damage", few(DAMAGE, "cut off", "a column that is none"))
def test_a_damaged_data_source_is_reported_only_on_pages_that_use_it(home, finished_run, damage):
    bad = "0123456789abcdef"
    save_source(SOURCE)
    (home / "sources" / f"{bad}.json").write_bytes(DAMAGE[damage])
    for page in ("home", "data", "tradeoff"):
        at = open_page(page, dataset=bad)
        assert UNFORESEEN not in errors(at)
        if page != "home":
            assert bad in errors(at)
    assert not open_page("data", dataset=save_source(SOURCE)).error


#: A file, and invalid values of its fields.
SPOIL: dict[str, tuple[str, dict[str, object]]] = {
    "no time": ("spec.json", {"created": None}), "a time that is none": ("spec.json", {"created": "yesterday"}),
    "an objective that is none": ("spec.json", {"plan": {"objective": None}}),
    "a source that is none": ("spec.json", {"source": None}), "a state that is none": ("status.json", {"state": None}),
}  # fmt: skip


@pytest.mark.parametrize("damage", few(SPOIL, "no time", "a state that is none"))
def test_one_damaged_run_is_named_and_the_others_are_shown(finished_run: Run, damage: str) -> None:
    bad = create_run(SOURCE, PLAN)
    name, values = SPOIL[damage]
    content = open_sealed_text((bad.folder / name).read_text())
    plan = content.get("plan", {}) | values.get("plan", {})
    # The hash is correct, so the value itself must be found to be invalid.
    (bad.folder / name).write_text(sealed_text(content | values | ({"plan": plan} if plan else {})))
    assert list_runs().damaged == (bad.id,)
    at = calm(open_page("home"))
    assert bad.id in at.warning[0].value
    assert "done" in words(at)
    for page in ("train", "tradeoff"):
        assert "The files of this run are incomplete or damaged" in errors(open_page(page, run=bad.id))
    calm(open_page("tradeoff", run=finished_run.id))


#: The home protected by Python's audit hook, which can't be removed once it is installed.
GUARDED: list[str] = []


def _refuse(event: str, args: tuple) -> None:
    if not GUARDED or event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        return
    writes = isinstance(args[-1], int) and args[-1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if (event != "open" or writes) and str(args[0]).startswith(GUARDED[0]):
        raise OSError(30, "Read-only file system", str(args[0]))


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    """Treat the home as read-only: tests may run as root, for whom file modes have no effect."""
    home.mkdir(exist_ok=True)
    sys.addaudithook(_refuse)
    GUARDED.append(str(home))
    try:
        yield
    finally:
        GUARDED.clear()


def test_pages_show_stored_runs_when_the_data_folder_is_read_only(home: Path, finished_run: Run) -> None:
    waiting = create_run(SOURCE, PLAN)
    with read_only(home):
        with pytest.raises(StorageError):
            save_source(SOURCE)
        seen = {page: open_page(page) for page in PAGES}
        assert [page for page, at in seen.items() if UNFORESEEN in errors(at)] == []
        shown = words(calm(seen["home"]))
        assert [state for state in ("done", "waiting") if state not in shown] == []
        at = open_page("tradeoff", run=finished_run.id)
        assert charts(at), "the run is shown"
        assert "Read-only file system" in errors(at)
        assert UNFORESEEN not in errors(open_page("train", run=waiting.id))


@pytest.mark.parametrize("value", ["", "x"])
def test_invalid_address_parameters_fall_back_to_defaults(finished_run: Run, value: str) -> None:
    names = ("objective", "model", "measure", "lam", "sensitive", "against")
    at = open_page("tradeoff", run=finished_run.id, **dict.fromkeys(names, value))
    assert not at.error
    assert charts(at)
