import re

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles
from fairdash.tables.features import exclusion_reason
from tests.data.tables import all_features, build, policies, unusable


def test_a_sound_table() -> None:
    dataset = build(policies(), units={"age": "years", "gone": "m"}, notes=("Read well.",))
    assert (dataset.n_rows, dataset.sensitive["age"].dtype) == (60, np.float64)
    assert dataset.features["rooms"].dtype == np.int64
    assert list(dataset.features["town"].cat.categories) == ["Brest", "Lyon", "Paris"]
    assert (dataset.units, dataset.notes) == ({"age": "years"}, ("Read well.",))


def test_rows_dropped_are_the_union_over_columns() -> None:
    frame = policies(70).astype({"age": float})
    frame.loc[[3, 11], "age"] = np.nan
    frame.loc[[11, 12], "cost"] = np.nan
    assert build(frame, drop_missing=True).n_rows == 67


@pytest.mark.bad_input(12)
def test_too_few_rows() -> None:
    assert "49 rows left: training and testing need at least 50" in str(unusable(policies(49)))
    assert build(policies(50)).n_rows == 50


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (Roles(target="cost", sensitive=("age",), features=("cost",)), "the target can't be a feature"),
        (
            Roles(target="cost", sensitive=("age",), features=("age",)),
            "a sensitive column can't be a feature",
        ),
        (Roles(target="gone", sensitive=("age",), features=("rooms",)), "“gone”: there is no such column"),
        (Roles(target="cost", sensitive=(), features=("rooms",)), "No sensitive column is chosen"),
        (Roles(target="cost", sensitive=("age",), features=()), "No feature is chosen"),
        (Roles(target="cost", sensitive=("age",), features=("rooms", "rooms")), "chosen twice"),
    ],
)
def test_roles_that_contradict_themselves(roles: Roles, words: str) -> None:
    assert words in str(unusable(policies(), roles))


@pytest.mark.bad_input(26)
def test_useless_features_are_left_out_and_said_so() -> None:
    frame = policies().assign(
        empty=np.nan,
        same=7,
        same_or_missing=[1.0] * 30 + [np.nan] * 30,
        name=[f"person {i}" for i in range(60)],
        day=pd.date_range("2020-01-01", periods=60),
        written_day=[f"{1 + i % 5}.3.2020" for i in range(60)],
        mixed=[1, "a"] * 30,
    )
    dataset = build(frame, all_features(frame))
    assert list(dataset.features) == ["rooms", "town"]
    assert dataset.notes == (
        "1 column left out: every cell is missing (“empty”).",
        "2 columns left out: only one value (“same”, “same_or_missing”).",
        "1 column left out: almost as many levels as rows, like an identifier (“name”).",
        "1 column left out: dates (“day”).",
        "1 column left out: dates written as text (“written_day”).",
        "1 column left out: the cells are neither numbers nor text (“mixed”).",
    )


def test_no_feature_left() -> None:
    frame = policies().assign(rooms=1, town="Lyon")
    assert "No feature is left" in str(unusable(frame))


@pytest.mark.bad_input(28)
def test_truth_values_become_0_and_1() -> None:
    frame = policies().assign(garden=[True, False] * 30, sold=pd.array([True, None] * 30, dtype="boolean"))
    frame.loc[3, "sold"] = False
    dataset = build(frame, all_features(frame))
    assert (set(dataset.features["garden"]), dataset.features["sold"].isna().sum()) == ({0, 1}, 29)
    assert "“garden”: true is 1, false is 0." in dataset.notes
    sensitive = build(frame, Roles(target="cost", sensitive=("garden",), features=("rooms",)))
    assert set(sensitive.sensitive["garden"]) == {0.0, 1.0}
    assert "“garden”: true is 1, false is 0." in sensitive.notes


@pytest.mark.bad_input(33)
def test_numbers_beyond_single_precision_are_rescaled() -> None:
    frame = policies()
    frame["cost"] *= 1e200
    frame["rooms"] = frame["rooms"] * 1e-40
    dataset = build(frame, units={"cost": "€"})
    assert 1 <= dataset.target.max() < 10
    assert 1 <= dataset.features["rooms"].max() < 10
    assert dataset.units == {"cost": "10^202 €", "rooms": "10^-40"}
    assert np.corrcoef(dataset.target, frame["cost"] / 1e200)[0, 1] == pytest.approx(1)


def test_identifiers_are_judged_by_share_and_number() -> None:
    def levels(n_levels: int, n_rows: int) -> str | None:
        return exclusion_reason(pd.Series([f"level {i % n_levels}" for i in range(n_rows)]))

    assert levels(19, 19) is None
    assert levels(25, 60) is None
    assert re.match("almost as many levels", levels(31, 60) or "")
    assert levels(500, 2000) is None
    assert levels(501, 2000) == "more than 500 levels"
