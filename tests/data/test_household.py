import numpy as np
import pandas as pd
import pytest

from fairdash.data.simulated import household


@pytest.mark.parametrize(
    ("options", "mean"),
    [({}, 224), ({"spread": "variance"}, 220), ({"rooms": 5}, 246)],
)
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
