"""Parquet, Excel and R files: the types of their cells, refusals, and checks before the cells are read."""

import contextlib
import datetime
import decimal
import gzip
import io
import re
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairdash.data import read_table
from fairdash.errors import OptionError, ReadingError
from fairdash.tables.readers import excel, limits, typed
from tests.data import tables
from tests.data.r_objects import NA, frame, function, rda, rds, texts, vector
from tests.data.tables import memory_below, policies, said
from tests.data.workbooks import CORNERS, HEAD, MAIN, day, formula, sheet_xml, workbook


def parquet(table: pa.Table, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def refused(content: bytes, **options: object) -> str:
    return str(tables.refused(content, **options))


def test_a_parquet_table_is_read_exactly() -> None:
    frame = policies().assign(town=lambda f: f["town"].astype("category"))
    got, report = read_table(parquet(pa.Table.from_pandas(frame)), name="x")
    pd.testing.assert_frame_equal(got, policies(), check_dtype=False)
    assert got.dtypes.map(lambda kind: kind.kind).tolist()[:3] == ["f", "i", "i"]
    assert (report.encoding, report.delimiter, report.lines.tolist()) == (None, None, [*range(1, 61)])
    assert said(report) == "Read as a Parquet file: 60 rows, 4 columns.\nNo cell is missing."


def test_each_parquet_type_is_converted_to_the_matching_pandas_type() -> None:
    table = pa.table(
        {
            "small": pa.array([1, None, 3], pa.int8()),
            "unsigned": pa.array([1, 2, 3], pa.uint64()),
            "half": pa.array(np.array([1, 2, 3], np.float16)),
            "money": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("2")], pa.decimal128(10, 2)),
            "truth": pa.array([True, False, True]),
            "doubt": pa.array([True, None, False]),
            "day": pa.array([datetime.date(2020, 2, 29), None, datetime.date(1890, 1, 1)]),
            "instant": pa.array([datetime.datetime(2020, 1, 1)] * 3, pa.timestamp("ns", "Europe/Paris")),
            "town": pa.array(["NA", None, "Paris"]),
            "large": pa.array(["a", "b", "c"], pa.large_string()),
            "nothing": pa.nulls(3),
        }
    )
    got, report = read_table(parquet(table))
    assert [got[name].dtype.kind for name in ("small", "truth", "doubt", "day", "instant")] == list("fbfMM")
    for name, first, last in (
        ("small", 1, 3), ("unsigned", 1, 3), ("half", 1, 3), ("money", 1.25, 2), ("doubt", 1, 0),
        ("day", pd.Timestamp("2020-02-29"), pd.Timestamp("1890-01-01")),
        ("instant", pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01")), ("town", "NA", "Paris"),
    ):  # fmt: skip
        assert got[name].tolist()[::2] == [first, last], name
    assert (got["town"].isna().tolist(), report.missing_found) == ([False, True, False], {"": 3 + 5})
    assert got["nothing"].isna().all()
    assert "“instant” is converted to coordinated universal time (UTC)." in said(report)


@pytest.mark.bad_input(18)
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(38, 0)])
def test_whole_numbers_that_a_float_would_alter_become_text(kind: pa.DataType) -> None:
    numbers = [2**53 + 1, 2, None, 2**62 + 3]
    got, report = read_table(parquet(pa.table({"id": pa.array(numbers, kind), "x": [1, 2, 3, 4]})))
    assert got["id"].tolist()[::3] == [str(2**53 + 1), str(2**62 + 3)]
    assert "“id” becomes text, as an identifier" in said(report)
    assert "(2 cells, lines 1, 4)" in said(report)


