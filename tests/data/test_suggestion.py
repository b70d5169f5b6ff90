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


def test_text_is_never_a_target() -> None:
    assert suggest_roles(pd.DataFrame({"price": ["a", "b", "c"], "x": [1, 2, 3]})).target is None


def test_the_household_scenario() -> None:
    dataset = load_dataset("household", n=200)
    found = suggest_roles(dataset.table())
    assert (found.target, found.sensitive) == ("Cost", ("Age",))
