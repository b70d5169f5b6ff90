"""The leak check: columns that are left out, columns that only raise a warning, and legitimate columns."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from benchmarks.leak_tables_own import tables
from benchmarks.leak_tables_sums import OTHERS, SUMS, TARIFFS, make
from fairdash.data import Roles, build_dataset, suggest_roles
from fairdash.errors import DataError
from fairdash.tables.exposure import find_policies
from fairdash.tables.features import is_determined_by
from fairdash.tables.leaks import (
    CLASSES,
    KNOWN_WITHOUT_ZERO,
    MISSING_WITH_ZERO,
    bounds_of_exposure,
    certain_leaks,
    target_leak,
)
from fairdash.tables.suggestion import NAMES_POLICIES
from fairdash.tables.sums import find_sums, parts_of
from tests.data.tables import policies
from tests.tiers import few


@pytest.mark.variant
@pytest.mark.parametrize("case", list(tables()), ids=lambda case: case[0])
def test_simulated_leaks_are_found_and_tables_without_leaks_have_no_findings(case) -> None:
    _, kind, frame, roles, planted = case
    found = fd.check_data(frame, **roles)
    assert set(found.certain if kind == "certain" else found.suspect) == planted
    if kind == "honest":
        assert (found.findings, "No column" in found.sentences()[0]) == ((), True)


@pytest.mark.parametrize("rounded", [
    pytest.param(lambda y: (y / 30).round() * 30, id="nearest"),
    pytest.param(lambda y: np.floor(y / 40), id="floor"),
    pytest.param(lambda y: 7 - 1.19 * np.ceil(y / 35), id="rescaled"),
    pytest.param(lambda y: (y / 40).round().where(y.index % 7 > 0), id="some missing"),
])  # fmt: skip
def test_a_rounded_copy_of_the_target_is_found_even_if_most_rounded_values_are_rare(rounded) -> None:
    y = pd.Series(np.random.default_rng(1).lognormal(8, 1.2, 3000)).round(2)
    assert target_leak(rounded(y), y) == CLASSES
    noise = np.random.default_rng(2).normal(0, 40, len(y))
    assert target_leak(rounded(y + noise), y) is None


def test_integers_that_match_the_target_up_to_noise_are_not_taken_for_its_rounding() -> None:
    rng = np.random.default_rng(5)
    for most, width in ((8, 0.3), (60, 0.13), (200, 0.145), (900, 0.4)):
        points = pd.Series(rng.integers(1, most, 3000).astype(float))
        for noise in (rng.normal(0, width / 2, 3000), rng.uniform(-width, width, 3000)):
            assert target_leak(points, (100 * (points + noise)).round(2)) is None


def test_a_column_whose_missing_cells_reveal_the_target_is_a_leak() -> None:
    rng = np.random.default_rng(0)
    claim = pd.Series((rng.random(5000) < 0.05).astype(int))
    settled = pd.Series(rng.normal(size=5000)).where((claim == 1) & (rng.random(5000) < 0.7))
    assert target_leak(settled, claim) == KNOWN_WITHOUT_ZERO
    date = pd.Series(pd.Timestamp("2024-05-01"), index=claim.index).where(claim == 1)
    assert target_leak(date, claim) == MISSING_WITH_ZERO
    # Rare cells, of which none is in a row with a claim by chance, are no leak; cells in rows without claims
    # are none either.
    assert target_leak(pd.Series(1.0, index=claim.index).where(rng.random(5000) < 0.004), claim) is None
    safe = pd.Series(rng.normal(size=5000)).where((claim == 0) & (rng.random(5000) < 0.05))
    assert target_leak(safe, claim) is None


def test_a_column_that_is_zero_only_in_claim_free_rows_is_not_a_leak() -> None:
    """A car that stands still has no accident, and all other mileages are different and unrelated to claims."""
    rng = np.random.default_rng(0)
    miles = pd.Series(np.where(rng.random(20_000) < 0.1, 0.0, rng.gamma(3, 4000, 20_000)))
    claims = pd.Series(rng.poisson(0.05, 20_000) * (miles > 0)).astype(float)
    assert target_leak(miles, claims) is None
    assert not is_determined_by(miles, claims)


def test_a_column_is_suspect_only_if_it_predicts_counts_better_than_chance_allows() -> None:
    """Next year's premium reveals claims only together with the tariff's columns; a gamma risk is no leak."""
    rng, n = np.random.default_rng(4), 8000
    age, power = rng.integers(18, 88, n), rng.integers(40, 220, n)
    risk = rng.gamma(1, 1, n)
    claims = rng.poisson(0.9 * risk)
    frame = pd.DataFrame({"age": age, "power": power, "claims": claims})
    # The risk itself: the most that can be known about a customer in advance.
    honest = frame.assign(score=np.log(risk).round(2))
    assert fd.check_data(honest, target="claims", sensitive="age").findings == ()
    premium = (300 + 6 * power - 3 * age) * 1.15**claims * np.exp(rng.normal(0, 0.025, n))
    found = fd.check_data(frame.assign(next_year=premium.round(2)), target="claims", sensitive="age")
    assert found.suspect == ("next_year",)


@pytest.mark.parametrize("sizes", [(12, 13), (7, 17)])
def test_rounded_group_averages_of_the_target_are_reported_as_suspect(sizes) -> None:
    rng = np.random.default_rng(5)
    claims = pd.Series(rng.poisson(0.15, 12_000)).astype(float)
    street = rng.permutation(np.repeat(np.arange(12_000), rng.integers(*sizes, 12_000))[:12_000])
    frame = pd.DataFrame({"age": rng.integers(18, 80, 12_000), "claims": claims})
    frame["street"] = claims.groupby(street).transform("mean").round(4)
    assert fd.check_data(frame, target="claims", sensitive="age").suspect == ("street",)


def test_missing_columns_are_refused_and_results_are_frozen() -> None:
    with pytest.raises(DataError, match="there is no such column"):
        fd.check_data(policies(), target="cost", sensitive="years")
    with pytest.raises(DataError, match="numbers"):
        fd.check_data(policies(), target="town")
    found = fd.check_data(policies(), target="cost", columns=("rooms",))
    assert found.columns == ("rooms",)
    with pytest.raises(FrozenInstanceError):
        found.n = 3  # type: ignore[misc]


# The committed table of known leaks is tested below; its R file takes seconds to read.
@pytest.mark.parametrize("target", few(["ClaimAmount", "ClaimInd"]))
def test_leaks_are_found_without_false_alarms_in_a_real_motor_portfolio(real_data, target) -> None:
    frame, _ = fd.read_table(real_data / "motor" / "freMPL1.rda")
    found = fd.check_data(frame.iloc[::3], target=target, sensitive="DrivAge", exposure="Exposure")
    assert set(found.certain) == {"RecordBeg", "RecordEnd", "ClaimAmount", "ClaimInd"} - {target}
    assert found.suspect == ()


def test_the_tutorial_states_the_numbers_of_the_leak_study() -> None:
    root = Path(__file__).parents[2]
    table = pd.read_csv(root / "benchmarks/results/leak_tables.csv", keep_default_na=False)
    third = table[table["by"] == "third"]
    certain, suspect, honest = (third[third["kind"] == k] for k in ("certain", "suspect", "honest"))
    said = " ".join((root / "docs/tutorial.md").read_text(encoding="utf-8").split())
    assert (
        f"leaves out {certain['found'].sum()} of {len(certain)} certain leaks and names "
        f"{suspect['found'].sum()} of {len(suspect)} suspect columns. None of the {len(honest)} honest "
        f"tables loses a column, and {honest['warned'].sum()} of the {len(honest)} gets a warning"
    ) in said
    assert not honest["loses_a_column"].any()
    assert honest["warned"].sum() <= 2
    others = table[table["by"].isin(["stranger", "fresh"])]
    assert others.loc[others["kind"] != "honest", "found"].all()
    assert not others.loc[others["kind"] == "honest", ["loses_a_column", "warned"]].to_numpy().any()


# Components of a price or target: columns whose sum it is.


@pytest.mark.every_case
@pytest.mark.parametrize("maker", [*SUMS, *TARIFFS, *OTHERS], ids=lambda maker: maker.__name__)
def test_components_of_a_price_or_target_are_found_without_false_alarms(maker) -> None:
    _, kind, frame, roles, planted = make(maker)
    frame = frame.head(1000)
    total = roles.get("price", "price" if kind == "certain" else roles["target"])
    free = [name for name in frame if name not in {*roles.values(), total}]
    least = 1 if "price" in roles else 2
    assert set(parts_of(frame, total, free, exposure=roles.get("exposure"), n_min=least)) == planted


@pytest.fixture
def premiums() -> pd.DataFrame:
    """Liability depends on age and hull doesn't; a row without hull has an empty cell."""
    rng = np.random.default_rng(0)
    age, power = rng.integers(18, 80, 1500), rng.integers(4, 15, 1500)
    liability = (180 + 3.0 * (80 - age)).round(2)
    hull = pd.Series((20 * power * rng.gamma(20, 0.05, 1500)).round(2)).where(rng.random(1500) < 0.7)
    frame = pd.DataFrame({"age": age, "power": power, "liability": liability, "hull": hull})
    return frame.assign(price=frame["liability"] + frame["hull"].fillna(0), claims=rng.poisson(0.2, 1500))


