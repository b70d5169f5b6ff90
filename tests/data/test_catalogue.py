import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairdash.data import CATALOGUE, load_dataset
from fairdash.data.simulated import household
from fairdash.errors import OptionError


@pytest.mark.parametrize("dataset_id", ["household", "portfolio"])
def test_a_generated_set_loads_with_its_options_and_says_the_same_of_itself(dataset_id: str) -> None:
    entry = CATALOGUE[dataset_id]
    assert entry.is_local()
    dataset = load_dataset(dataset_id)
    assert (dataset.name, dataset.title, dataset.n_rows) == (entry.id, entry.title, entry.n_rows)
    assert load_dataset("household", n=300, rooms=5, spread="variance").n_rows == 300


def test_every_set_is_made_here_fetched_or_brought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRDASH_DATA", raising=False)
    for entry in CATALOGUE.values():
        ways = [entry.is_local(), entry.needs_download, bool(entry.bring)]
        assert ways.count(True) == 1, entry.id


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"n": 99}, 1), ({"n": 200.0}, 1), ({"rooms": True}, 1),
        ({"spread": "wide", "random_state": -1, "colour": "red"}, 3), ({"features_seen": ["all"]}, 1),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(("options", "mean"), [({}, 224), ({"spread": "variance"}, 220), ({"rooms": 5}, 246)])
def test_mean_cost_is_the_one_the_formula_gives(options: dict, mean: float) -> None:
    # The expectation in closed form, which the notes on the paper round to whole euros.
    age, building = (25, 100) if options.get("spread") != "variance" else (5, 10)
    n_rooms = options.get("rooms", 4)
    exact = 150 + 0.0005 * np.exp(0.07 * 120 + 0.07**2 / 2) / np.sqrt(1 + 2 * 0.07 * 0.25 * age) * np.exp(
        0.08 * 30 + 0.08**2 * building / 2
    ) * np.mean(np.exp(0.4 * np.arange(1, n_rooms + 1)))
    assert exact == pytest.approx(mean, abs=0.6)
    dataset = household(n=400_000, **options)
    assert dataset.target.mean() == pytest.approx(exact, abs=1)


def test_cost_follows_from_what_is_seen_and_age_is_not_seen() -> None:
    dataset = household(n=500)
    x = dataset.features
    expected = 150 + 0.0005 * np.exp(0.07 * x["Surface"] + 0.08 * x["BldgAge"] + 0.4 * x["Rooms"])
    pd.testing.assert_series_equal(dataset.target, expected, check_names=False)
    assert list(dataset.sensitive) == ["Age"]
    assert "Age" not in dataset.features
    assert set(x["Rooms"]) == {1, 2, 3, 4}


def test_same_seed_same_table_and_options_change_only_their_own_part() -> None:
    first, again, other = household(n=200), household(n=200), household(n=200, random_state=1)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    five = household(n=200, rooms=5)
    pd.testing.assert_frame_equal(first.sensitive, five.sensitive)
    pd.testing.assert_series_equal(first.features["Surface"], five.features["Surface"])
