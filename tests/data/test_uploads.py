import hashlib
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from fairdash.data import ReadingOptions, UploadSource, keep_upload, list_uploads, read_upload, uploads
from fairdash.data.uploads import DEFAULT_DAYS, table_of_upload
from fairdash.errors import Fix, StorageError
from fairdash.storage import cache_folder, data_folder, write_whole
from tests.data.tables import ROLES, policies


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[ReadingOptions]:
    """The options of each time that a file's bytes were parsed; nothing is in memory at the start."""
    seen: list[ReadingOptions] = []
    read = uploads.read_content

    def counting(content: bytes, options: ReadingOptions) -> object:
        seen.append(options)
        return read(content, options)

    uploads.forget_tables()
    monkeypatch.setattr(uploads, "read_content", counting)
    return seen


def kept_policies() -> str:
    return keep_upload(policies().to_csv(index=False).encode(), name="policies.csv").sha256


def test_roles_fixes_and_names_never_parse_a_file_again(parsed: list[ReadingOptions]) -> None:
    source = UploadSource(sha256=kept_policies(), name="policies.csv", roles=ROLES)
    first = source.load()
    for other in (
        {"roles": replace(ROLES, target="rooms", features=("town",), weight="cost")},
        {"roles": replace(ROLES, weight="rooms", features=("town",), rate=True)},
        {"fixes": (Fix("leave_out", "town"),)},
        {"names": {"age": "age of the driver"}, "name": "other.csv"},
    ):
        assert replace(source, **other).load().fingerprint != first.fingerprint or "names" in other
    assert parsed == [ReadingOptions()]
    replace(source, reading=ReadingOptions(decimal=".")).load()
    assert len(parsed) == 2, "other options read otherwise"


def test_a_table_in_memory_cannot_be_spoiled(parsed: list[ReadingOptions]) -> None:
    digest = kept_policies()
    frame, report = table_of_upload(digest, ReadingOptions(), name="a.csv")
    wanted = frame.copy(deep=True)
    frame.loc[:, "cost"] = -1.0
    frame.iloc[0, 1] = 0
    frame["town"] = "elsewhere"
    frame["more"] = 1
    del frame["rooms"]
    with pytest.raises(ValueError, match="read-only"):
        report.lines[0] = 99
    with pytest.raises(TypeError):
        report.missing_found["x"] = 1  # type: ignore[index]
    again, other = table_of_upload(digest, ReadingOptions(), name="b.csv")
    assert again.equals(wanted)
    cells = again["cost"].to_numpy()
    if cells.flags.writeable:
        cells[:] = np.nan
    assert table_of_upload(digest, ReadingOptions(), name="c.csv")[0].equals(wanted)
    assert (report.name, other.name, len(parsed)) == ("a.csv", "b.csv", 1)


@pytest.mark.parametrize("by", ["this process", "another"])
def test_a_deleted_files_table_leaves_the_memory(by: str, home: Path, parsed: list[ReadingOptions]) -> None:
    digest = kept_policies()
    table_of_upload(digest, ReadingOptions(), name="x")
    if by == "another":
        (home / "uploads" / f"{digest}.upload").unlink()
    else:
        uploads.delete_upload(digest)
        assert uploads._table.cache_info().currsize == 0
    with pytest.raises(StorageError, match="not stored here"):
        table_of_upload(digest, ReadingOptions(), name="x")
    assert (uploads._table.cache_info().currsize, len(parsed)) == (0, 1)


def test_kept_listed_read_back_and_deleted(home: Path) -> None:
    assert list_uploads() == ()
    kept = keep_upload(b"a,b\n1,2\n", name="../my table.csv")
    assert kept.sha256 == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert (kept.name, kept.n_bytes) == ("../my table.csv", 8)
    assert kept.kept_at.tzinfo is not None
    assert (list_uploads(), read_upload(kept.sha256)) == ((kept,), b"a,b\n1,2\n")
    for path in (home / "uploads").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert (home / "uploads").stat().st_mode & 0o777 == 0o700
    uploads.delete_upload(kept.sha256)
    uploads.delete_upload(kept.sha256)
    assert not any((home / "uploads").iterdir())


def test_gone_or_damaged_files_are_said_to_be(home: Path) -> None:
    kept = keep_upload(b"content", name="x")
    path = home / "uploads" / f"{kept.sha256}.upload"
    path.write_bytes(b"changed")
    with pytest.raises(StorageError, match="damaged"):
        read_upload(kept.sha256)
    uploads.delete_upload(kept.sha256)
    with pytest.raises(StorageError, match="not stored here any more"):
        read_upload(kept.sha256)


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_what_is_not_a_hash_never_becomes_a_path(digest: str) -> None:
    for use in (read_upload, uploads.delete_upload):
        with pytest.raises(StorageError, match="not the hash"):
            use(digest)


def test_a_full_or_closed_disk_is_said_and_nothing_is_left(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StorageError, match="No space left on device"):
        keep_upload(b"content", name="x")
    assert not any((home / "uploads").iterdir())


def test_files_go_when_their_term_is_over_and_it_can_be_changed() -> None:
    usual = keep_upload(b"usual", name="usual")
    short = keep_upload(b"short", name="short", keep_days=1)
    for_ever = keep_upload(b"for ever", name="for ever", keep_days=None)
    assert usual.keep_days == DEFAULT_DAYS
    assert for_ever.keep_until is None
    assert (uploads.delete_expired(), uploads.delete_expired(now=short.kept_at + timedelta(days=1))) == (0, 1)
    assert {upload.name for upload in list_uploads()} == {"usual", "for ever"}
    assert uploads.delete_expired(now=short.kept_at + timedelta(days=4000)) == 1
    assert list_uploads() == (for_ever,)
    uploads.set_retention(for_ever.sha256, 3)
    (changed,) = list_uploads()
    assert (changed.name, changed.keep_days) == ("for ever", 3)
    uploads.delete_upload(changed.sha256)
    with pytest.raises(StorageError, match="not stored here any more"):
        uploads.set_retention(changed.sha256, 3)


def test_one_home_for_everything_and_without_one_the_systems_places(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (data_folder("uploads"), cache_folder("crime")) == (home / "uploads", home / "cache" / "crime")
    monkeypatch.delenv("FAIRDASH_HOME")
    assert data_folder("uploads").parent != cache_folder("uploads").parent
    assert "fairdash" in str(data_folder("uploads"))


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_whole(path, b"first, and longer")
    write_whole(path, b"second")
    assert (path.read_bytes(), list(path.parent.iterdir())) == (b"second", [path])