def test_the_description_of_a_sum_states_its_factor_fee_and_subtracted_columns(premiums) -> None:
    taxed = premiums.assign(price=(1.19 * premiums["price"] + 15).round(2))
    names = ["power", "liability", "hull"]
    (found,) = find_sums(taxed, "price", names)
    assert found.in_words() == "“price” is 1.19 times the sum of “liability”, “hull” plus 15"
    (found,) = find_sums(premiums, "hull", ["power", "liability", "price"])
    assert found.in_words() == "“hull” is “price” minus “liability”"
    net = premiums.assign(net=(premiums["price"] / 1.19).round(2), same=premiums["price"])
    assert find_sums(net, "price", ["net"]) == ()
    assert find_sums(net, "price", ["net"], n_min=1)[0].in_words() == "“price” is 1.19 times “net”"
    assert find_sums(net, "price", ["same"], n_min=1)[0].in_words() == "“price” is a copy of “same”"


def test_no_sum_is_found_when_rows_are_few_or_do_not_add_up(premiums) -> None:
    noise = np.random.default_rng(1).normal(0, 2, len(premiums))
    assert find_sums(premiums.assign(price=premiums["price"] + noise), "price", ["liability", "hull"]) == ()
    few = premiums.head(40)
    assert find_sums(few, "price", ["liability", "hull"]) == ()
    assert find_sums(premiums.assign(price=np.nan), "price", ["liability", "hull"]) == ()


