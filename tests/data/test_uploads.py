import hashlib
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from fairdash.data import (
    CatalogueSource,
    DatasetSource,
    ReadingOptions,
    Roles,
    UploadSource,
    keep_upload,
    list_uploads,
    read_upload,
    uploads,
)
from fairdash.data.source import load_source, save_source
from fairdash.data.uploads import DEFAULT_DAYS, table_of_upload
from fairdash.errors import Fix, OptionError, StorageError
from fairdash.storage import cache_folder, data_folder
from tests.data.tables import ROLES, policies


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[ReadingOptions]:
    """The options of every parsing of a file; no table is in memory at the start."""
    seen: list[ReadingOptions] = []
    read = uploads.read_content

    def counting(content: bytes, options: ReadingOptions) -> object:
        seen.append(options)
        return read(content, options)

    uploads.clear_cached_tables()
    monkeypatch.setattr(uploads, "read_content", counting)
    return seen


def kept_policies() -> str:
    return keep_upload(policies().to_csv(index=False).encode(), name="policies.csv").sha256


def test_an_upload_is_parsed_once_while_roles_fixes_and_names_change(parsed: list[ReadingOptions]) -> None:
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


def test_a_cached_table_is_unaffected_by_changes_to_returned_copies(parsed: list[ReadingOptions]) -> None:
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
def test_a_deleted_upload_is_removed_from_the_cache(by, home, parsed):
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


def test_an_upload_is_stored_privately_listed_read_back_and_deleted(home: Path) -> None:
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


def test_reading_a_damaged_upload_is_refused_with_the_reason(home: Path) -> None:
    kept = keep_upload(b"content", name="x")
    path = home / "uploads" / f"{kept.sha256}.upload"
    path.write_bytes(b"changed")
    with pytest.raises(StorageError, match="damaged"):
        read_upload(kept.sha256)


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_an_upload_id_that_is_not_a_hash_is_refused(digest: str) -> None:
    for use in (read_upload, uploads.delete_upload):
        with pytest.raises(StorageError, match="not the hash"):
            use(digest)


def test_a_failed_write_is_reported_and_leaves_no_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StorageError, match="No space left on device"):
        keep_upload(b"content", name="x")
    assert not any((home / "uploads").iterdir())


def test_uploads_are_deleted_after_their_retention_time_which_can_be_changed() -> None:
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


def test_files_are_stored_in_the_configured_home_or_else_in_the_system_folders(home, monkeypatch):
    assert (data_folder("uploads"), cache_folder("crime")) == (home / "uploads", home / "cache" / "crime")
    monkeypatch.delenv("FAIRDASH_HOME")
    assert data_folder("uploads").parent != cache_folder("uploads").parent
    assert "fairdash" in str(data_folder("uploads"))


def test_a_catalogue_source_is_loaded_by_its_id_and_default_options_do_not_change_the_id() -> None:
    source = CatalogueSource(dataset="household", options={"n": 300})
    source_id = save_source(source)
    again = load_source(source_id)
    assert (again, again.id, again.load().fingerprint) == (source, source_id, source.load().fingerprint)
    spelled_out = CatalogueSource(dataset="household", options={"n": 5000, "rooms": 4})
    assert CatalogueSource(dataset="household").id == spelled_out.id
    assert CatalogueSource(dataset="household").id != CatalogueSource(dataset="crime").id


def test_data_sources_stored_before_exposure_was_supported_keep_their_id() -> None:
    roles = Roles(target="Cost", sensitive=("Age",), features=("Surface",))
    old = (
        '{"dataset":"household","drop_missing":false,"fairdash_source":1,"kind":"catalogue","options":'
        '{"features_seen":"all","n":300,"random_state":0,"rooms":4,"spread":"sd"},'
        '"roles":{"features":["Surface"],"sensitive":["Age"],"target":"Cost"}}'
    )
    source = CatalogueSource(dataset="household", options={"n": 300}, roles=roles)
    assert DatasetSource.from_json(old) == source
    # The id is the address of the source and appears in links and run folders made before exposure was
    # supported.
    assert source.to_json() == old
    insured = Roles(target="Cost", sensitive=("Age",), features=("Surface",), weight="Rooms")
    weighted = CatalogueSource(dataset="household", options={"n": 300}, roles=insured)
    assert weighted.id != source.id
    again = load_source(save_source(weighted))
    assert (again, set(again.load().weight)) == (weighted, {1.0, 2.0, 3.0, 4.0})


