"""Codes for missing values among numbers and dates: which are said, which honest numbers are not, and the fix."""

import io

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles, build_dataset, read_table
from fairdash.errors import Fix
from fairdash.tables.codes import special_codes
from fairdash.tables.features import fixes_of_columns

RNG = np.random.default_rng(5)
N = 600
AGES = RNG.integers(18, 87, N).astype(float)
INCOME = RNG.lognormal(10.5, 0.5, N).round()
DAYS = pd.Timestamp("2015-01-01") + pd.to_timedelta(RNG.integers(0, 3000, N), "D")


def among(values: object, *codes: object, share: float = 0.05) -> pd.Series:
    """Codes in a column, each in one of so many rows."""
    held, every = pd.Series(values, name="age"), round(1 / share)
    for k, code in enumerate(codes):
        held.iloc[k::every] = code
    return held


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (AGES, [999]), (AGES, [99]), (AGES, [-1]), (AGES, [0]), (AGES, [997, 998, 999]), (AGES, [-9, -8, -1]),
        (AGES, [-99]), (AGES, [-2147483648]), (INCOME, [-666666666]), (INCOME, [9999999]), (INCOME, [99999999]),
        (RNG.uniform(0, 1, N), [-1]), (RNG.normal(0, 1, N), [-999]), (RNG.normal(0, 1, N), [99.9]),
        (RNG.integers(1990, 2025, N).astype(float), [9999]), (RNG.integers(1990, 2025, N).astype(float), [0]),
        (RNG.integers(1930, 2005, N).astype(float), [1900]),
        (DAYS, [pd.Timestamp("1900-01-01")]), (DAYS, [pd.Timestamp("9999-12-31")]),
    ],
)  # fmt: skip
def test_codes_are_found_and_made_missing(values: object, codes: list[object]) -> None:
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
def test_honest_numbers_are_no_codes(name: str) -> None:
    assert special_codes(pd.Series(HONEST[name], name=name)) == {}


def test_what_is_said_and_the_ways_out() -> None:
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

    table["km"] = RNG.normal(size=N)
    roles = Roles(target="price", sensitive=("age",), features=("km",))
    plain, data = (
        build_dataset(table, roles, fixes=fixes, name="x", drop_missing=True)
        for fixes in ((), [Fix("codes", "age")])
    )
    assert any("holds 999" in note for note in plain.notes)
    assert data.n_rows == N - 30
    assert "“age”: 999 is a missing cell (30 rows)." in data.notes


def test_other_formats_than_text_and_a_mark_by_number() -> None:
    out = io.BytesIO()
    pd.DataFrame({"age": among(AGES, 999), "km": RNG.normal(size=N)}).to_parquet(out)
    assert any("999 in 30 rows" in note for note in read_table(out.getvalue())[1].notes)
    assert read_table(out.getvalue(), also_missing=["999"])[0]["age"].isna().sum() == 30