def test_a_subtotal_and_its_components_are_all_found_in_any_column_order() -> None:
    rng = np.random.default_rng(2)
    parts = pd.DataFrame(rng.gamma(2, 80, (1200, 5)), columns=list("abcde"))
    table = parts.assign(ab=parts["a"] + parts["b"], all=parts.sum(axis=1)).round(2)
    for names in (["ab", *"abcde"], [*"edcba", "ab"], ["ab", *"cde"]):
        assert set(parts_of(table, "all", names)) == set(names)


def test_components_of_a_price_are_excluded_from_the_features_or_reported(premiums) -> None:
    given = suggest_roles(premiums, target="claims", prediction="price")
    assert (given.parts_of_price, given.features) == (("liability", "hull"), ("power",))
    assert given.notes_on_codes == ("liability", "hull")
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


# Policies with several rows: ids are recognised by the values that their rows share, and other columns are
# not.


def book(n: int = 900, *, years: int = 3, names: bool = True) -> pd.DataFrame:
    """A portfolio over several years without an id, in which some policies begin late."""
    rng = np.random.default_rng(0)
    policy = np.repeat(np.arange(n), rng.integers(1, years + 1, n))
    year = pd.Series(policy).groupby(policy).cumcount().to_numpy()
    place, model = rng.integers(0, 160, n)[policy], rng.integers(0, 120, n)[policy]
    born = np.datetime64("1950-01-01") + rng.integers(0, 300, n)[policy]
    columns = {
        "year": 2020 + year, "age": rng.integers(18, 80, n)[policy] + year,
        "sex": rng.choice(["F", "M"], n)[policy], "use": rng.choice(["work", "leisure", "both"], n)[policy],
        "zip": 10_000 + 37 * place,
        "region": np.array(list("ABCDE"))[place % 5], "density": (place * 13 % 97) ** 2,
        "model": [f"model {each}" for each in model],
        "body": np.array(["saloon", "estate", "van"])[model % 3],
        "kw": 40 + model % 90, "born": born.astype(str), "claims": rng.poisson(0.1, len(policy)),
    }  # fmt: skip
    frame = pd.DataFrame(columns)
    frame["premium"] = (200 + 2 * frame["age"] + 0.5 * frame["kw"] + 40 * (frame["sex"] == "M")).round()
    frame = frame if names else frame.rename(columns={name: f"v{k}" for k, name in enumerate(frame)})
    return frame.assign(**{"policy of it": policy})


