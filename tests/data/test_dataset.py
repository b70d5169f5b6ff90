import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.data import Dataset, Roles, build_dataset
from fairdash.data.catalogue import load_dataset
from fairdash.data.dataset import MIN_GROUPS, draw_rows
from fairdash.errors import DataError, Problem
from fairdash.tables.columns import sensitive_table
from fairdash.utils.classes import OTHERS, class_columns, classes_of, column_of


def parts(**changes: object) -> dict:
    features = {"rooms": [1, 2, 3, 4], "area": [10.5, np.nan, 30, 40], "garden": [True, False, True, True]}
    features |= {"town": pd.Categorical(["Lyon", None, "Brest", "Lyon"]), "street": ["a", "b", "c", None]}
    given = {
        "name": "tiny",
        "features": pd.DataFrame(features),
        "target": pd.Series([1.0, 2, 3, 4], name="cost"),
    }
    return given | {"sensitive": pd.DataFrame({"age": [40.0, 50, 60, 70]})} | changes


def test_a_valid_table_is_accepted_unchanged() -> None:
    dataset = Dataset(**parts(units={"age": "years"}))
    assert (dataset.n_rows, dataset.title, dataset.label("age")) == (4, "tiny", "age (years)")
    assert dataset.label("rooms") == "rooms"
    features = ("rooms", "area", "garden", "town", "street")
    assert dataset.roles == Roles(target="cost", sensitive=("age",), features=features)
    assert list(dataset.table()) == [*features, "age", "cost"]


def test_a_data_set_numbers_its_rows_from_zero_and_copies_the_callers_frame() -> None:
    features = parts()["features"].set_index(pd.Index([7, 3, 9, 1]))
    dataset = Dataset(**parts(features=features))
    features["rooms"] = 0
    assert (dataset.features["rooms"].tolist(), features.index.tolist()) == ([1, 2, 3, 4], [7, 3, 9, 1])
    assert isinstance(dataset.features.index, pd.RangeIndex)


def exposure(*years: float) -> pd.Series:
    return pd.Series(years, name="years", dtype=float)


def test_exposure_is_stored_as_the_weight_and_not_as_a_feature() -> None:
    dataset = Dataset(**parts(weight=exposure(1, 0.5, 0.25, 1), units={"years": "a"}))
    assert (dataset.roles.weight, list(dataset.table())[-2:]) == ("years", ["cost", "years"])
    assert "years" not in dataset.features
    assert (dataset.table()["years"].tolist(), dataset.label("years")) == ([1, 0.5, 0.25, 1], "years (a)")
    assert "weight='years'" in repr(dataset)
    assert Dataset(**parts()).roles.weight is None
    assert "weight" not in repr(Dataset(**parts()))


def test_all_problems_of_a_table_are_reported_at_once() -> None:
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


@pytest.mark.parametrize(("changes", "words"), [
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
    ({"weight": exposure(1, 1, 1, 1).astype(int)}, "the exposure is of type int64"),
    ({"weight": exposure(1, 1, 1)}, "exposure and sensitive columns have 4, 4, 3 and 4 rows"),
    ({"weight": exposure(1, 1, 1, 1).rename("rooms")}, "several columns or roles"),
])  # fmt: skip
@pytest.mark.every_case
def test_invalid_parts_of_a_data_set_are_refused(changes: dict, words: str) -> None:
    with pytest.raises(DataError, match=re.escape(words)):
        Dataset(**parts(**changes))


