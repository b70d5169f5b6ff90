"""Parts of a price or of a target: columns that add up to it."""

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from benchmarks.leak_tables_sums import OTHERS, SUMS, TARIFFS, make
from fairdash.data import Roles, build_dataset, suggest_roles
from fairdash.tables.leaks import certain_leaks
from fairdash.tables.sums import find_sums, parts_of


@pytest.mark.every_case
@pytest.mark.parametrize("maker", [*SUMS, *TARIFFS, *OTHERS], ids=lambda maker: maker.__name__)
def test_parts_are_found_and_honest_tables_keep_their_columns(maker) -> None:
    _, kind, frame, roles, planted = make(maker)
    frame = frame.head(1000)
    total = roles.get("price", "price" if kind == "certain" else roles["target"])
    free = [name for name in frame if name not in {*roles.values(), total}]
    least = 1 if "price" in roles else 2
    assert set(parts_of(frame, total, free, exposure=roles.get("exposure"), least=least)) == planted


@pytest.fixture
def premiums() -> pd.DataFrame:
    """Liability follows the age, hull does not; a row without hull has an empty cell."""
    rng = np.random.default_rng(0)
    age, power = rng.integers(18, 80, 1500), rng.integers(4, 15, 1500)
    liability = (180 + 3.0 * (80 - age)).round(2)
    hull = pd.Series((20 * power * rng.gamma(20, 0.05, 1500)).round(2)).where(rng.random(1500) < 0.7)
    frame = pd.DataFrame({"age": age, "power": power, "liability": liability, "hull": hull})
    return frame.assign(price=frame["liability"] + frame["hull"].fillna(0), claims=rng.poisson(0.2, 1500))


def test_what_is_said_of_a_sum_names_factor_fee_and_what_is_subtracted(premiums) -> None:
    taxed = premiums.assign(price=(1.19 * premiums["price"] + 15).round(2))
    names = ["power", "liability", "hull"]
    (found,) = find_sums(taxed, "price", names)
    assert found.in_words() == "“price” is 1.19 times the sum of “liability”, “hull” plus 15"
    (found,) = find_sums(premiums, "hull", ["power", "liability", "price"])
    assert found.in_words() == "“hull” is “price” minus “liability”"
    net = premiums.assign(net=(premiums["price"] / 1.19).round(2), same=premiums["price"])
    assert find_sums(net, "price", ["net"]) == ()
    assert find_sums(net, "price", ["net"], least=1)[0].in_words() == "“price” is 1.19 times “net”"
    assert find_sums(net, "price", ["same"], least=1)[0].in_words() == "“price” is a copy of “same”"


def test_rows_that_do_not_add_up_are_no_sum(premiums) -> None:
    noise = np.random.default_rng(1).normal(0, 2, len(premiums))
    assert find_sums(premiums.assign(price=premiums["price"] + noise), "price", ["liability", "hull"]) == ()
    few = premiums.head(40)
    assert find_sums(few, "price", ["liability", "hull"]) == ()
    assert find_sums(premiums.assign(price=np.nan), "price", ["liability", "hull"]) == ()


def test_a_subtotal_and_its_parts_are_left_out_in_any_order() -> None:
    rng = np.random.default_rng(2)
    parts = pd.DataFrame(rng.gamma(2, 80, (1200, 5)), columns=list("abcde"))
    table = parts.assign(ab=parts["a"] + parts["b"], all=parts.sum(axis=1)).round(2)
    for names in (["ab", *"abcde"], [*"edcba", "ab"], ["ab", *"cde"]):
        assert set(parts_of(table, "all", names)) == set(names)


def test_parts_of_a_price_are_no_features_wherever_roles_are_chosen(premiums) -> None:
    given = suggest_roles(premiums, target="claims", prediction="price")
    assert (given.parts_of_price, given.features) == (("liability", "hull"), ("power",))
    assert given.to_be_said == ("liability", "hull")
    assert suggest_roles(premiums, target="price").known_with_target == ("liability", "hull")
    columns = ("liability", "hull")
    found = fd.check_data(premiums, target="claims", sensitive="age", price="price", columns=columns)
    why = "“price” is the sum of “liability”, “hull”"
    assert found.certain == ("liability", "hull")
    assert found.sentences() == (f"2 columns give the price away: {why}.",)
    assert certain_leaks(premiums, "price", ["power", "liability", "hull"]) == {"liability": why, "hull": why}
    roles = Roles(target="claims", sensitive=("age",), features=("power", "hull"), prediction="price")
    notes = build_dataset(premiums, roles, name="t").notes
    assert f"“hull” gives the price away and is still a feature: {why}." in notes
    assert f"“liability” gives the price away and is not a feature: {why}." in notes
