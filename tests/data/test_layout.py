"""Unedited tables: a title above the header, totals and notes below, in text files and in workbooks."""

import numpy as np
import pandas as pd
import pytest

from fairdash.data import read_table
from fairdash.errors import Fix, OptionError, ReadingError
from fairdash.tables.codes import day_numbers, doubts_about, spellings
from fairdash.tables.features import fixes_of_columns
from fairdash.tables.fixes import apply_fixes
from fairdash.tables.frames import plain_frame
from fairdash.tables.readers.report import listen_with
from fairdash.tables.roles import Roles
from tests.data.workbooks import workbook

HEADER, ROWS = ["Alter", "Prämie", "Ort"], [[40, 9.5, "Lyon"], [50, 8, "Brest"], [61, 7.25, "Paris"]]
TITLE, EMPTY, TOTAL, SOURCE = ["Bestand Kfz, Stand 2024"], [], ["Summe", 24.75], ["Quelle: eigene Daten"]


def text(rows: list[list[object]]) -> bytes:
    written = [
        [str(cell).replace(".", ",") if isinstance(cell, float) else str(cell) for cell in row]
        for row in rows
    ]
    return "".join(";".join(cells) + "\n" for cells in written).encode()


def rectangular(rows: list[list[object]]) -> bytes:
    return text([[*row, *[""] * (len(HEADER) - len(row))] for row in rows])


def book(rows: list[list[object]]) -> bytes:
    return workbook({"Tab": rows})


@pytest.mark.parametrize("write", [book, text, rectangular])
@pytest.mark.parametrize(("above", "below"), [
    ([TITLE], []), ([TITLE, EMPTY], [TOTAL]),
    ([TITLE, ["1. Januar"], EMPTY], [EMPTY, TOTAL, EMPTY, SOURCE]), ([], [SOURCE]),
    ([], [["Total général:", 24.75, ""]]),
])  # fmt: skip
def test_titles_above_and_totals_below_a_table_are_recognised_and_reported(write, above, below):
    frame, report = read_table(write([*above, HEADER, *ROWS, *below]))
    assert (list(frame), frame["Prämie"].tolist()) == (HEADER, [9.5, 8, 7.25])
    assert frame["Alter"].tolist() == [40, 50, 61]
    start, n_below = len(above) + 1, sum(map(bool, below))
    assert (f"The column names are on line {start}" in " ".join(report.notes)) == bool(above)
    assert ("below the table" in " ".join(report.notes)) == bool(n_below)
    if n_below:
        last = start + len(ROWS) + len(below)
        assert f"{last})" in next(note for note in report.notes if "below the table" in note)
    assert report.lines.tolist() == [start + 1, start + 2, start + 3]


@pytest.mark.parametrize("write", [book, rectangular])
def test_the_user_can_choose_the_header_row_and_keep_the_rows_below_the_table(write) -> None:
    content = write([TITLE, HEADER, ["Jahre", "Euro", "Name"], *ROWS, TOTAL])
    frame, report = read_table(content, header_row=3)
    assert list(frame) == ["Jahre", "Euro", "Name"]
    assert "on line 3; the 2 rows above it are not used" in " ".join(report.notes)
    frame, report = read_table(content, keep_below=True)
    assert (list(frame), len(frame)) == (HEADER, 5)
    assert "below the table" not in " ".join(report.notes)
    assert next(iter(read_table(content, header_row=1, keep_below=True)[0])) == TITLE[0]
    with pytest.raises(OptionError, match="Line 99, chosen for the column names, is empty"):
        read_table(content, header_row=99)


@pytest.mark.parametrize("write", [book, rectangular])
@pytest.mark.parametrize("rows", [
    [["a", "", ""], [1, 2, 3], [4, 5, 6]],  # missing names are not a title
    [["a", "b", "c"], ["Total", "x", "y"], ["Elf", "x", "z"], ["Total", "x", "y"]],  # “Total” is also a brand of petrol
    [["a", "b", "c"], ["x", "y", "z"], ["x", "", ""]],  # missing cells are not a note
    [["a", "b", "c"], [1, 2, 3], ["", "", 4]],
    [["a", "b", "c"], ["Total", 1, 2]],  # “Total” is the only row
])  # fmt: skip
def test_a_table_without_title_or_notes_is_read_completely(write, rows: list) -> None:
    frame, report = read_table(write(rows))
    assert (len(frame), next(iter(frame))) == (len(rows) - 1, "a")
    assert "below the table" not in " ".join(report.notes)