def test_the_fingerprint_depends_only_on_the_content_and_changes_with_every_change_of_the_content() -> None:
    first = Dataset(**parts()).fingerprint
    assert len(first) == 64
    assert Dataset(**parts(name="other", title="T", notes=("n",), units={"age": "a"})).fingerprint == first
    copied = {key: part.copy() if key != "name" else part for key, part in parts().items()}
    assert Dataset(**copied).fingerprint == first
    features, one = parts()["features"], exposure(1, 1, 1, 1)
    others = (
        features, features.assign(rooms=[1, 2, 3, 5]), features.assign(rooms=features["rooms"].astype(float)),
        features.assign(area=[10.5, 0, 30, 40]), features.assign(street=["a", "b", None, "c"]),
        features.assign(town=features["town"].cat.add_categories("Nice")),
        features[["area", "rooms", "garden", "town", "street"]], features.rename(columns={"rooms": "Rooms"}),
    )  # fmt: skip
    changes = [{"features": each} for each in others]
    changes += [{"weight": each} for each in (one, exposure(1, 1, 1, 2), one.rename("days"))]
    assert len({Dataset(**parts(**each)).fingerprint for each in changes}) == len(changes)


def test_the_fingerprint_is_the_same_for_every_form_of_nan_and_zero() -> None:
    odd_nan = np.frombuffer(np.uint64(0xFFF8000000000001).tobytes())[0]
    first = parts()["features"].assign(area=[0.0, np.nan, 1, 2])
    second = parts()["features"].assign(area=[-0.0, odd_nan, 1, 2])
    assert Dataset(**parts(features=first)).fingerprint == Dataset(**parts(features=second)).fingerprint


def test_roles_store_columns_as_tuples_and_refuse_a_plain_string() -> None:
    with pytest.raises(TypeError, match="tuple"):
        Roles(target="a", sensitive="age", features=("b",))
    assert Roles(target="a", sensitive=["age"], features=["b"]).sensitive == ("age",)


DATASET = load_dataset("household", n=3000)


def test_drawn_rows_are_distinct_sorted_and_determined_by_the_seed():
    rows = draw_rows(DATASET, 500, random_state=3)
    assert len(rows) == 500
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(rows, draw_rows(DATASET, 500, random_state=3))
    assert not np.array_equal(rows, draw_rows(DATASET, 500, random_state=4))
    # All quarters of the table are drawn equally often, about 125 times each.
    assert np.abs(np.histogram(rows, 4, (0, 3000))[0] - 125).max() < 40


def test_drawn_rows_include_all_rows_of_each_chosen_policy():
    policies = np.random.default_rng(0).integers(0, 1200, DATASET.n_rows)
    rows = draw_rows(replace(DATASET, group=pd.Series(policies, name="policy")), 800, random_state=0)
    drawn = np.isin(policies, policies[rows])
    assert drawn.sum() == len(rows)
    assert 800 <= len(rows) < 820


def test_single_rows_are_drawn_if_there_are_only_a_few_large_groups():
    few = np.arange(DATASET.n_rows) % (MIN_GROUPS // 4)
    rows = draw_rows(replace(DATASET, group=pd.Series(few, name="region")), 800, random_state=0)
    assert (len(rows), len(np.unique(few[rows]))) == (800, MIN_GROUPS // 4)


def test_a_reported_problem_lists_five_line_numbers_and_indicates_that_there_are_more():
    found = Problem(what="They are empty", hint="Fill them.", column="age", lines=(2, 3, 4, 5, 6, 7))
    assert str(found) == "Column “age”: they are empty (lines 2, 3, 4, 5, 6, …). Fill them."


# Classes as sensitive columns: how they are read, coded and described, and which are refused.


SHARES = {"A": 0.3, "B": 0.3, "C": 0.2, "D": 0.1, "E": 0.06, "F": 0.02, "G": 0.02}


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"cost": rng.gamma(2.0, 100.0, n), "sex": rng.choice(["F", "M"], n)})
    frame["region"] = rng.choice(list(SHARES), n, p=list(SHARES.values()))
    return frame.assign(rooms=rng.integers(1, 6, n))


def build(frame: pd.DataFrame, *sensitive: str, **more: object) -> Dataset:
    roles = Roles(target="cost", sensitive=sensitive, features=("rooms",))
    return build_dataset(frame, roles, name="test", **more)


def test_a_sensitive_column_of_two_classes_becomes_0_and_1_with_a_note_on_the_coding() -> None:
    frame = people()
    dataset = build(frame, "sex")
    assert (dataset.sensitive["sex"] == (frame["sex"] == "M")).all()
    assert dataset.classes == {"sex": ("F", "M")}
    assert "“sex” is 1 for “M” and 0 for “F”." in dataset.notes


