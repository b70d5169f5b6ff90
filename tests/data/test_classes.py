"""Classes as sensitive columns: how they are read, encoded and said, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.data import Dataset, Roles, build_dataset
from fairdash.errors import DataError
from fairdash.tables.columns import sensitive_table
from fairdash.utils.classes import OTHERS, class_columns, classes_of, column_of

SHARES = {"A": 0.3, "B": 0.3, "C": 0.2, "D": 0.1, "E": 0.06, "F": 0.02, "G": 0.02}


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"cost": rng.gamma(2.0, 100.0, n), "sex": rng.choice(["F", "M"], n)})
    return frame.assign(
        region=rng.choice(list(SHARES), n, p=list(SHARES.values())), rooms=rng.integers(1, 6, n)
    )


def build(frame: pd.DataFrame, *sensitive: str, **more: object) -> Dataset:
    roles = Roles(target="cost", sensitive=sensitive, features=("rooms",))
    return build_dataset(frame, roles, name="test", **more)


def test_two_classes_are_0_and_1_and_which_is_said() -> None:
    frame = people()
    dataset = build(frame, "sex")
    assert (dataset.sensitive["sex"] == (frame["sex"] == "M")).all()
    assert dataset.classes == {"sex": ("F", "M")}
    assert "“sex” is 1 for “M” and 0 for “F”." in dataset.notes


def test_more_classes_are_a_column_each_and_rare_ones_are_taken_together() -> None:
    frame = people()
    dataset = build(frame, "region", names={"region": "Region"})
    assert dataset.classes["region"] == ("A", "B", "C", "D", "E", OTHERS)
    assert (dataset.sensitive.sum(axis=1) == 1).all()
    assert (dataset.sensitive["region: B"] == (frame["region"] == "B")).all()
    assert (dataset.sensitive[f"region: {OTHERS}"] == frame["region"].isin(["F", "G"])).all()
    assert any("“F”, “G” are merged into “all others”" in note for note in dataset.notes)
    assert dataset.called("region: B") == "Region: B"
    assert dataset.take(np.arange(100)).classes == dataset.classes


def test_missing_classes_are_one_problem_of_the_tables_own_column() -> None:
    frame = people()
    frame.loc[[3, 5], "region"] = None
    with pytest.raises(DataError) as caught:
        build(frame, "region", lines=np.arange(len(frame)) + 2)
    (problem,) = caught.value.problems
    assert (problem.column, problem.count, list(problem.lines)) == ("region", 2, [5, 7])
    assert build(frame, "region", fixes=problem.fixes).n_rows == 598


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([f"p{k}" for k in range(600)], "most of its rows are in classes of fewer than 20 rows"),
        ([f"p{k % 30}" for k in range(600)], "more than 25 classes"),
        (["F"] * 600, "same value in every row"),
    ],
)
def test_what_can_not_be_compared_is_refused_without_its_cells(values: list[str], said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        build(people().assign(region=values), "region")
    assert "p1" not in str(caught.value)


def test_bands_dates_and_numbers_as_text_are_no_classes() -> None:
    for values in (["18-25", "26-40"], ["2020-01-31", "2021-05-30"], ["01", "02"]):
        with pytest.raises(DataError, match="must hold numbers"):
            build(people().assign(region=values * 300), "region")


def test_an_estimators_sensitive_features_may_be_classes() -> None:
    frame = people()
    given = sensitive_table(frame[["sex", "region"]], name="s")
    assert given.shape == (600, 7)
    assert (given[:, 0] == (frame["sex"] == "M")).all()
    assert (given[:, 1:].sum(axis=1) == 1).all()


def test_rare_classes_never_leave_one_class() -> None:
    assert classes_of(["a"] * 990 + ["b"] * 10).names == ("a", "b")
    three = classes_of(["a"] * 985 + ["b"] * 10 + ["c"] * 5)
    assert (three.names, three.merged) == (("a", OTHERS), {"b": 10, "c": 5})


def test_a_class_column_is_known_by_its_name() -> None:
    assert column_of("region: A", ("sex", "region")) == "region"
    roles = Roles(target="cost", sensitive=("sex", "region"), features=("rooms",))
    assert roles.reads(["sex", "region: A", "region: B"])
    assert not roles.reads(["region: A", "sex"])
    assert not roles.reads(["sex"])


def test_measures_see_classes_whatever_they_are_called() -> None:
    frame = people()
    u = frame["cost"] + 60 * (frame["region"] == "C")
    value = fd.measure("hgr_spline", u, frame["region"])
    assert value > 0.1
    renamed = frame["region"].map(dict(zip(SHARES, reversed(SHARES), strict=True)))
    assert fd.measure("hgr_spline", u, renamed) == pytest.approx(value, abs=1e-9)
    assert fd.measure("hgr_spline", u, class_columns(frame["region"])) == value
    assert fd.measure("pearson", u, frame["sex"]) == fd.measure("pearson", u, frame["sex"] == "M")