@pytest.mark.bad_input(6, 7)
@pytest.mark.parametrize("below", ["4\n", "4;5\n", "Lyo\n", "4;5;6;7\n"])
def test_a_truncated_last_row_is_refused_instead_of_taken_for_a_note(below: str) -> None:
    with pytest.raises(ReadingError, match="other numbers of cells"):
        read_table(text([HEADER, *ROWS]) + below.encode())


def test_progress_of_reading_is_reported() -> None:
    heard: list[str] = []
    content = text([HEADER]) + b'40;9,5;"Lyon"\n' * 200_000
    with listen_with(heard.append):
        read_table(content)
    columns = [f"200,000 rows, column {k} of 3" for k in (1, 2, 3)]
    assert heard == ["166,666 rows so far", "200,000 rows so far", *columns]
    read_table(text([HEADER, *ROWS]))
    assert len(heard) == 5, "told to whoever listens, while they do"


# Layouts of publishers and of R, and columns whose values have another meaning than their type, with the
# fixes.


AGES = [*map(str, range(110)), "110+"]


def test_space_aligned_columns_of_the_human_mortality_database_are_read() -> None:
    rows = "".join(
        f"  {year}  {age:>6}   0.{k:04}   .\n" for year in (1900, 1901) for k, age in enumerate(AGES)
    )
    text = f"Sweden, Deaths (period 1x1), \tLast modified: 09 May 2024;  v6\n\n  Year   Age   Female  Male\n{rows}"
    table, report = read_table(text.encode())
    assert list(table.columns) == ["Year", "Age", "Female", "Male"]
    assert table["Female"].tolist() == [k / 10000 for k in range(111)] * 2
    assert table["Male"].isna().all()
    assert (report.delimiter, report.lines[0]) == (" ", 4)
    assert "The column names are on line 3" in " ".join(report.notes)


def test_a_file_of_rs_write_table_with_an_unnamed_row_name_column_is_read() -> None:
    rows = "".join(f'"{k}" {20 + k} {100.5 + k} "zone {"ab"[k % 2]}"\n' for k in range(1, 40))
    table, report = read_table(f'"age" "price" "zone"\n{rows}'.encode())
    assert (list(table.columns), table.iloc[0].tolist()) == (["age", "price", "zone"], [21, 101.5, "zone b"])
    assert "has no name and contains row numbers" in " ".join(report.notes)


def test_a_column_whose_cells_contain_spaces_is_read_as_one_column() -> None:
    for text in ("town\nNew York\nLos Angeles\nSan Jose\n", "name\n" + "John 5\n" * 20):
        assert read_table(text.encode())[0].shape[1] == 1


def test_eurostat_keys_become_columns_and_flags_after_numbers_are_left_out() -> None:
    rows = "".join(f"A,NR,Y{age},DE\t{age}00 \t{age}5.5 p\t: \n" for age in range(1, 40))
    table, report = read_table(f"freq,unit,age,geo\\TIME_PERIOD\t2019 \t2020 \t2021 \n{rows}".encode())
    assert list(table.columns) == ["freq", "unit", "age", "geo", "2019", "2020", "2021"]
    assert table["2020"].tolist() == [float(f"{age}5.5") for age in range(1, 40)]
    assert table["2021"].isna().all()
    assert "Flags after numbers are left out: p (39)." in " ".join(report.notes)


def test_a_line_of_labels_or_units_below_the_header_is_left_out() -> None:
    names = "GEO_ID,NAME,S1901_E,S1901_M\nGeography,Area Name,Median income (dollars),Margin of Error\n"
    rows = "".join(
        f"860Z200US{k},ZCTA5 {k},{k * 5},{'-' if k == 10003 else 7}\n" for k in range(10001, 10041)
    )
    table, report = read_table((names + rows).encode())
    assert (table["S1901_E"].tolist(), len(table)) == ([k * 5 for k in range(10001, 10041)], 40)
    assert "Line 2 contains labels or units of the columns, and is left out." in report.notes


