"""The leak check: what is left out for certain, what is only warned of, and what honest columns get."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from benchmarks.leak_tables_own import tables
from fairdash.data import suggest_roles
from fairdash.errors import DataError
from fairdash.tables.features import determines
from fairdash.tables.leaks import CLASSES, KNOWN_WITHOUT_ZERO, MISSING_WITH_ZERO, target_leak
from tests.tiers import few

CASES = list(tables())


def motor(n: int = 10_000) -> pd.DataFrame:
    """Claims as an insurer's export has them: the mean claim cost is there where a claim is."""
    rng = np.random.default_rng(3)
    expo = rng.choice([1.0, 1.0, 0.5, 0.25], n)
    age = rng.integers(18, 90, n)
    count = rng.poisson(0.12 * expo * np.exp(0.5 * (age < 26)))
    total = np.zeros(n)
    total[count > 0] = rng.gamma(0.9 * count[count > 0], 1600).round(2) + 1
    average = np.full(n, np.nan)
    average[count > 0] = (total / np.maximum(count, 1))[count > 0].round(2)
    known = {"nb": count, "tot": total, "avrg": average, "xpo": expo, "agph": age}
    frame = pd.DataFrame(known)
    for name, ends in {"bms": (0, 22), "pow": (20, 120), "agec": (0, 25)}.items():
        frame[name] = rng.integers(*ends, n)
    frame["fuel"] = rng.choice(["diesel", "gasoline"], n)
    frame["use"] = rng.choice(["private", "work"], n, p=[0.95, 0.05])
    return frame.assign(lat=rng.normal(50.5, 0.4, n).round(4), long=rng.normal(4.4, 0.8, n).round(4))


def test_a_mean_cost_that_is_known_with_a_claim_only_is_no_feature() -> None:
    frame = motor()
    given = suggest_roles(frame, target="nb")
    assert {"avrg", "tot"} <= set(given.known_with_target)
    assert not {"avrg", "tot"} & set(given.features)
    assert given.left_out["avrg"] == MISSING_WITH_ZERO
    found = fd.check_data(frame, target="nb", sensitive="agph", exposure="xpo")
    assert (found.certain, found.suspect) == (("tot", "avrg"), ())
    assert fd.check_data(frame, target="tot", sensitive="agph", exposure="xpo").certain == ("nb", "avrg")


@pytest.mark.parametrize("case", [case for case in CASES if case[1] != "honest"], ids=lambda case: case[0])
def test_a_planted_leak_is_found(case) -> None:
    _, kind, frame, roles, planted = case
    found = fd.check_data(frame, **roles)
    assert set(found.certain if kind == "certain" else found.suspect) == planted


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == "honest"], ids=lambda case: case[0])
def test_an_honest_table_keeps_its_columns(case) -> None:
    _, _, frame, roles, _ = case
    found = fd.check_data(frame, **roles)
    assert found.findings == ()
    assert "No column" in found.sentences()[0]


@pytest.mark.parametrize(
    "rounded",
    [
        pytest.param(lambda y: (y / 30).round() * 30, id="nearest"),
        pytest.param(lambda y: np.floor(y / 40), id="floor"),
        pytest.param(lambda y: 7 - 1.19 * np.ceil(y / 35), id="rescaled"),
        pytest.param(lambda y: (y / 40).round().where(y.index % 7 > 0), id="some missing"),
    ],
)
def test_a_target_rounded_to_even_steps_is_found_where_most_steps_hold_few_rows(rounded) -> None:
    y = pd.Series(np.random.default_rng(1).lognormal(8, 1.2, 3000)).round(2)
    assert target_leak(rounded(y), y) == CLASSES
    noise = np.random.default_rng(2).normal(0, 40, len(y))
    assert target_leak(rounded(y + noise), y) is None


def test_points_with_a_small_noise_are_no_rounded_target() -> None:
    rng = np.random.default_rng(5)
    for most, width in ((8, 0.3), (60, 0.13), (200, 0.145), (900, 0.4)):
        points = pd.Series(rng.integers(1, most, 3000).astype(float))
        for noise in (rng.normal(0, width / 2, 3000), rng.uniform(-width, width, 3000)):
            assert target_leak(points, (100 * (points + noise)).round(2)) is None


def test_known_cells_that_are_few_say_enough() -> None:
    rng = np.random.default_rng(0)
    claim = pd.Series((rng.random(5000) < 0.05).astype(int))
    settled = pd.Series(rng.normal(size=5000)).where((claim == 1) & (rng.random(5000) < 0.7))
    assert target_leak(settled, claim) == KNOWN_WITHOUT_ZERO
    date = pd.Series(pd.Timestamp("2024-05-01"), index=claim.index).where(claim == 1)
    assert target_leak(date, claim) == MISSING_WITH_ZERO
    # By chance no cell is known in a row with a claim; nor is one that goes with fewer claims a leak.
    assert target_leak(pd.Series(1.0, index=claim.index).where(rng.random(5000) < 0.004), claim) is None
    safe = pd.Series(rng.normal(size=5000)).where((claim == 0) & (rng.random(5000) < 0.05))
    assert target_leak(safe, claim) is None


