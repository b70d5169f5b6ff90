import pandas as pd
import pytest

from fairdash.data import load_dataset, suggest_roles
from tests.data.tables import policies


def test_an_age_and_a_cost_are_recognised() -> None:
    frame = policies().assign(bldg_age=range(60), PolicyId=range(1000, 1060), empty=float("nan"))
    found = suggest_roles(frame)
    assert found.target == "cost"
    assert found.sensitive == ("age",)
    assert found.features == ("rooms", "town", "bldg_age")
    assert found.left_out == {"PolicyId": "numbers the rows", "empty": "every cell is missing"}


@pytest.mark.parametrize(
    ("names", "sensitive"),
    [
        (["BldgAge", "DriverAge"], ("DriverAge",)),
        (["pctblack", "income"], ("pctblack",)),
        (["car_age", "rooms"], ()),
        (["average", "storage"], ()),
        (["SEX", "Age"], ("SEX",)),
    ],
)
def test_names_of_sensitive_columns(names: list[str], sensitive: tuple[str, ...]) -> None:
    frame = pd.DataFrame({name: [1.5, 2.5, i] for i, name in enumerate(names)})
    assert suggest_roles(frame).sensitive == sensitive


def test_nothing_is_assumed_where_no_name_speaks_for_it() -> None:
    found = suggest_roles(pd.DataFrame({"x1": [1, 2, 3], "x2": [3, 1, 2]}))
    assert (found.target, found.sensitive, found.features) == (None, (), ("x1", "x2"))


@pytest.mark.parametrize("name", ["Exposure", "policy_exposure", "ExposureYears", "expo", "exposition"])
def test_a_name_that_says_exposure_is_suggested_as_exposure(name: str) -> None:
    found = suggest_roles(pd.DataFrame({name: [0.5, 1.0, 0.2], "cost": [1, 2, 3], "x": [3, 1, 2]}))
    assert (found.target, found.weight, found.features) == ("cost", name, ("x",))


@pytest.mark.parametrize("name", ["weight", "days", "years", "export", "expected"])
def test_exposure_is_never_assumed(name: str) -> None:
    assert suggest_roles(pd.DataFrame({name: [0.5, 1.0, 0.2], "x": [3, 1, 2]})).weight is None


def test_text_is_never_a_target() -> None:
    assert suggest_roles(pd.DataFrame({"price": ["a", "b", "c"], "x": [1, 2, 3]})).target is None


def test_the_household_scenario() -> None:
    dataset = load_dataset("household", n=200)
    found = suggest_roles(dataset.table())
    assert (found.target, found.sensitive) == ("Cost", ("Age",))
