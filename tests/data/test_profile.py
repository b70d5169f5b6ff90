import numpy as np
import pandas as pd

from fairdash.data import ColumnProfile, profile_table


def test_each_kind_of_column() -> None:
    frame = pd.DataFrame(
        {
            "price": [1.5, np.nan, 2.5, 1.5],
            "rooms": [1, 2, 3, 4],
            "garden": [True, False, True, True],
            "town": ["a", "b", None, "a"],
            "level": pd.Categorical(["x", "y", "x", None]),
            "day": pd.to_datetime(["2020-01-01", None, "2020-01-02", "2020-01-01"]),
            "nothing": [np.nan] * 4,
            "lists": [[1], [2], None, [1]],
            "nullable": pd.array([1, None, 3, 3], dtype="Int64"),
        }
    )
    got = {profile.name: profile for profile in profile_table(frame)}
    numbers = {"minimum": 1.5, "mean": 5.5 / 3, "maximum": 2.5, "histogram": (2, *[0] * 10, 1)}
    assert got["price"] == ColumnProfile(name="price", kind="number", n_missing=1, n_distinct=2, **numbers)
    assert (got["town"].histogram, sum(got["rooms"].histogram), got["day"].histogram) == ((2, 1), 4, ())
    assert [(p.kind, p.n_missing, p.n_distinct) for p in got.values()] == [
        ("number", 1, 2), ("whole number", 0, 4), ("truth value", 0, 2), ("text", 1, 2), ("text", 1, 2),
        ("date", 1, 2), ("number", 4, 0), ("other", 1, 0), ("whole number", 1, 2),
    ]  # fmt: skip
    assert [got[name].mean for name in ("garden", "town", "nothing")] == [0.75, None, None]
    assert got["nullable"].maximum == 3


def test_huge_numbers_raise_no_warning() -> None:
    (profile,) = profile_table(pd.DataFrame({"x": [1.7e308, 1.7e308]}))
    assert profile.mean == np.inf


def test_means_count_rows_by_exposure() -> None:
    frame = pd.DataFrame({"rate": [0.0, 4.0, np.nan], "power": [1, 3, 5], "years": [1.0, 0.25, 2.0]})
    got = {profile.name: profile.mean for profile in profile_table(frame, weight=frame["years"])}
    assert (got["rate"], got["power"], got["years"]) == (0.25 * 4 / 1.25, (1 + 0.75 + 10) / 3.25, 3.25 / 3)


def test_the_mean_of_a_sum_over_the_exposure_is_one_of_rows() -> None:
    frame = pd.DataFrame({"cost": [0.0, 4.0, 2.0], "years": [1.0, 0.25, 2.0]})
    got = {each.name: each.mean for each in profile_table(frame, weight=frame["years"], totals=["cost"])}
    assert got["cost"] == 2