@pytest.mark.bad_input(23)
def test_nested_parquet_columns_are_left_out_by_name_and_truncated_files_are_refused() -> None:
    table = pa.table({"a": [1, 2], "list.of": [[1], [2, 3]], "record": [{"x": 1}, {"x": 2}], "b.c": [1.5, 2]})
    got, report = read_table(parquet(table))
    assert got.to_dict("list") == {"a": [1, 2], "b.c": [1.5, 2.0]}
    assert "2 columns not read: their cells are neither numbers nor text" in said(report)
    assert "“list.of”, “record”" in said(report)
    assert "no column of the file holds" in refused(parquet(table.select(["record"]))).lower()
    content = parquet(pa.Table.from_pandas(policies()))
    for end in (8, len(content) // 2, len(content) - 1):
        assert "file is incomplete or damaged" in refused(content[:end])


@pytest.mark.bad_input(13, 14)
def test_duplicate_parquet_names_are_numbered_if_the_user_agrees_and_blank_names_are_filled() -> None:
    columns = [pa.array(["x"]), pa.array([2.5]), pa.array(["y"]), pa.array([[1]]), pa.array([7])]
    table = pa.Table.from_arrays(columns, ["a", "b", "a", "nested", "b"])
    frame, report = read_table(parquet(table), number_names=True)
    assert frame.to_dict("records") == [{"a": "x", "b": 2.5, "a (2)": "y", "b (2)": 7}]
    assert "“a”: several columns have the same name: columns 1, 3" in refused(parquet(table))
    assert "column 3 is “a (2)”" in said(report)
    got, report = read_table(parquet(pa.table({" a": [1], "": [2]})))
    assert (list(got), report.renamed) == (["a", "column 2"], ((1, "a"), (2, "column 2")))


@pytest.mark.bad_input(10, 20)
def test_a_parquet_bomb_is_refused_from_the_size_in_its_footer(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet(pa.table({f"c{k}": pa.array(np.zeros(2_000_000)) for k in range(4)}))
    assert len(content) < 100_000
    monkeypatch.setattr(limits, "MAX_PARQUET_CELLS", 7_999_999)
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *a, **o: pytest.fail("a column was read"))
    before = pa.total_allocated_bytes()
    assert "8,000,000 cells, more than 7,999,999" in refused(content)
    assert pa.total_allocated_bytes() - before < 1e6
    monkeypatch.setattr(limits, "MAX_COLUMNS", 3)
    assert "4 columns, more than 3" in refused(content)
    monkeypatch.undo()
    monkeypatch.setattr(typed, "MAX_BYTES", 10**7)
    content = parquet(pa.table({"text": ["x" * 10_000] * 2_000, "n": range(2_000)}))
    assert len(content) < 100_000
    assert "more than 10 million characters" in refused(content)
    assert pa.total_allocated_bytes() - before < 1e6


@pytest.mark.parametrize(
    ("option", "words"),
    [({"encoding": "utf-8"}, "to choose"), ({"decimal": ","}, "to choose"), ({"sheet": "x"}, "no sheets"),
     ({"header_row": 1}, "no line of names")],
)  # fmt: skip
def test_reading_options_that_do_not_apply_to_a_parquet_file_are_refused(option: dict, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        read_table(parquet(pa.table({"a": [1]})), **option)


# Excel.

ROWS = [
    ["cost", "age", "town", "sold", "day", "code"], [10.5, 40, "Lyon", True, day(43890), "007"],
    [None, 50, None, False, day(43891), "012"], [3, 60, "NA", True, day(43892), "100"],
]  # fmt: skip


def test_an_excel_sheet_is_read_with_the_types_of_its_cells() -> None:
    got, report = read_table(workbook({"Tab": ROWS}), name="x.xlsx")
    assert got["cost"].tolist()[::2] == [10.5, 3]
    assert got[["cost", "town"]].isna().to_numpy().tolist() == [[False, False], [True, True], [False, True]]
    assert got[["age", "sold", "code"]].to_numpy().T.tolist() == [
        [40, 50, 60], [True, False, True], ["007", "012", "100"],
    ]  # fmt: skip
    assert (got["age"].dtype, got["day"].iloc[0]) == (np.int64, pd.Timestamp("2020-02-29"))
    assert "Read as an Excel workbook: 3 rows, 6 columns." in said(report)
    assert (report.missing_found, report.lines.tolist()) == ({"": 2, "NA": 1}, [2, 3, 4])
    assert (report.format, report.sheet, report.sheets) == ("Excel", "Tab", ("Tab",))
    _, report = read_table(workbook({"Tab": [["id", "x"], [12345678901234567, 1], [2, 2]]}))
    assert "only 15 digits, so identifiers may be wrong (1 cell, line 2)" in said(report)


@pytest.mark.bad_input(22)
def test_the_first_visible_sheet_is_read_and_the_others_are_named() -> None:
    other = [["x"], [1]]
    content = workbook({"Secret": other, "Data": ROWS, "Notes": other}, hidden=["Secret"])
    got, report = read_table(content)
    assert (list(got), report.sheets) == (ROWS[0], ("Secret", "Data", "Notes"))
    assert "Sheet “Data” is read; there is also “Notes”; hidden in the file: “Secret”." in said(report)
    got, report = read_table(content, sheet="Secret")
    assert list(got) == ["x"]
    assert "which is hidden" in said(report)
    with pytest.raises(OptionError, match="no sheet of this name"):
        read_table(content, sheet="Gone")
    xml = sheet_xml(ROWS).replace('<row r="3"', '<row r="3" hidden="1"')
    assert 'hidden="1"' in xml
    assert "The table includes 1 row hidden in the sheet, perhaps by a filter (row 3)." in said(
        read_table(workbook({"Tab": xml}))[1]
    )


@pytest.mark.bad_input(22)
@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/sharedStrings.xml"])
def test_xml_entities_in_any_part_of_a_workbook_are_refused(part: str) -> None:
    declared = '<!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/passwd">]>'
    text = f'{HEAD}{declared}<worksheet xmlns="{MAIN}"><sheetData/></worksheet>'
    assert "declares XML entities" in refused(workbook({"Tab": ROWS}, **{part: text}))
    assert "declares XML entities" in refused(workbook({"Tab": ROWS}, **{part: text.encode("utf-16")}))


@pytest.mark.bad_input(22)
def test_formulas_without_stored_results_are_refused_with_advice_to_save_again() -> None:
    good = [["a", "b"], [1, formula("A2*2", 2)], [2, formula("A3*2", 4)]]
    assert read_table(workbook({"Tab": good}))[0]["b"].tolist() == [2, 4]
    bad = [["a", "b"], [1, formula("A2*2")], [2, formula("A3*2", 4)], [3, formula("A4*2")]]
    text = refused(workbook({"Tab": bad}))
    assert all(words in text for words in ("Column B", "2 places; lines 2, 4", "save it again"))
    # The fault is on another sheet, which is not read.
    assert len(read_table(workbook({"Tab": good, "Other": bad}))[0]) == 2
    empty_text = [["a", "b"], [1, lambda place: f'<c r="{place}" t="str"><f>""</f><v></v></c>'], [2, "x"]]
    assert read_table(workbook({"Tab": empty_text}))[0]["b"].isna().tolist() == [True, False]


@pytest.mark.bad_input(21)
def test_a_sheet_with_a_stray_cell_in_its_last_corner_is_refused_before_cells_are_read() -> None:
    with memory_below(50e6):
        assert "17,179,869,184 cells, more than 5,000,000" in refused(workbook({"Tab": CORNERS}))


@pytest.mark.bad_input(20, 21)
def test_workbooks_beyond_the_limits_of_cells_text_or_unpacked_size_are_refused(monkeypatch):
    monkeypatch.setattr(excel, "MAX_CHARACTERS", 10**5)
    cells = '<row><c t="s"><v>0</v></c></row>' * 200
    text = f'{HEAD}<sst xmlns="{MAIN}"><si><t>{"x" * 1000}</t></si></sst>'
    sheet = f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
    assert "characters, more than 100,000" in refused(
        workbook({"Tab": sheet}, **{"xl/sharedStrings.xml": text})
    )
    monkeypatch.setattr(excel, "MAX_EXCEL_CELLS", 11)
    rows = [["a", "b"]] + [[1, 2]] * 5
    assert "more than 11" in refused(workbook({"Tab": rows}))
    without_places = re.sub(r' r="[A-Z]*\d+"', "", sheet_xml(rows))
    assert "more than 11" in refused(workbook({"Tab": without_places}))
    monkeypatch.setattr(excel, "MAX_BYTES", 10**6)
    content = workbook({"Tab": ROWS}, **{"xl/theme/theme1.xml": "<x>" + " " * 5_000_000 + "</x>"})
    assert len(content) < 20_000
    assert "unpacked workbook has more than 1 MB" in refused(content)


@pytest.mark.bad_input(11)
def test_empty_or_damaged_workbooks_are_refused_with_the_reason() -> None:
    for rows in ([], [[]], [["a", "b"]], [["a", "b"], [None, None]]):
        assert "no data rows" in refused(workbook({"Tab": rows}))
    content = workbook({"Tab": ROWS})
    odd = {"xl/workbook.xml": HEAD.replace("UTF-8", "NTF-8") + f'<workbook xmlns="{MAIN}"/>'}
    for broken in (
        workbook({"Tab": "<worksheet><sheetData><row"}), content[: len(content) // 2],
        workbook({"Tab": ROWS}, **odd), workbook({"Tab": ROWS}, **{"xl/_rels/workbook.xml.rels": "<"}),
    ):  # fmt: skip
        assert "incomplete or damaged" in refused(broken)


# R.


def written_by_rdata(folder: Path, **frames: pd.DataFrame) -> bytes:
    import rdata

    # The writer does not support the string type of pandas.
    plain = {
        name: frame.astype({c: object for c in frame if not pd.api.types.is_numeric_dtype(frame[c])})
        for name, frame in frames.items()
    }
    rdata.write_rda(folder / "x.rda", plain)
    return (folder / "x.rda").read_bytes()


def test_a_data_frame_of_r_is_read_with_its_types(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"cost": [1.5, 2.5, np.nan], "n": pd.array([1, 2, 3], "int32"), "town": ["Lyon", "NA", "Brest"]}
    )
    content = written_by_rdata(tmp_path, first=frame, second=frame[["n"]])
    got, report = read_table(content)
    pd.testing.assert_frame_equal(got, frame, check_dtype=False)
    assert "fairdash reads the table “first”, one of 2 in the file" in said(report)
    assert list(read_table(content, sheet="second")[0]) == ["n"]
    with pytest.raises(OptionError, match="no table of this name"):
        read_table(content, sheet="gone")


def test_damaged_r_files_are_refused_as_damaged(tmp_path: Path) -> None:
    content = written_by_rdata(tmp_path, first=policies())
    inside = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    rng = np.random.default_rng(0)
    for end in (10, len(inside) // 2, len(inside) - 3):
        assert "incomplete or damaged" in refused(inside[:end])
    for _ in range(20):
        broken = bytearray(inside)
        for place in rng.integers(8, len(broken), 8):
            broken[place] = rng.integers(256)
        # The file is read or refused, and raises no other error.
        with contextlib.suppress(ReadingError):
            read_table(bytes(broken))


# Columns of R's classes are read as R displays them, or left out by name.


NAN = float("nan")


def long(*numbers: int) -> list[float]:
    """Whole numbers as bit64 stores them: their eight bytes are those of a float."""
    return list(struct.unpack(f"{len(numbers)}d", struct.pack(f"{len(numbers)}q", *numbers)))


def test_columns_with_r_classes_are_read_with_the_values_that_r_displays() -> None:
    content = frame(
        3,
        # R's NA is a signalling NaN, about which numpy may warn.
        born=vector([10728, -2224, *long(0x7FF00000000007A2)], **{"class": texts("Date")}),
        whole=vector([10728, NA, 0], "i", **{"class": texts("IDate", "Date")}),
        start=vector([1704067200, 1.5, NAN], **{"class": texts("POSIXct", "POSIXt"), "tzone": texts("UTC")}),
        wait=vector([1, 2, NAN], **{"class": texts("difftime"), "units": texts("days")}),
        id=vector(long(2**62, 5, 6), **{"class": texts("integer64")}),
        cents=vector(long(41250, -(2**63), -5), **{"class": texts("integer64")}),
        odd=vector([1, 2, NAN], **{"class": texts("yearmon")}),
        scaled=vector([1, 2, 3], dim=vector([3, 1], "i")),
        two=vector([1, 2, 3, 4, 5, 6], dim=vector([3, 2], "i")),
        series=vector([7, 8, 9], **{"class": texts("ts"), "tsp": vector([2001, 2003, 1])}),
        same=vector([7, 8, 9], **{"class": texts("AsIs")}),
    )
    for name, packed in (
        ("a.rda", rda(d=content)),
        ("a.rds", rds(content)),
        ("a.rds", gzip.compress(rds(content))),
    ):
        got, report = read_table(packed, name=name)
        assert list(map(str, got["born"].dt.date)) == ["1999-05-17", "1963-11-30", "NaT"]
        assert list(map(str, got["whole"].dt.date)) == ["1999-05-17", "NaT", "1970-01-01"]
        assert (got["start"][0], got["id"].tolist()) == (pd.Timestamp("2024-01-01"), [str(2**62), "5", "6"])
        assert got["start"].isna().tolist() == [False, False, True]
        np.testing.assert_equal(got["wait"].to_numpy(), [1, 2, NAN])
        np.testing.assert_equal(got["cents"].to_numpy(), [41250, NAN, -5])
        assert got["scaled"].tolist() == [1, 2, 3]
        assert got["series"].tolist() == got["same"].tolist() == [7, 8, 9]
        said = " ".join(report.notes)
        assert "1 column not read: their cells are of R's class “yearmon” (“odd”)." in said
        assert "1 column not read: each of them is a matrix or a data frame (“two”)." in said
        assert "“wait” is a span of time, in days." in said
        assert not {"odd", "two"} & set(got)
        assert "invalid value" not in said


def test_r_factors_with_a_missing_level_are_read_and_list_columns_are_left_out() -> None:
    zone = vector([2, 1, NA, 3], "i", levels=texts("b", None, "a"), **{"class": texts("factor")})
    risk = vector([1, 2, 2, NA], "i", levels=texts("low", "high"), **{"class": texts("ordered", "factor")})
    claims = vector([vector([1]), vector([2, 3]), vector([]), texts("x")], "o")
    got, report = read_table(rda(d=frame(4, zone=zone, risk=risk, claims=claims)))
    assert got.astype(object).where(got.notna(), None).to_dict("list") == {
        "zone": [None, "b", None, "a"],
        "risk": ["low", "high", "high", None],
    }
    note = "1 column not read: their cells are neither numbers, text nor dates (“claims”)."
    assert note in report.notes


def test_a_posixlt_column_of_r_keeps_its_local_clock_time() -> None:
    parts = {"sec": 30.5, "min": 20.0, "hour": 10.0, "mday": 5.0, "mon": 11.0, "year": 124.0}
    lists = {name: vector([number, NAN]) for name, number in parts.items()}
    when = vector(list(lists.values()), "o", names=texts(*lists), **{"class": texts("POSIXlt", "POSIXt")})
    got, _ = read_table(rda(d=frame(2, when=when, n=vector([1, 2]))))
    assert list(map(str, got["when"].dt.floor("s"))) == ["2024-12-05 10:20:30", "NaT"]


def test_haven_missing_codes_become_missing_and_labels_replace_codes_only_if_complete() -> None:
    labels = vector([1, 2, 9], names=texts("F", "M", "refused"))
    of_spss = {"class": texts("haven_labelled_spss", "haven_labelled"), "labels": labels}
    content = frame(
        4,
        sex=vector([1, 2, 9, 1], na_values=vector([9]), **of_spss),
        age=vector([30, 40, 998, 999], na_range=vector([998, 999]), **of_spss),
    )
    got, report = read_table(rda(d=content))
    assert got["sex"].astype(object).where(got["sex"].notna(), None).tolist() == ["F", "M", None, "F"]
    np.testing.assert_equal(got["age"].to_numpy(), [30, 40, NAN, NAN])
    assert "“age”: codes that the file declares as missing become missing cells (2)." in report.notes


def test_objects_of_an_r_file_that_are_not_data_frames_are_named() -> None:
    content = frame(2, n=vector([1, 2], "i"))
    counts = vector([3, 4], "i", dim=vector([2], "i"), **{"class": texts("table")})
    got, report = read_table(rda(fit=function(), counts=counts, d=content))
    assert got["n"].tolist() == [1, 2]
    assert (
        "These objects of the file are not read, because they are no data frames: “fit”, “counts”."
        in report.notes
    )
    with pytest.raises(ReadingError, match="holds no data frame, but “fit”"):
        read_table(rda(fit=function()))


def test_an_ascii_rds_file_is_read_and_a_text_table_that_resembles_one_stays_text() -> None:
    assert read_table(b"A\n2\n3\n4\n")[0]["A"].tolist() == [2, 3, 4]
    words = (
        "A 2 262146 131840 787 1 13 2 5 6 1026 1 262153 5 names 16 1 262153 1 n 1026 1 262153 5 class 16 1 262153 10 "
        "data.frame 1026 1 262153 9 row.names 13 2 NA -2 254 "
    )
    got, report = read_table(words.replace(" ", "\n").encode(), name="a.rds")
    assert (report.format, got["n"].tolist()) == ("R", [5, 6])
