"""Stata, SAS and SPSS: periods and rare formats of dates, labels that repeat numbers, letters for missing cells."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from fairdash.data import read_table

FILES = Path(__file__).with_name("statistics")
DAYS = pd.to_datetime(["2024-02-15", "1959-11-30", "2023-08-01"])
FIRST = {"tm": ["2024-02-01", "1959-11-01", "2023-08-01"], "tq": ["2024-01-01", "1959-10-01", "2023-07-01"],
         "th": ["2024-01-01", "1959-07-01", "2023-07-01"], "tw": ["2024-02-12", "1959-11-26", "2023-07-30"],
         "td": ["2024-02-15", "1959-11-30", "2023-08-01"]}  # fmt: skip


def stata(frame: pd.DataFrame, **options: object) -> bytes:
    out = io.BytesIO()
    frame.to_stata(out, write_index=False, **options)
    return out.getvalue()


def test_statas_periods_are_dates_and_years_are_numbers() -> None:
    frame = pd.DataFrame(dict.fromkeys([*FIRST, "ty"], DAYS))
    table, report = read_table(stata(frame, convert_dates={name: name for name in frame}))
    assert {name: table[name].astype(str).tolist() for name in FIRST} == FIRST
    assert table["ty"].tolist() == [2024, 1959, 2023]
    assert sum("each read as its first day" in note for note in report.notes) == 4


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("form", "cells", "days"),
    [
        ("MONYY7.", [23421, 0], ["2024-02-15", "1960-01-01"]),
        ("YYQ6.", [23421, 0], ["2024-02-15", "1960-01-01"]),
        ("WORDDATE.", [23421, 0], ["2024-02-15", "1960-01-01"]),
        ("EURDFDD8.", [23421, 0], ["2024-02-15", "1960-01-01"]),
        ("NLDATM30.", [23421 * 86400, 0], ["2024-02-15", "1960-01-01"]),
        ("DOLLAR12.", [23421, 0], None),
    ],
)
def test_sas_formats_decide(form: str, cells: list[float], days: list[str] | None, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.array(cells, dtype=float), "n": [1.5, 2.5]})
    pyreadstat.write_xport(frame, str(tmp_path / "x.xpt"), variable_format={"x": form}, file_format_version=8)
    table, _ = read_table(tmp_path / "x.xpt")
    assert table["x"].tolist() == cells if days is None else table["x"].astype(str).tolist() == days


def test_spss_periods_are_dates_and_weekdays_numbers(tmp_path: Path) -> None:
    seconds = float((pd.Timestamp("2024-02-15") - pd.Timestamp("1970-01-01")).total_seconds() + 12219379200)
    frame = pd.DataFrame({"q": [seconds, np.nan], "m": [seconds, seconds], "w": [1.0, 7.0]})
    forms = {"q": "QYR8", "m": "MOYR8", "w": "WKDAY3"}
    pyreadstat.write_sav(frame, str(tmp_path / "x.sav"), variable_format=forms)
    table, _ = read_table(tmp_path / "x.sav")
    assert table["q"][0] == table["m"][1] == pd.Timestamp("2024-02-15")
    assert (table["q"].isna().tolist(), table["w"].tolist()) == ([False, True], [1, 7])


def test_labels_that_repeat_the_number_leave_numbers(tmp_path: Path) -> None:
    ages = np.arange(0, 91, dtype="int32").repeat(3)
    labels = {0: "Less than 1 year old", **{k: str(k) for k in range(1, 90)}, 90: "90 (90+ in 1980)"}
    frame = pd.DataFrame({"age": ages, "sex": ages % 2, "work": ages % 3})
    of = {"age": labels, "sex": {0: "M", 1: "F"}, "work": {2: "refused"}}
    pyreadstat.write_dta(frame, str(tmp_path / "x.dta"), variable_value_labels=of)
    table, report = read_table(tmp_path / "x.dta")
    assert (table["age"].tolist(), sorted(table["sex"].unique())) == (ages.tolist(), ["F", "M"])
    assert table["work"].tolist() == (ages % 3).tolist()
    said = " ".join(report.notes)
    assert "0 “Less than 1 year old” (3 rows), 90 “90 (90+ in 1980)” (3 rows)" in said
    assert f"“work” holds numbers that the file labels: 2 “refused” ({(ages % 3 == 2).sum()} rows)" in said


def test_letters_for_missing_cells_are_counted() -> None:
    table, report = read_table(FILES / "missing_test.dta")
    assert table.iloc[:, 0].isna().all()
    assert "“var1”: 1 cell with a code of missing cells (.a) is missing." in report.notes
