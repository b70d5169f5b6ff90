import doctest
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.data import Dataset, Roles
from fairdash.data import dataset as dataset_module
from fairdash.data.catalogue import load_dataset
from fairdash.data.dataset import MIN_GROUPS, draw_rows
from fairdash.errors import DataError, Problem


def parts(**changes: object) -> dict:
    given = {
        "name": "tiny",
        "features": pd.DataFrame(
            {
                "rooms": [1, 2, 3, 4],
                "area": [10.5, np.nan, 30, 40],
                "garden": [True, False, True, True],
                "town": pd.Categorical(["Lyon", None, "Brest", "Lyon"]),
                "street": ["a", "b", "c", None],
            }
        ),
        "target": pd.Series([1.0, 2, 3, 4], name="cost"),
        "sensitive": pd.DataFrame({"age": [40.0, 50, 60, 70]}),
    }
    return given | changes


def test_a_sound_table_is_taken_as_it_is() -> None:
    dataset = Dataset(**parts(units={"age": "years"}))
    assert (dataset.n_rows, dataset.title, dataset.label("age")) == (4, "tiny", "age (years)")
    assert dataset.label("rooms") == "rooms"
    assert dataset.roles == Roles(
        target="cost", sensitive=("age",), features=("rooms", "area", "garden", "town", "street")
    )
    assert list(dataset.table()) == ["rooms", "area", "garden", "town", "street", "age", "cost"]


def test_rows_are_numbered_from_zero_and_the_callers_frame_stays_apart() -> None:
    features = parts()["features"].set_index(pd.Index([7, 3, 9, 1]))
    dataset = Dataset(**parts(features=features))
    features["rooms"] = 0
    assert dataset.features["rooms"].tolist() == [1, 2, 3, 4]
    assert isinstance(dataset.features.index, pd.RangeIndex)
    assert features.index.tolist() == [7, 3, 9, 1]


def exposure(*years: float) -> pd.Series:
    return pd.Series(years, name="years", dtype=float)


def test_exposure_is_a_part_of_its_own() -> None:
    dataset = Dataset(**parts(weight=exposure(1, 0.5, 0.25, 1), units={"years": "a"}))
    assert dataset.roles.weight == "years"
    assert "years" not in dataset.features
    assert list(dataset.table())[-2:] == ["cost", "years"]
    assert (dataset.table()["years"].tolist(), dataset.label("years")) == ([1, 0.5, 0.25, 1], "years (a)")
    assert "weight='years'" in repr(dataset)
    assert Dataset(**parts()).roles.weight is None
    assert "weight" not in repr(Dataset(**parts()))


def test_all_problems_are_said_at_once() -> None:
    features = pd.DataFrame({"age": [1, 2, 3, 4], "odd": [[1], [2], [3], [4]], "big": [1e200, 1, np.inf, 2]})
    constant = pd.Series([5.0] * 4, name="cost")
    with pytest.raises(DataError) as caught:
        Dataset(**parts(features=features, target=constant, sensitive=features[["age"]]))
    said = {(problem.column, problem.what.split(" ")[0]) for problem in caught.value.problems}
    assert said == {
        ("age", "the"),  # the name is used for several roles; the sensitive column is of type int64
        ("odd", "a"),  # a feature can't be of type object
        ("big", "numbers"),  # numbers this large …
        ("big", "infinite"),
        ("cost", "the"),  # the target holds the same value …
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": pd.Series([1.0, 2], name="cost")}, "4, 2 and 4 rows"),
        ({"target": pd.Series([1, 2, 3, 4], name="cost")}, "int64, not float64"),
        ({"target": pd.Series([1.0, np.nan, 3, 4], name="cost")}, "missing cells (1 place)"),
        ({"target": pd.Series([1.0, np.inf, 3, 4], name="cost")}, "infinite"),
        ({"target": pd.Series([1.0, 1e200, 3, 4], name="cost")}, "can't be squared"),
        ({"target": pd.Series([1.0, 2, 3, 4], name=3)}, "name is not text"),
        ({"sensitive": pd.DataFrame({"age": [1.0] * 4})}, "same value in every row"),
        ({"sensitive": pd.DataFrame(index=range(4))}, "no sensitive column"),
        ({"features": pd.DataFrame(index=range(4))}, "no feature"),
        ({key: part.iloc[:0] for key, part in parts().items() if key != "name"}, "no rows"),
        ({"weight": exposure(1, 0, 1, 1)}, "above zero, and in some rows it is not (1 place)"),
        ({"weight": exposure(1, np.nan, 1, 1)}, "the exposure has missing cells (1 place)"),
        ({"weight": exposure(1, np.inf, 1, 1)}, "infinite numbers can't be used (1 place)"),
        ({"weight": exposure(1, 1e200, 1, 1)}, "can't be squared"),
        ({"weight": exposure(1, 1, 1, 1).astype(int)}, "the exposure is of type int64"),
        ({"weight": exposure(1, 1, 1)}, "exposure and sensitive columns have 4, 4, 3 and 4 rows"),
        ({"weight": exposure(1, 1, 1, 1).rename("rooms")}, "several columns or roles"),
        ({"weight": exposure(1, 1, 1, 1).rename(None)}, "name is not text"),
    ],
)
@pytest.mark.every_case
def test_what_is_refused(changes: dict, words: str) -> None:
    with pytest.raises(DataError, match=re.escape(words)):
        Dataset(**parts(**changes))


