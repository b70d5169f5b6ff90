"""Data frames of other libraries and unusual columns in an audit: bands, categories, wide integers."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fairdash as fd
from fairdash.tables.frames import plain_frame

RNG = np.random.default_rng(1)
N = 600
AGE = RNG.integers(18, 86, N)
TABLE = pd.DataFrame({"price": 500 - 3 * AGE + RNG.normal(0, 30, N), "age": AGE, "km": RNG.normal(size=N)})
BANDS = pd.cut(AGE, [17, 24, 44, 64, 99], labels=["18-24", "25-44", "45-64", "65+"])


def audited(frame: object, **options: object) -> fd.AuditResult:
    return fd.audit(frame, price="price", sensitive="age", questions=[1], **options)


@pytest.mark.every_case
@pytest.mark.parametrize(("ages", "words"), [
    (BANDS.astype(str), "as ordered classes"),
    (np.where(AGE > 79, "80+", AGE.astype(str)), "numbers with an open end, such as 90+"),
    (pd.cut(AGE, 4), ""),
    (pd.Categorical(AGE // 20), ""),
    ([decimal.Decimal(int(age)) for age in AGE], ""),
], ids=["bands", "top code", "intervals", "categories of numbers", "decimals"])  # fmt: skip
def test_a_sensitive_attribute_of_any_type_is_audited_in_order_of_values(ages: object, words: str) -> None:
    result = audited(TABLE.assign(age=ages))
    assert result.verdict == "above"
    assert not words or any(words in note for note in result.notes)


UNSIGNED = pa.DictionaryArray.from_arrays(pa.array(RNG.integers(0, 2, N), pa.uint32()), pa.array(["N", "S"]))


@pytest.mark.every_case
@pytest.mark.parametrize("frame", [
    pl.from_pandas(TABLE),
    pl.from_pandas(TABLE).with_columns(pl.col("age").cast(pl.Int128), pl.col("price").cast(pl.Decimal(12, 6))),
    pl.from_pandas(TABLE).with_columns(area=pl.Series(RNG.choice(["N", "S"], N)).cast(pl.Categorical)),
    pa.Table.from_pandas(TABLE),
    pa.Table.from_pandas(TABLE).append_column("area", UNSIGNED),
    TABLE.assign(lists=[[1, 2]] * N, age=AGE.astype("float16"), empty=pd.array([pd.NA] * N, dtype="Int64")),
    TABLE.rename(columns={"km": 5}),
    TABLE.convert_dtypes(dtype_backend="pyarrow"),
], ids=["polars", "wide", "category", "arrow", "unsigned", "lists", "number", "arrow types"])  # fmt: skip
def test_a_data_frame_of_any_supported_library_can_be_audited(frame: object) -> None:
    assert audited(frame).verdicts["value"][0] == pytest.approx(audited(TABLE).verdicts["value"][0], rel=1e-4)


@pytest.mark.parametrize("kind", [object, "category", pd.ArrowDtype(pa.decimal128(38, 0))])
def test_policy_numbers_that_a_float_would_alter_stay_distinct(kind: object) -> None:
    assert plain_frame(pd.DataFrame({"id": 10**17 + np.arange(N)}).astype(kind))[0]["id"].nunique() == N


def test_an_audit_reports_codes_for_missing_values_and_row_number_columns() -> None:
    frame = TABLE.assign(age=np.where(np.arange(N) % 15 == 0, 999, AGE))
    frame.insert(0, "Unnamed: 0", np.arange(N))
    notes = " ".join(audited(frame).notes)
    assert "“age” holds 999 in 40 rows" in notes
    assert "1 column not used: they contain row numbers (“Unnamed: 0”)." in notes
    plain, notes = plain_frame(TABLE.assign(X=RNG.integers(0, 99, N), index=np.arange(N)), keep=["index"])
    assert (list(plain), notes) == (["price", "age", "km", "X", "index"], [])


# Class probabilities as users supply them: rounded, in per cent, and with rows without probabilities.


P = RNG.dirichlet([2, 2, 2], N)
NAMES = ["p_a", "p_b", "p_c"]


def shares_audited(p: np.ndarray) -> fd.AuditResult:
    frame = pd.DataFrame(p, columns=NAMES).assign(price=300 + 40 * P[:, 0] + RNG.normal(0, 5, N))
    return fd.audit(frame, price="price", probabilities=NAMES, questions=[9])


@pytest.mark.every_case
@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("digits", [2, 12])
def test_class_probabilities_may_be_rounded_or_in_per_cent(digits: int, scale: int) -> None:
    result = shares_audited(np.round(P, digits) * scale)
    assert any("percentages" in note for note in result.notes) is (scale == 100)


def test_rows_without_a_class_are_left_out_and_counted() -> None:
    p = P * (np.arange(N)[:, None] % 10 > 0)
    assert any(note.startswith("In 60 rows all of “p_a”") for note in shares_audited(p).notes)