def test_a_heap_without_a_claim_does_not_read_the_target_off() -> None:
    """No car that stands still has an accident; the others' miles are all different and say nothing."""
    rng = np.random.default_rng(0)
    miles = pd.Series(np.where(rng.random(20_000) < 0.1, 0.0, rng.gamma(3, 4000, 20_000)))
    claims = pd.Series(rng.poisson(0.05, 20_000) * (miles > 0)).astype(float)
    assert target_leak(miles, claims) is None
    assert not determines(miles, claims)


@pytest.mark.parametrize("spread", [0.05, 0.5])
def test_counts_are_explained_no_better_than_chance_allows(spread) -> None:
    """Next year's premium tells this year's claims only with the tariff's columns; a gamma risk is honest."""
    rng, n = np.random.default_rng(4), 8000
    age, power = rng.integers(18, 88, n), rng.integers(40, 220, n)
    risk = rng.gamma(1, 1, n)
    claims = rng.poisson(0.9 * risk)
    frame = pd.DataFrame({"age": age, "power": power, "claims": claims})
    # As much as can be known of a customer before: the risk itself.
    honest = frame.assign(score=np.log(risk).round(2))
    assert fd.check_data(honest, target="claims", sensitive="age").findings == ()
    premium = (300 + 6 * power - 3 * age) * 1.15**claims * np.exp(rng.normal(0, 0.05 * spread, n))
    found = fd.check_data(frame.assign(next_year=premium.round(2)), target="claims", sensitive="age")
    assert found.suspect == ("next_year",)


@pytest.mark.parametrize("sizes", [(12, 13), (7, 17)])
def test_averages_of_counts_are_found_where_they_are_rounded(sizes) -> None:
    rng = np.random.default_rng(5)
    claims = pd.Series(rng.poisson(0.15, 12_000)).astype(float)
    street = rng.permutation(np.repeat(np.arange(12_000), rng.integers(*sizes, 12_000))[:12_000])
    frame = pd.DataFrame({"age": rng.integers(18, 80, 12_000), "claims": claims})
    frame["street"] = claims.groupby(street).transform("mean").round(4)
    assert fd.check_data(frame, target="claims", sensitive="age").suspect == ("street",)


def test_what_is_asked_of_columns_that_are_not_there_is_refused_and_results_stay() -> None:
    frame = motor(500)
    with pytest.raises(DataError, match="there is no such column"):
        fd.check_data(frame, target="nb", sensitive="age")
    with pytest.raises(DataError, match="numbers"):
        fd.check_data(frame, target="fuel")
    found = fd.check_data(frame, target="nb", columns=("pow",))
    assert found.columns == ("pow",)
    with pytest.raises(FrozenInstanceError):
        found.n = 3  # type: ignore[misc]


# The committed table of such tables stands below; its file of R takes seconds to read.
@pytest.mark.parametrize("target", few(["ClaimAmount", "ClaimInd"]))
def test_a_portfolio_that_was_not_made_here(real_data, target) -> None:
    frame, _ = fd.read_table(real_data / "motor" / "freMPL1.rda")
    found = fd.check_data(frame.iloc[::3], target=target, sensitive="DrivAge", exposure="Exposure")
    assert set(found.certain) == {"RecordBeg", "RecordEnd", "ClaimAmount", "ClaimInd"} - {target}
    assert found.suspect == ()


def test_the_tutorial_says_what_strangers_tables_measured() -> None:
    root = Path(__file__).parents[2]
    table = pd.read_csv(root / "benchmarks/results/leak_tables.csv", keep_default_na=False)
    third = table[table["by"] == "third"]
    certain, suspect, honest = (third[third["kind"] == k] for k in ("certain", "suspect", "honest"))
    said = " ".join((root / "docs/tutorial.md").read_text(encoding="utf-8").split())
    assert (
        f"leaves out {certain['found'].sum()} of {len(certain)} certain leaks and names "
        f"{suspect['found'].sum()} of {len(suspect)} suspect columns. None of the {len(honest)} honest "
        f"tables loses a column, and {honest['warned'].sum()} of them gets a warning"
    ) in said
    assert not honest["loses_a_column"].any()
    assert honest["warned"].sum() <= 2
    others = table[table["by"].isin(["stranger", "fresh"])]
    assert others.loc[others["kind"] != "honest", "found"].all()
    assert not others.loc[others["kind"] == "honest", ["loses_a_column", "warned"]].to_numpy().any()