def test_the_fingerprint_is_that_of_the_content_and_of_any_change_of_it_another() -> None:
    first = Dataset(**parts()).fingerprint
    assert len(first) == 64
    assert Dataset(**parts(name="other", title="T", notes=("n",), units={"age": "a"})).fingerprint == first
    copied = {key: part.copy() if key != "name" else part for key, part in parts().items()}
    assert Dataset(**copied).fingerprint == first
    features, one = parts()["features"], exposure(1, 1, 1, 1)
    others = (
        features,
        features.assign(rooms=[1, 2, 3, 5]),
        features.assign(rooms=features["rooms"].astype(float)),
        features.assign(area=[10.5, 0, 30, 40]),
        features.assign(town=features["town"].cat.add_categories("Nice")),
        features.assign(street=["a", "b", None, "c"]),
        features[["area", "rooms", "garden", "town", "street"]],
        features.rename(columns={"rooms": "Rooms"}),
    )
    changes = [{"features": each} for each in others]
    changes += [{"weight": each} for each in (one, exposure(1, 1, 1, 2), one.rename("days"))]
    assert len({Dataset(**parts(**each)).fingerprint for each in changes}) == len(changes)


def test_missing_and_zero_have_one_form() -> None:
    odd_nan = np.frombuffer(np.uint64(0xFFF8000000000001).tobytes())[0]
    first = parts()["features"].assign(area=[0.0, np.nan, 1, 2])
    second = parts()["features"].assign(area=[-0.0, odd_nan, 1, 2])
    assert Dataset(**parts(features=first)).fingerprint == Dataset(**parts(features=second)).fingerprint


def test_roles_take_tuples() -> None:
    with pytest.raises(TypeError, match="tuple"):
        Roles(target="a", sensitive="age", features=("b",))
    assert Roles(target="a", sensitive=["age"], features=["b"]).sensitive == ("age",)


DATASET = load_dataset("household", n=3000)


def test_rows_are_different_in_order_and_those_of_the_seed():
    rows = draw_rows(DATASET, 500, random_state=3)
    assert len(rows) == 500
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(rows, draw_rows(DATASET, 500, random_state=3))
    assert not np.array_equal(rows, draw_rows(DATASET, 500, random_state=4))
    # No part of the table is drawn more often: quarters hold about 125 each.
    assert np.abs(np.histogram(rows, 4, (0, 3000))[0] - 125).max() < 40


def test_rows_of_a_policy_come_together():
    policies = np.random.default_rng(0).integers(0, 1200, DATASET.n_rows)
    rows = draw_rows(replace(DATASET, group=pd.Series(policies, name="policy")), 800, random_state=0)
    drawn = np.isin(policies, policies[rows])
    assert drawn.sum() == len(rows)
    assert 800 <= len(rows) < 820


def test_of_a_few_large_groups_rows_are_drawn():
    few = np.arange(DATASET.n_rows) % (MIN_GROUPS // 4)
    rows = draw_rows(replace(DATASET, group=pd.Series(few, name="region")), 800, random_state=0)
    assert (len(rows), len(np.unique(few[rows]))) == (800, MIN_GROUPS // 4)


def test_the_modules_example_holds():
    assert doctest.testmod(dataset_module, extraglobs={"fd": fd}).failed == 0


def test_an_error_names_five_lines_and_says_that_there_are_more():
    found = Problem(what="They are empty", hint="Fill them.", column="age", lines=(2, 3, 4, 5, 6, 7))
    assert str(found) == "Column “age”: they are empty (lines 2, 3, 4, 5, 6, …). Fill them."
