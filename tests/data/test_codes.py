"""Codes for missing values among numbers and dates: which are reported, real values, and the fixes."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.cli.training import DataOptions
from fairdash.data import Roles, build_dataset, read_table, suggest_roles
from fairdash.errors import DataError, Fix
from fairdash.tables.codes import special_codes
from fairdash.tables.exposure import looks_like_total
from fairdash.tables.features import fixes_of_columns
from fairdash.training.defaults import suggested_loss

RNG = np.random.default_rng(5)
N = 600
AGES = RNG.integers(18, 87, N).astype(float)
INCOME = RNG.lognormal(10.5, 0.5, N).round()
DAYS = pd.Timestamp("2015-01-01") + pd.to_timedelta(RNG.integers(0, 3000, N), "D")


def among(values: object, *codes: object, share: float = 0.05) -> pd.Series:
    """A column in which each code has this number of rows."""
    held, every = pd.Series(values, name="age"), round(1 / share)
    for k, code in enumerate(codes):
        held.iloc[k::every] = code
    return held


@pytest.mark.every_case
@pytest.mark.parametrize(("values", "codes"), [
    (AGES, [999]), (AGES, [99]), (AGES, [-1]), (AGES, [0]), (AGES, [997, 998, 999]), (AGES, [-9, -8, -1]),
    (AGES, [-99]), (AGES, [-2147483648]), (INCOME, [-666666666]), (INCOME, [9999999]), (INCOME, [99999999]),
    (RNG.uniform(0, 1, N), [-1]), (RNG.normal(0, 1, N), [-999]), (RNG.normal(0, 1, N), [99.9]),
    (RNG.integers(1990, 2025, N).astype(float), [9999]), (RNG.integers(1990, 2025, N).astype(float), [0]),
    (RNG.integers(1930, 2005, N).astype(float), [1900]),
    (DAYS, [pd.Timestamp("1900-01-01")]), (DAYS, [pd.Timestamp("9999-12-31")]),
])  # fmt: skip
def test_codes_for_missing_values_are_found_and_counted(values: object, codes: list[object]) -> None:
    held = among(values, *codes)
    found = special_codes(held)
    assert {
        str(np.datetime64(each, "D") if held.dtype.kind == "M" else float(each)) for each in codes
    } == set(map(str, found))
    assert sum(found.values()) == held.isin(codes).sum()


HONEST = {
    "ages up to 99": np.minimum(RNG.integers(18, 105, N), 99), "one old man": pd.Series([*AGES[:-1], 99]),
    "scale from -2": RNG.integers(-2, 23, N), "symboling": RNG.integers(-2, 4, N),
    "class moves": RNG.choice([-1, 0, 1, 2, 3, 5], N), "recoveries": RNG.normal(0, 300, N).round(2),
    "capped": np.minimum(RNG.lognormal(7, 1, N).round(), 9999),
    "prices": RNG.choice([99, 199, 299, 399, 499, 999], N),
    "deductible": RNG.choice([0, 150, 300, 500, 1000], N),
    "sum insured": RNG.choice([50_000, 100_000, 250_000, 1_000_000, 100_000_000], N),
    "department": RNG.choice([1, 13, 33, 59, 69, 75, 92, 93, 94, 95, 99], N),
    "years": RNG.integers(1900, 2024, N), "power": RNG.choice([44, 55, 66, 77, 88, 110], N),
    "percent": RNG.uniform(0, 99.9, N).round(1), "missing": pd.Series([np.nan] * N),
    "constant": np.full(N, 99.0), "age from 0": RNG.integers(0, 90, N),
    "days since 1900": pd.Timestamp("1900-01-01") + pd.to_timedelta(RNG.integers(0, 9000, N), "D"),
    "new year": pd.to_datetime(RNG.choice(["1970-01-01", "1971-01-01", "1972-01-01"], N)),
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("name", HONEST)
def test_genuine_values_are_not_taken_for_codes_of_missing_values(name: str) -> None:
    assert special_codes(pd.Series(HONEST[name], name=name)) == {}


def test_a_code_for_missing_values_is_reported_with_its_remedies() -> None:
    frame = pd.DataFrame({"age": among(AGES, 999).astype(int), "price": RNG.normal(300, 20, N).round(2)})
    content = frame.to_csv(index=False).encode()
    table, report = read_table(content)
    (said,) = (note for note in report.notes if "999" in note)
    assert said.startswith("“age” holds 999 in 30 rows, apart from all other values.")
    assert "--missing age=999" in said
    (offer,) = fixes_of_columns(table)
    assert (offer.fixes, offer.column) == ((Fix("codes", "age"),), "age")
    for mark in ("999", "age=999"):
        kept, report = read_table(content, also_missing=[mark])
        assert kept["age"].isna().sum() == report.missing_found["999"] == 30
        assert not any("apart from" in note for note in report.notes)
    assert read_table(content, also_missing=["price=999"])[0]["age"].notna().all()
    out = io.BytesIO()
    frame.to_parquet(out)
    assert any("999 in 30 rows" in note for note in read_table(out.getvalue())[1].notes)
    assert read_table(out.getvalue(), also_missing=["999"])[0]["age"].isna().sum() == 30
    table["km"] = RNG.normal(size=N)
    roles = Roles(target="price", sensitive=("age",), features=("km",))
    plain, data = (
        build_dataset(table, roles, fixes=fixes, name="x", drop_missing=True)
        for fixes in ((), [Fix("codes", "age")])
    )
    assert any("holds 999" in note for note in plain.notes)
    assert data.n_rows == N - 30
    assert "“age”: 999 is a missing cell (30 rows)." in data.notes


# Counts with an exposure: the target is the claim rate, so that averages are the true frequency.


COLUMNS = {"sensitive": ("DrivAge",), "features": ("VehPower", "BonusMalus"), "weight": "Exposure"}
ROLES = Roles(target="ClaimNb", rate=True, **COLUMNS)


def claims(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    """Policies of different durations: new ones have more claims per year and ran for a few weeks only."""
    rng = np.random.default_rng(seed)
    exposure = rng.choice([0.05, 0.25, 1.0], n)
    ends = {"DrivAge": (18, 80), "VehPower": (4, 12), "BonusMalus": (50, 120)}
    whole = {name: rng.integers(*each, n) for name, each in ends.items()}
    frame = pd.DataFrame({"Exposure": exposure, **whole})
    rate = 0.05 * np.exp(0.01 * (frame["BonusMalus"] - 70)) * np.where(exposure < 0.1, 3, 1)
    return frame.assign(ClaimNb=rng.poisson(rate * exposure))


def test_the_target_is_the_claim_rate_and_its_weighted_mean_is_the_true_frequency() -> None:
    frame = claims()
    dataset = build_dataset(frame, ROLES, name="claims")
    frequency = frame["ClaimNb"].sum() / frame["Exposure"].sum()
    assert np.average(dataset.target, weights=dataset.weight) == pytest.approx(frequency)
    # An exposure-weighted average of the counts would give another value.
    assert np.average(frame["ClaimNb"], weights=frame["Exposure"]) != pytest.approx(frequency, rel=0.1)
    assert dataset.per_exposure
    assert (dataset.roles, dataset.label("ClaimNb")) == (ROLES, "ClaimNb (per unit of exposure)")
    (note,) = [note for note in dataset.notes if "a rate" in note]
    assert "“ClaimNb” ÷ “Exposure”" in note
    assert f"{frequency:.4g}" in note


def test_a_rate_is_suggested_only_for_counts_with_an_exposure() -> None:
    frame = claims()
    assert suggest_roles(frame).rate
    assert not suggest_roles(frame.drop(columns="Exposure")).rate
    assert not suggest_roles(frame.assign(ClaimNb=frame["ClaimNb"] / frame["Exposure"] + 0.5)).rate


@pytest.mark.parametrize(("name", "cells", "expected"), [
    ("ClaimNb", [0, 1, 0, 2], True), ("ClaimAmount", [0.0, 0.0, 812.5], True),
    ("ClaimsPerYear", [0, 1, 0, 2], False), ("frequency", [0.0, 0.0, 1.5], False),
    ("Premium", [312.5, 800.25, 17.0], False), ("balance", [-1, 0, 0, 2], False),
    ("ClaimAmount", [0.0, 0.0, 0.0, 0.0, 812.5, 70.0, -30.0], True), ("result", [-2.5, 1.5, 3.0], False),
    ("colour", ["red", "blue", "red"], False),
])  # fmt: skip
def test_columns_of_claim_totals_are_recognised_by_name_and_values(name, cells, *, expected):
    assert looks_like_total(pd.Series(cells, name=name)) is expected


def test_a_claim_rate_without_an_exposure_column_is_refused() -> None:
    with pytest.raises(DataError, match="an exposure is needed"):
        build_dataset(claims(), replace(ROLES, weight=None), name="claims")


COSTS = replace(ROLES, target="ClaimAmount")


def with_recoveries(n: int = 4000) -> pd.DataFrame:
    """Claim costs, of which every fortieth is a recovery below zero, in rows 7, 407, …."""
    frame = claims(n).drop(columns="ClaimNb")
    rng = np.random.default_rng(3)
    cost = np.where(rng.random(n) < 0.15, rng.gamma(1.5, 600, n).round(2), 0.0)
    cost[7::400] = -250.5
    return frame.assign(ClaimAmount=cost)


def test_a_claim_total_that_is_not_divided_by_the_exposure_is_reported() -> None:
    dataset = build_dataset(with_recoveries(), replace(COSTS, rate=False), name="costs")
    assert any("looks like a total over the exposure" in note for note in dataset.notes)
    assert any("below zero in 10 rows" in note for note in dataset.notes)
    alone = build_dataset(with_recoveries(), replace(COSTS, rate=False, weight=None), name="costs")
    assert not any("looks like a total" in note for note in alone.notes)
    assert any("below zero in 10 rows" in note for note in alone.notes)


def test_the_command_line_offers_three_treatments_of_negative_amounts(tmp_path: Path) -> None:
    frame = with_recoveries()
    frame.to_csv(tmp_path / "costs.csv", index=False)
    roles = {"predict": "ClaimAmount", "sensitive": ("DrivAge",), "exposure": "Exposure"}
    given = DataOptions(file=tmp_path / "costs.csv", **roles)
    with pytest.raises(DataError, match="amounts below zero") as caught:
        given.load()
    assert "--below-zero" in str(caught.value)
    means = []
    for way in ("as-they-are", "floor", "drop"):
        dataset = replace(given, below_zero=way).load()
        means.append(np.average(dataset.target, weights=dataset.weight))
    assert means == sorted(means)
    assert means[0] == pytest.approx(frame["ClaimAmount"].sum() / frame["Exposure"].sum())


@pytest.mark.parametrize(("target", "weight", "expected"), [
    ([0, 0, 1, 0, 2], None, "poisson"), ([0, 0, 1 / 3, 0, 40], [1, 1, 3, 0.5, 0.05], "poisson"),
    ([0, 0, 812.4, 0, 0], [1, 1, 0.25, 0.5, 1], "tweedie"), ([1, 2, 3, 50, 900], None, "gamma"),
    ([90, 200, 350, 510, 40], [0.5, 1, 0.5, 1, 0.2], "squared_error"),
    ([10, 12, 9, 11, 14], None, "squared_error"), ([-1, 0, 0, 0, 0], None, "squared_error"),
    ([0, 0.2, 0.6, 0, 0], None, "squared_error"),
])  # fmt: skip
def test_the_suggested_loss_depends_on_the_target(target, weight, expected):
    given = None if weight is None else np.array(weight, dtype=float)
    assert suggested_loss(np.array(target, dtype=float), given)[0] == expected
