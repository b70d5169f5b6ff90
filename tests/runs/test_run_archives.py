"""A run is taken away as one file and comes in as it was, or not at all."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fairdash.errors import OptionError, RunError
from fairdash.runs import archive
from fairdash.runs.archive import export_run, import_run
from fairdash.runs.launch import put_in_line
from fairdash.runs.listing import list_runs
from fairdash.runs.store import Run, create_run
from fairdash.storage import sha256
from fairdash.storage.bundle import SEAL
from tests.runs.finished import PLAN, SOURCE, finished


@pytest.fixture
def run(done: Run) -> Run:
    return done


@pytest.fixture
def content(run: Run) -> bytes:
    found = export_run(run)
    shutil.rmtree(run.folder)
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file() and each.suffix != ".lock"
    }


def test_it_comes_in_as_it_was(run: Run) -> None:
    before, content = files_of(run.folder), export_run(run)
    shutil.rmtree(run.folder)
    found = import_run(content)
    assert not found.was_here
    assert found.run.id == run.id
    assert files_of(found.run.folder) == before
    assert export_run(found.run) == content
    assert found.run.status.state == "done"
    assert found.run.name == run.name
    assert found.run.read_result().predictions.shape == (6, 200)


def test_twice_in_is_one(content: bytes) -> None:
    first, second = import_run(content), import_run(content)
    assert second.was_here
    assert "already" in str(second)
    assert (first.run.id, 1) == (second.run.id, len(list_runs().runs))


def test_another_run_of_its_id_stays_and_it_gets_an_id_of_its_own(content: bytes, run: Run) -> None:
    other = create_run(SOURCE, PLAN, first=PLAN)
    other.folder.rename(run.folder)
    found = import_run(content)
    assert found.run.id != run.id
    assert run.id in str(found)
    assert Run(run.id).spec.first == PLAN
    assert import_run(content).run.id == found.run.id
    assert len(list_runs().runs) == 2


def test_it_belongs_to_whoever_brings_it_in_and_leaves_without_a_name_of_theirs(content: bytes) -> None:
    here, of_a, of_b = (
        import_run(content),
        import_run(content, owner="a@b.example"),
        import_run(content, owner="b"),
    )
    assert [each.run.spec.owner for each in (here, of_a, of_b)] == ["local", "a@b.example", "b"]
    assert len({each.run.id for each in (here, of_a, of_b)}) == 3
    assert import_run(content, owner="b").was_here
    assert b"a@b.example" not in export_run(of_a.run)


def test_a_first_look_that_was_not_followed_comes_in_too() -> None:
    run = finished(first=True)
    content = export_run(run)
    shutil.rmtree(run.folder)
    again = import_run(content).run
    assert (again.look, again.status.state) == ("first", "cancelled")
    assert again.read_result().predictions.shape == (6, 200)


@pytest.mark.bad_input(58)
def test_no_flipped_byte_passes(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as zipped:
        data = [(each.header_offset + 30 + len(each.filename), each.file_size) for each in zipped.infolist()]
    of_large = {k for start, size in data if size > 2000 for k in range(start + 50, start + size - 50)}
    # A third of headers, directory and short files, and of the large ones' insides every so many.
    for k in [k for k in range(len(content)) if k % (499 if k in of_large else 3) == 0]:
        flipped = bytearray(content)
        flipped[k] ^= 1 << k % 8
        with pytest.raises(RunError):
            import_run(bytes(flipped))
    assert not Run.home().exists() or not list(Run.home().iterdir())


def zipped(files: dict[str, bytes], **more: object) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", **more) as made:  # type: ignore[arg-type]
        for name, each in files.items():
            made.writestr(name, each)
    return target.getvalue()


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name) for name in found.namelist()}


def remade(content: bytes, **changed: bytes | None) -> bytes:
    """Packed and sealed anew by hand, with other files."""
    files = unzipped(content)
    for name, each in changed.items():
        files[name] = each or b""
    return archive._packed({name: each for name, each in files.items() if name != SEAL})


def linked(content: bytes) -> bytes:
    """With a link in the place of a file."""
    about = zipfile.ZipInfo("result/about.json", date_time=(1980, 1, 1, 0, 0, 0))
    about.create_system, about.external_attr = 3, 0o120777 << 16
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, each in unzipped(content).items():
            made.writestr(about if name == about.filename else name, each)
    return target.getvalue()


OUTSIDE = (
    "../evil.json",
    "/etc/evil",
    "result/../../evil",
    "result/./x",
    "C:\\evil",
    "result\\x",
    "evil.py",
    "units/x",
    "x",
)
HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "no zip": lambda _: b"age,cost\n1,2\n",
    "cut off": lambda content: content[:-100],
    "more behind it": lambda content: content + b"1",
    "something before it": lambda content: b"1" + content,
    "repacked": lambda content: zipped(unzipped(content)),
    "a bomb": lambda content: zipped(
        unzipped(content) | {"result/x": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED
    ),
    "no seal": lambda content: zipped({k: v for k, v in unzipped(content).items() if k != SEAL}),
    "a file added": lambda content: zipped(unzipped(content) | {"result/x": b""}),
    "an id that leads out": lambda content: remade(content, **{"run.json": b'{"fairdash_run": 1, "id": "../../../x"}'}),
    "an id that is no text": lambda content: remade(content, **{"run.json": b'{"fairdash_run": 1, "id": 7}'}),
    "another format": lambda content: remade(content, **{"run.json": b'{"fairdash_run": 2, "id": "0123456789ab"}'}),
    "no object": lambda content: remade(content, **{"run.json": b"[" * 100_000}),
    "another plan": lambda content: remade(content, **{"spec.json": unzipped(content)["spec.json"].replace(b"0.5", b"0.6")}),
    "no plan": lambda content: remade(content, **{"spec.json": b"{}"}),
    "no text": lambda content: remade(content, **{"status.json": b"\xff"}),
    "at work": lambda content: remade(content, **{"status.json": b'{"state": "running"}'}),
    "another result": lambda content: remade(content, **{"result/about.json": b"{}"}),
    "another result, sealed": lambda content: remade(
        content,
        **{
            "result/about.json": b"{}",
            "result/sha256.json": json.dumps(
                json.loads(unzipped(content)["result/sha256.json"]) | {"about.json": sha256(b"{}")}
            ).encode(),
        },
    ),
    "a link": linked,
    "two results": lambda content: remade(content, **{"first/about.json": b"{}"}),
}  # fmt: skip


@pytest.mark.bad_input(58)
def test_what_is_no_run_is_refused_in_plain_words_and_leaves_nothing(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = {kind: made(content) for kind, made in HOSTILE.items()}
    for name in OUTSIDE:
        attempts[f"sealed {name}"] = remade(content, **{name: b"1"})
        attempts[name] = zipped(unzipped(content) | {name: b"1"})
    for kind, attempt in attempts.items():
        with pytest.raises(RunError) as raised:
            import_run(attempt)
        assert str(raised.value)[0].isupper(), kind
        assert not Run.home().exists() or not list(Run.home().iterdir()), kind
    assert not list(tmp_path.rglob("*evil*"))
    monkeypatch.setattr(archive, "LARGEST", 1000)
    with pytest.raises(RunError, match="more than"):
        import_run(content)


def test_what_is_not_finished_or_damaged_does_not_leave(run: Run) -> None:
    waiting = create_run(SOURCE, PLAN)
    with pytest.raises(RunError, match="still at work"):
        export_run(waiting)
    put_in_line(waiting)
    waiting.ask_to_cancel()
    with pytest.raises(RunError, match="no results to export"):
        export_run(waiting)
    (run.folder / "result" / "about.json").write_text("{}")
    with pytest.raises(RunError, match=r"about\.json"):
        export_run(run)


def test_a_name_is_one_line_and_no_part_of_the_evidence(run: Run) -> None:
    assert create_run(SOURCE, PLAN).name == ""
    run.rename("  Ünïcode, with 80 characters at most ")
    assert Run(run.id).name == "Ünïcode, with 80 characters at most"
    for wrong in ("x" * 81, "two\nlines", "\u202eback"):
        with pytest.raises(OptionError, match="name"):
            run.rename(wrong)
    (run.folder / "name.json").write_text((run.folder / "name.json").read_text().replace("most", "best"))
    assert run.name == ""
    run.read_result()
    run.rename("")
    assert run.name == ""
