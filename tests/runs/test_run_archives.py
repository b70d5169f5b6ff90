"""An exported run is imported unchanged or refused."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from fairdash.errors import OptionError, RunError
from fairdash.runs import archive, worker
from fairdash.runs.archive import export_run, import_run
from fairdash.runs.audits import store_priced_table
from fairdash.runs.launch import cancel, enqueue
from fairdash.runs.listing import list_runs
from fairdash.runs.models import create_model
from fairdash.runs.store import Run, create_run
from fairdash.storage import LOCAL, sha256
from fairdash.storage.bundle import SEAL, open_sealed_text, sealed_text
from tests.runs.changed_archives import packed, unpacked
from tests.runs.finished import PLAN, SOURCE, finished


@pytest.fixture
def content(done: Run) -> bytes:
    found = export_run(done)
    shutil.rmtree(done.folder)
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    files = (each for each in folder.rglob("*") if each.is_file() and each.suffix != ".lock")
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in files}


def test_an_imported_run_equals_the_exported_one_and_is_imported_once(done: Run) -> None:
    before, content, name = files_of(done.folder), export_run(done), done.name
    shutil.rmtree(done.folder)
    found = import_run(content)
    assert (found.was_here, found.run.id, found.run.name) == (False, done.id, name)
    assert (files_of(found.run.folder), export_run(found.run)) == (before, content)
    assert (found.run.status.state, found.run.read_result().predictions.shape) == ("done", (6, 200))
    again = import_run(content)
    assert again.was_here
    assert "already" in str(again)
    assert [run.id for run in list_runs().runs] == [done.id]


def test_an_imported_run_refuses_data_with_another_fingerprint(done: Run) -> None:
    files = unpacked(export_run(done))
    shutil.rmtree(done.folder)
    spec = open_sealed_text(files["spec.json"].decode())
    spec["source"]["options"]["n"] = 300
    run = import_run(packed(files | {"spec.json": sealed_text(spec).encode()})).run
    run.check_data(SOURCE.load())
    assert run.read_result().fingerprint == SOURCE.load().fingerprint
    prices = pd.Series([1.0, 2.0])
    with pytest.raises(RunError, match="not the data on which this run was trained"):
        store_priced_table(run, run.spec.load(), prices, title="Prices", owner=LOCAL)
    model = create_model(run.spec.source, run.spec.plan, run=run.id, method="pearson", lam=1.0)
    assert worker.main(model.id) == 1
    assert "not the data on which this run was trained" in model.status.message


def test_an_imported_run_gets_a_new_id_when_another_run_has_the_same_id(content: bytes, done: Run) -> None:
    create_run(SOURCE, PLAN, first=PLAN).folder.rename(done.folder)
    found = import_run(content)
    assert found.run.id != done.id
    assert done.id in str(found)
    assert (Run(done.id).spec.first, import_run(content).run.id) == (PLAN, found.run.id)
    assert len(list_runs().runs) == 2


def test_an_imported_run_belongs_to_the_importer_and_an_export_names_no_owner(content: bytes) -> None:
    owners = ["local", "a@b.example", "b"]
    runs = [import_run(content, owner=owner).run for owner in owners]
    assert ([run.spec.owner for run in runs], len({run.id for run in runs})) == (owners, 3)
    assert import_run(content, owner="b").was_here
    assert b"a@b.example" not in export_run(runs[1])


def test_a_preview_without_a_full_run_can_be_exported_and_imported() -> None:
    run = finished(first=True)
    content = export_run(run)
    shutil.rmtree(run.folder)
    again = import_run(content).run
    assert (again.available_result, again.status.state) == ("first", "cancelled")
    assert again.read_result().predictions.shape == (6, 200)


@pytest.mark.bad_input(58)
def test_an_archive_with_a_flipped_bit_is_refused(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as zipped:
        data = [(each.header_offset + 30 + len(each.filename), each.file_size) for each in zipped.infolist()]
    of_large = {k for start, size in data if size > 2000 for k in range(start + 50, start + size - 50)}
    # Try every third byte of headers, directory and short files, and fewer bytes inside large files.
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


def with_one(content: bytes, name: str, file: bytes) -> bytes:
    """The archive with one file replaced and correct hashes."""
    files = unpacked(content) | {name: file}
    return archive._packed({name: each for name, each in files.items() if name != SEAL})


def linked(content: bytes) -> bytes:
    """The archive with a link in place of a file."""
    about = zipfile.ZipInfo("result/about.json", date_time=(1980, 1, 1, 0, 0, 0))
    about.create_system, about.external_attr = 3, 0o120777 << 16
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, each in unpacked(content).items():
            made.writestr(about if name == about.filename else name, each)
    return target.getvalue()


def with_another_result(content: bytes) -> bytes:
    hashes = json.loads(unpacked(content)["result/sha256.json"]) | {"about.json": sha256(b"{}")}
    sealed = with_one(content, "result/sha256.json", json.dumps(hashes).encode())
    return with_one(sealed, "result/about.json", b"{}")


OUTSIDE = ("../evil.json", "/etc/evil", "result/../../evil", "result/./x", "C:\\evil", "result\\x")
OUTSIDE += ("evil.py", "units/x", "x")
#: Replacement of one file, in a packed archive with correct hashes.
REPLACED = {
    "an id that leads out": ("run.json", b'{"fairdash_run": 1, "id": "../../../x"}'),
    "an id that is no text": ("run.json", b'{"fairdash_run": 1, "id": 7}'),
    "another format": ("run.json", b'{"fairdash_run": 2, "id": "0123456789ab"}'),
    "no object": ("run.json", b"[" * 100_000), "no plan": ("spec.json", b"{}"),
    "no text": ("status.json", b"\xff"), "at work": ("status.json", b'{"state": "running"}'),
    "another result": ("result/about.json", b"{}"), "two results": ("first/about.json", b"{}"),
    **{f"sealed {name}": (name, b"1") for name in OUTSIDE},
}  # fmt: skip


def attempts(content: bytes) -> dict[str, bytes]:
    """Invalid uploads in place of an archive, by description."""
    files = unpacked(content)
    packed = {"a file added": {"result/x": b""}, "repacked": {}} | {name: {name: b"1"} for name in OUTSIDE}
    found = {"nothing": b"", "no zip": b"age,cost\n1,2\n", "cut off": content[:-100]}
    found |= {"more behind it": content + b"1", "something before it": b"1" + content}
    found["a link"] = linked(content)
    found |= {kind: zipped(files | more) for kind, more in packed.items()}
    found["a bomb"] = zipped(files | {"result/x": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED)
    found["no seal"] = zipped({name: each for name, each in files.items() if name != SEAL})
    found["another plan"] = with_one(content, "spec.json", files["spec.json"].replace(b"0.5", b"0.6"))
    found["another result, sealed"] = with_another_result(content)
    return found | {kind: with_one(content, *one) for kind, one in REPLACED.items()}


@pytest.mark.bad_input(58)
def test_an_invalid_run_archive_is_refused_and_leaves_no_files(content, tmp_path, monkeypatch) -> None:
    for kind, attempt in attempts(content).items():
        with pytest.raises(RunError) as raised:
            import_run(attempt)
        assert str(raised.value)[0].isupper(), kind
        assert not list(Run.home().glob("*")), kind
    assert not list(tmp_path.rglob("*evil*"))
    monkeypatch.setattr(archive, "LARGEST", 1000)
    with pytest.raises(RunError, match="more than"):
        import_run(content)


def test_an_unfinished_or_damaged_run_is_not_exported(done: Run) -> None:
    waiting = create_run(SOURCE, PLAN)
    with pytest.raises(RunError, match="still in progress"):
        export_run(waiting)
    enqueue(waiting)
    cancel(waiting)
    with pytest.raises(RunError, match="no results to export"):
        export_run(waiting)
    (done.folder / "result" / "about.json").write_text("{}")
    with pytest.raises(RunError, match=r"about\.json"):
        export_run(done)


def test_a_run_name_is_a_single_line_and_not_covered_by_the_integrity_check(done: Run) -> None:
    assert create_run(SOURCE, PLAN).name == ""
    done.rename("  Ünïcode, with 80 characters at most ")
    assert Run(done.id).name == "Ünïcode, with 80 characters at most"
    for wrong in ("x" * 81, "two\nlines", "\u202eback"):
        with pytest.raises(OptionError, match="name"):
            done.rename(wrong)
    file = done.folder / "name.json"
    file.write_text(file.read_text().replace("most", "best"))
    assert done.name == ""
    done.read_result()
    done.rename("")
    assert done.name == ""