def test_an_upload_source_is_unchanged_after_saving_and_loading() -> None:
    content = policies().to_csv(index=False, sep=";", decimal=",").encode()
    reading = ReadingOptions(delimiter=";", missing_values=("x",))
    kept = keep_upload(content, name="policies.csv")
    source = UploadSource(sha256=kept.sha256, name=kept.name, roles=ROLES, reading=reading, drop_missing=True)
    again = load_source(save_source(source))
    assert again == source
    dataset = again.load()
    assert (dataset.name, dataset.n_rows, dataset.roles) == ("policies", 60, ROLES)
    assert "semicolons" in dataset.notes[0]
    assert dataset.target.tolist() == policies()["cost"].tolist()


@pytest.mark.parametrize("source_id", ["", "0" * 16, "../../../etc/x", "0" * 16 + "\n", "Z" * 16])
def test_unknown_source_ids_are_refused(source_id: str) -> None:
    with pytest.raises(StorageError, match="not stored here"):
        load_source(source_id)


@pytest.mark.parametrize("text", [
    "",
    "null",
    '{"fairdash_source": 2, "kind": "catalogue"}',
    '{"fairdash_source": 1, "kind": "pickle"}',
    '{"fairdash_source": 1, "kind": "catalogue", "dataset": "household"}',
    '{"fairdash_source": 1, "kind": "catalogue", "dataset": "household", "roles": {"target": 5}}',
    '{"fairdash_source": 1, "kind": "upload", "sha256": "../x", "name": "x", "roles": null}',
    '{"fairdash_source": 1, "kind": "catalogue", "dataset": "household", "roles": null, "more": 1}',
])  # fmt: skip
def test_damaged_stored_data_sources_are_refused(text: str, home: Path) -> None:
    with pytest.raises(StorageError):
        DatasetSource.from_json(text)
    path = home / "sources" / ("0" * 16 + ".json")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(StorageError):
        load_source("0" * 16)


def test_a_stored_source_with_an_unknown_data_set_or_invalid_option_is_refused() -> None:
    content = json.loads(CatalogueSource(dataset="household").to_json())
    with pytest.raises(OptionError):
        DatasetSource.from_json(json.dumps(content | {"dataset": "iris"}))
    with pytest.raises(OptionError):
        DatasetSource.from_json(json.dumps(content | {"options": {"rooms": 9}}))


def test_display_names_are_stored_with_a_source_and_leave_the_data_fingerprint_unchanged() -> None:
    plain = CatalogueSource(dataset="household", options={"n": 200})
    named = CatalogueSource(dataset="household", options={"n": 200}, names={"Cost": "yearly price"})
    assert "names" not in plain.to_json()
    assert DatasetSource.from_json(named.to_json()) == named
    assert named.id != plain.id
    dataset = named.load()
    assert dataset.label("Cost").startswith("yearly price")
    assert dataset.called("Age") == "Age"
    assert dataset.fingerprint == plain.load().fingerprint, "a name trains no other model"


def test_a_stored_data_source_with_a_changed_byte_is_refused_as_damaged():
    source = CatalogueSource(dataset="household", options={"n": 600})
    path = data_folder("sources") / f"{save_source(source)}.json"
    path.write_bytes(path.read_bytes().replace(b"600", b"601"))
    with pytest.raises(StorageError, match="damaged"):
        load_source(source.id)
    save_source(source)
    assert load_source(source.id) == source
