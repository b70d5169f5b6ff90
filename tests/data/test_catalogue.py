import subprocess
import sys

import pytest

from fairdash.data import CATALOGUE, load_dataset
from fairdash.errors import OptionError


@pytest.mark.parametrize("dataset_id", ["household", "portfolio"])
def test_a_generated_set_loads_with_its_options_and_says_the_same_of_itself(dataset_id: str) -> None:
    entry = CATALOGUE[dataset_id]
    assert entry.is_local()
    dataset = load_dataset(dataset_id)
    assert (dataset.name, dataset.title, dataset.n_rows) == (entry.id, entry.title, entry.n_rows)
    assert load_dataset("household", n=300, rooms=5, spread="variance").n_rows == 300


@pytest.mark.data
@pytest.mark.parametrize("dataset_id", ["crime", "motor", "motor_tariff", "census_county"])
def test_published_sets_say_the_same_of_themselves(real_data: object, dataset_id: str) -> None:
    entry, dataset = CATALOGUE[dataset_id], load_dataset(dataset_id)
    assert entry.is_local()
    assert (dataset.name, dataset.title, dataset.n_rows) == (entry.id, entry.title, entry.n_rows)
    table = dataset.table()
    assert set(dataset.units) <= set(table)
    assert set(dataset.meanings) <= set(table)


def test_every_set_is_made_here_fetched_or_brought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRDASH_DATA", raising=False)
    for entry in CATALOGUE.values():
        ways = [entry.is_local(), entry.needs_download, bool(entry.bring)]
        assert ways.count(True) == 1, entry.id


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"n": 99}, 1),
        ({"n": 200.0}, 1),
        ({"rooms": True}, 1),
        ({"spread": "wide", "random_state": -1, "colour": "red"}, 3),
        ({"features_seen": ["all"]}, 1),
    ],
)
def test_options_that_cannot_be_used_are_all_named(options: dict, columns: int) -> None:
    with pytest.raises(OptionError) as caught:
        load_dataset("household", **options)
    assert len(caught.value.problems) == columns


def test_an_unknown_data_set() -> None:
    with pytest.raises(
        OptionError, match="household, crime, motor, motor_tariff, portfolio, census, census_county"
    ):
        load_dataset("iris")


def test_importing_the_room_is_light() -> None:
    code = "import fairdash.data, sys; print([m for m in {'torch', 'sklearn', 'requests', 'scipy', 'streamlit'} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