def test_three_or_more_classes_become_one_column_each_and_rare_classes_are_merged() -> None:
    frame = people()
    dataset = build(frame, "region", names={"region": "Region"})
    assert dataset.classes["region"] == ("A", "B", "C", "D", "E", OTHERS)
    assert (dataset.sensitive.sum(axis=1) == 1).all()
    assert (dataset.sensitive["region: B"] == (frame["region"] == "B")).all()
    assert (dataset.sensitive[f"region: {OTHERS}"] == frame["region"].isin(["F", "G"])).all()
    assert any("“F”, “G” are merged into “all others”" in note for note in dataset.notes)
    assert dataset.called("region: B") == "Region: B"
    assert dataset.take(np.arange(100)).classes == dataset.classes


def test_missing_classes_are_reported_as_one_problem_of_the_original_column() -> None:
    frame = people()
    frame.loc[[3, 5], "region"] = None
    with pytest.raises(DataError) as caught:
        build(frame, "region", lines=np.arange(len(frame)) + 2)
    (problem,) = caught.value.problems
    assert (problem.column, problem.count, list(problem.lines)) == ("region", 2, [5, 7])
    assert build(frame, "region", fixes=problem.fixes).n_rows == 598


@pytest.mark.parametrize(("values", "said"), [
    ([f"p{k}" for k in range(600)], "most of its rows are in classes of fewer than 20 rows"),
    ([f"p{k % 30}" for k in range(600)], "more than 25 classes"),
    (["F"] * 600, "same value in every row"),
])  # fmt: skip
def test_classes_that_cannot_be_compared_are_refused_without_quoting_cells(values, said):
    with pytest.raises(DataError, match=said) as caught:
        build(people().assign(region=values), "region")
    assert "p1" not in str(caught.value)


def test_bands_dates_and_numbers_as_text_are_refused_as_sensitive_classes() -> None:
    for values in (["18-25", "26-40"], ["2020-01-31", "2021-05-30"], ["01", "02"]):
        with pytest.raises(DataError, match="must hold numbers"):
            build(people().assign(region=values * 300), "region")


def test_an_estimators_sensitive_features_may_be_classes() -> None:
    frame = people()
    given = sensitive_table(frame[["sex", "region"]], name="s")
    assert given.shape == (600, 7)
    assert (given[:, 0] == (frame["sex"] == "M")).all()
    assert (given[:, 1:].sum(axis=1) == 1).all()


def test_merging_rare_classes_always_leaves_at_least_two_classes() -> None:
    assert classes_of(["a"] * 990 + ["b"] * 10).names == ("a", "b")
    three = classes_of(["a"] * 985 + ["b"] * 10 + ["c"] * 5)
    assert (three.names, three.merged) == (("a", OTHERS), {"b": 10, "c": 5})


def test_the_original_column_of_a_class_is_found_from_its_name() -> None:
    assert column_of("region: A", ("sex", "region")) == "region"
    roles = Roles(target="cost", sensitive=("sex", "region"), features=("rooms",))
    assert roles.reads(["sex", "region: A", "region: B"])
    assert not roles.reads(["region: A", "sex"])
    assert not roles.reads(["sex"])


def test_dependence_measures_do_not_depend_on_the_names_of_classes() -> None:
    frame = people()
    u = frame["cost"] + 60 * (frame["region"] == "C")
    value = fd.measure("hgr_spline", u, frame["region"])
    assert value > 0.1
    renamed = frame["region"].map(dict(zip(SHARES, reversed(SHARES), strict=True)))
    assert fd.measure("hgr_spline", u, renamed) == pytest.approx(value, abs=1e-9)
    assert fd.measure("hgr_spline", u, class_columns(frame["region"])) == value
    assert fd.measure("pearson", u, frame["sex"]) == fd.measure("pearson", u, frame["sex"] == "M")
