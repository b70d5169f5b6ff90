import json
from pathlib import Path

import pytest

from fairdash.data import CatalogueSource, DatasetSource, ReadingOptions, Roles, UploadSource, keep_upload
from fairdash.data.source import load_source, save_source
from fairdash.errors import DataError, OptionError, StorageError
from fairdash.storage import data_folder
from tests.data.tables import ROLES, policies


def uploaded(content: bytes, **options: object) -> UploadSource:
    kept = keep_upload(content, name="policies.csv")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=ROLES, **options)


def test_a_catalogue_set_survives_a_reload_and_defaults_spelled_out_are_the_same() -> None:
    source = CatalogueSource(dataset="household", options={"n": 300})
    source_id = save_source(source)
    again = load_source(source_id)
    assert (again, again.id, again.load().fingerprint) == (source, source_id, source.load().fingerprint)
    spelled_out = CatalogueSource(dataset="household", options={"n": 5000, "rooms": 4})
    assert CatalogueSource(dataset="household").id == spelled_out.id
    assert CatalogueSource(dataset="household").id != CatalogueSource(dataset="crime").id


def test_recipes_with_and_without_exposure() -> None:
    roles = Roles(target="Cost", sensitive=("Age",), features=("Surface",))
    old = (
        '{"dataset":"household","drop_missing":false,"fairdash_source":1,"kind":"catalogue","options":'
        '{"features_seen":"all","n":300,"random_state":0,"rooms":4,"spread":"sd"},'
        '"roles":{"features":["Surface"],"sensitive":["Age"],"target":"Cost"}}'
    )
    source = CatalogueSource(dataset="household", options={"n": 300}, roles=roles)
    assert DatasetSource.from_json(old) == source
    # Its id is its address, and stands in links and run folders made before exposure was known.
    assert source.to_json() == old
    insured = Roles(target="Cost", sensitive=("Age",), features=("Surface",), weight="Rooms")
    weighted = CatalogueSource(dataset="household", options={"n": 300}, roles=insured)
    assert weighted.id != source.id
    again = load_source(save_source(weighted))
    assert (again, set(again.load().weight)) == (weighted, {1.0, 2.0, 3.0, 4.0})


def test_an_upload_survives_a_reload() -> None:
    content = policies().to_csv(index=False, sep=";", decimal=",").encode()
    reading = ReadingOptions(delimiter=";", missing_values=("x",))
    source = uploaded(content, reading=reading, drop_missing=True)
    again = load_source(save_source(source))
    assert again == source
    dataset = again.load()
    assert (dataset.name, dataset.n_rows, dataset.roles) == ("policies", 60, ROLES)
    assert "semicolons" in dataset.notes[0]
    assert dataset.target.tolist() == policies()["cost"].tolist()


def test_problems_of_an_upload_have_lines_of_the_file() -> None:
    frame = policies()
    frame.loc[4, "cost"] = None
    frame["town"] = frame["town"] + "\nFrance"
    source = uploaded(frame.to_csv(index=False).encode())
    with pytest.raises(DataError) as caught:
        source.load()
    # The header, then two lines a row.
    assert list(caught.value.problems[0].lines) == [10]


@pytest.mark.parametrize("source_id", ["", "0" * 16, "../../../etc/x", "0" * 16 + "\n", "Z" * 16])
def test_unknown_addresses(source_id: str) -> None:
    with pytest.raises(StorageError, match="not stored here"):
        load_source(source_id)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        '{"fairdash_source": 2, "kind": "catalogue"}',
        '{"fairdash_source": 1, "kind": "pickle"}',
        '{"fairdash_source": 1, "kind": "catalogue", "dataset": "household"}',
        '{"fairdash_source": 1, "kind": "catalogue", "dataset": "household", "roles": {"target": 5, '
        '"sensitive": ["a"], "features": ["b"]}}',
        '{"fairdash_source": 1, "kind": "upload", "sha256": "../x", "name": "x", "roles": null}',
        '{"fairdash_source": 1, "kind": "catalogue", "dataset": "household", "roles": null, "more": 1}',
    ],
)
def test_damaged_recipes(text: str, home: Path) -> None:
    with pytest.raises(StorageError):
        DatasetSource.from_json(text)
    path = home / "sources" / ("0" * 16 + ".json")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(StorageError):
        load_source("0" * 16)


def test_a_recipe_for_a_set_or_an_option_that_is_unknown() -> None:
    content = json.loads(CatalogueSource(dataset="household").to_json())
    with pytest.raises(OptionError):
        DatasetSource.from_json(json.dumps(content | {"dataset": "iris"}))
    with pytest.raises(OptionError):
        DatasetSource.from_json(json.dumps(content | {"options": {"rooms": 9}}))


def test_names_for_people_go_along_and_change_no_id_where_there_are_none() -> None:
    plain = CatalogueSource(dataset="household", options={"n": 200})
    named = CatalogueSource(dataset="household", options={"n": 200}, names={"Cost": "yearly price"})
    assert "names" not in plain.to_json()
    assert DatasetSource.from_json(named.to_json()) == named
    assert named.id != plain.id
    dataset = named.load()
    assert dataset.label("Cost").startswith("yearly price")
    assert dataset.called("Age") == "Age"
    assert dataset.fingerprint == plain.load().fingerprint, "a name trains no other model"


def test_a_recipe_of_which_a_byte_has_changed_is_damaged():
    source = CatalogueSource(dataset="household", options={"n": 600})
    path = data_folder("sources") / f"{save_source(source)}.json"
    path.write_bytes(path.read_bytes().replace(b"600", b"601"))
    with pytest.raises(StorageError, match="damaged"):
        load_source(source.id)
    save_source(source)
    assert load_source(source.id) == source