@pytest.mark.parametrize("names", [True, False], ids=["names", "no names"])
def test_places_models_dates_ages_and_amounts_are_not_taken_for_policy_ids(names) -> None:
    assert find_policies(book(names=names).drop(columns="policy of it")) is None
    assert find_policies(book(2000, years=1, names=names)) is None, "a row a policy"


def test_a_tariff_cell_number_is_not_taken_for_a_policy_id() -> None:
    """Rows of one tariff cell agree in all factors, but the sizes of cells differ much."""
    frame = book(3000, years=1)
    weight = np.random.default_rng(1).pareto(1.0, 300) + 0.05
    cell = np.random.default_rng(2).choice(300, len(frame), p=weight / weight.sum())
    for name in ("age", "sex", "use", "region", "body", "premium"):
        frame[name] = frame[name].to_numpy()[cell]
    frame = frame.assign(cell=cell * 7 + 1000).drop(columns="policy of it")
    assert find_policies(frame) is None


def test_a_column_named_as_policy_number_is_accepted_as_id_if_its_values_repeat() -> None:
    frame = book().rename(columns={"policy of it": "Vertragsnummer"})[["Vertragsnummer", "claims", "year"]]
    assert find_policies(frame).column == "Vertragsnummer"
    assert suggest_roles(frame, target="claims").left_out["Vertragsnummer"] == NAMES_POLICIES
    assert find_policies(frame.rename(columns={"Vertragsnummer": "k"})) is None
    repeated = book().rename(columns={"policy of it": "k"})
    for ids in (70_000.0 + 11 * repeated["k"], repeated["k"].map("AB-{:06d}/x".format)):
        given = suggest_roles(repeated.assign(k=ids), target="claims")
        assert (given.group, "k" in given.features) == ("k", False)


def test_start_and_end_of_the_exposure_are_found_despite_missing_huge_or_constant_columns():
    rng = np.random.default_rng(0)
    begin, term = rng.integers(0, 5000, 400) * 1.0, rng.uniform(0.1, 1, 400)
    noise = {f"x{k}": rng.normal(size=400) for k in range(20)}
    frame = pd.DataFrame({"term": term, "begin": begin, "end": begin + term, "one": 1.0, **noise})
    frame["ends"] = frame["end"].where(rng.random(400) < 0.9)
    frame["huge"] = 1e100 * rng.normal(size=400)
    for table in (frame, frame.drop(columns="huge")):
        assert bounds_of_exposure(table, "term", table.columns.drop("term")) == ("begin", "end", "ends")