@pytest.mark.parametrize("first", ["NA,NA,x", "#REF!,#REF!,x", "unknown,3,x", ",,x", "unknown,unknown,x"])
def test_a_first_row_with_missing_or_unknown_values_is_data_and_not_a_header(first: str) -> None:
    rows = "".join(f"{20 + k},{300 + k},z\n" for k in range(30)) + "unknown,unknown,z\n"
    assert len(read_table(f"age,price,zone\n{first}\n{rows}".encode())[0]) == 32


def test_cells_with_formula_errors_become_missing_and_are_counted() -> None:
    rows = "".join(f"{k},{'#DIV/0!' if k % 10 == 0 else k / 2}\n" for k in range(40))
    table, report = read_table(f"age,ratio\n{rows}".encode())
    assert table["ratio"].isna().sum() == 4
    assert "Missing cells: 4 marked “#DIV/0!”." in report.sentences()


def test_dates_written_as_numbers_are_reported_and_can_be_converted_to_an_age() -> None:
    born = [19400101 + 10000 * (k % 60) + 100 * (k % 12) + k % 28 for k in range(80)]
    table, report = read_table(pd.DataFrame({"birth": born, "price": range(80)}).to_csv(index=False).encode())
    assert "“birth” holds dates written as numbers, such as 19400101" in " ".join(report.notes)
    (way,) = fixes_of_columns(table)
    assert {fix.kind for fix in way.fixes} == {"year", "age"}
    notes: list[str] = []
    roles = Roles(target="price", sensitive=("birth",), features=())
    aged, _ = apply_fixes(table, roles, [Fix("age", "birth")], notes)
    assert aged["birth"][0] == 60
    assert "an age in years, on the last day of 1999" in notes[0]
    for others in ([20240001, 20240002], [19400101.5, 19400102.5], [41250, 43831], [19400101, 99999999]):
        assert day_numbers(pd.Series(others)) is None


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "cells", "words"), [
    ("start date", range(18_934, 18_994), "(2022-01-01 as R counts, 2012-01-01 as SAS and Stata counts"),
    ("dob", range(-9_000, 9_000, 300), "up to 8700. These numbers may be days (1993-10-27 as R counts"),
    ("Geburtsdatum", range(43_831, 43_891), "2020-02-29 as Excel counts"),
    ("price", range(18_934, 18_994), ""), ("date", [*range(1_990, 2_020)] * 2, ""),
    ("zone", [*"AB" * 30, "Total"], "“zone” holds “Total” in 1 row, used as a level."),
    ("zone", [*"AB" * 30, "Grand Total"], "“zone” holds “Grand Total” in 1 row, used as a level."),
    ("days since start date", range(18_934, 18_994), ""), ("cover", ["total", "partial"] * 30, ""),
])  # fmt: skip
def test_day_numbers_and_totals_among_categories_are_reported(name: str, cells: object, words: str) -> None:
    held = pd.Series(list(cells), name=name)
    said = " ".join(doubts_about(held))
    assert words in said
    assert bool(words) == bool(said)


def test_levels_that_differ_only_in_capitals_or_spaces_are_reported_and_can_be_unified() -> None:
    levels = ["Male", "male", "Female", "female ", "Male"]
    frame = pd.DataFrame({"sex": levels * 20, "price": np.arange(100.0)})
    said = " ".join(plain_frame(frame)[1])
    assert "“Male” and “male”; “Female” and “female ” (100 rows)" in said
    assert "(--one-spelling sex)" in said
    content = frame.to_csv(index=False).encode()
    read, report = read_table(content, one_spelling=["sex", "price"])
    assert set(read["sex"]) == {"Male", "Female"}
    changed, unchanged = report.notes
    assert changed == "“sex”: “Male”, “Female” in one spelling (40 rows changed)."
    assert unchanged.startswith("“price” is unchanged.")
    with pytest.raises(OptionError, match="no such column"):
        read_table(content, one_spelling=["gender"])
    assert [fix.kind for way in fixes_of_columns(frame) for fix in way.fixes] == ["spelling"]
    notes: list[str] = []
    roles = Roles(target="price", sensitive=("sex",), features=())
    alike, _ = apply_fixes(frame, roles, [Fix("spelling", "sex")], notes)
    assert sorted(alike["sex"].unique()) == ["Female", "Male"]
    assert notes == ["“sex”: “Male”, “Female” in one spelling (40 rows changed)."]
    assert (spellings(pd.Series(["A1", "A2", "b"] * 9)), spellings(frame["price"])) == ([], [])
