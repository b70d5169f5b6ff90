import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import read_table
from fairdash.errors import Fix, OptionError, ReadingError
from fairdash.tables.readers import delimited, limits
from tests.data.tables import refused, said, zipped


def read(text: str | bytes, **options: object):
    return read_table(text if isinstance(text, bytes) else text.encode(), **options)


@pytest.mark.bad_input(1, 2, 3)
@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-8", "UTF-8"), ("utf-8-sig", "UTF-8"), ("cp1252", "Windows-1252"), ("utf-16", "UTF-16"),
     ("utf-16-be", "UTF-16-BE"), ("utf-32", "UTF-32")],
)  # fmt: skip
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_text_encodings_are_detected_and_reported(encoding: str, name: str, line_end: str) -> None:
    text = line_end.join(["prénom;coût €", "Zoé;1", "“André”;2", ""])
    frame, report = read(text.encode(encoding))
    assert (list(frame), frame["prénom"].tolist()) == (["prénom", "coût €"], ["Zoé", "“André”"])
    assert (frame["coût €"].tolist(), report.lines.tolist()) == ([1, 2], [2, 3])
    assert said(report).startswith(f"Read as {name} with semicolons between the cells: 2 rows, 2 columns.")


@pytest.mark.bad_input(2)
def test_text_that_does_not_fit_its_encoding_is_refused() -> None:
    assert refused("a,b\n1,2\né,3\n".encode("cp1252"), encoding="utf-8").problems[0].lines == [3]
    # Windows-1252 has no character 0x81.
    assert "neither UTF-8 nor Windows-1252" in str(refused(b"a,b\n\x81\xe9,2\n"))
    frame, report = read("a,b\nł,1\n".encode("iso-8859-2"), encoding="latin2")
    assert (frame["a"].tolist(), report.encoding) == (["ł"], "iso8859-2")


@pytest.mark.parametrize(("option", "value", "words"), [
    *(("encoding", each, "no encoding of this name") for each in ("klingon", "hex", "a\0b", "")),
    *(("delimiter", each, "can't be a delimiter") for each in ("", ",,", "a", "1", '"', "\n", ".")),
    ("decimal", "'", "decimal mark"),
])  # fmt: skip
def test_invalid_reading_options_are_refused(option: str, value: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        read("a,b\n1,2\n", **{option: value})


@pytest.mark.bad_input(4)
@pytest.mark.parametrize(
    ("delimiter", "name"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")]
)
def test_delimiters_are_detected_and_reported(delimiter: str, name: str) -> None:
    rows = [["town", "note", "n"], ["Paris", '"a, b; c | d"', "1"], ["Lyon", "x", "2"]]
    frame, report = read("\n".join(delimiter.join(row) for row in rows))
    assert (frame["note"].tolist(), report.delimiter) == (["a, b; c | d", "x"], delimiter)
    assert name in said(report)
    # With semicolons as delimiters, decimal commas and unquoted commas are not taken for delimiters.
    assert read("a;b;c\n" + "1,5;2,5;3,5\n" * 20)[0].shape == (20, 3)
    assert read("name;age\n" + "Doe, Jane;40\n" * 20)[0].shape == (20, 2)


def test_the_sep_line_of_excel_sets_the_delimiter() -> None:
    frame, report = read("sep=;\na;b\n1,5;2\n")
    assert (frame["a"].tolist(), report.lines.tolist()) == ([1.5], [3])
    assert list(read("sep=\t\na\tb\n1\t2\n")[0]) == ["a", "b"]
    assert list(read("sep=;\na,b\n1,2\n", delimiter=",")[0]) == ["a", "b"]


@pytest.mark.bad_input(5)
def test_decimal_commas_are_converted_and_counted() -> None:
    frame, report = read("price;age;share\n1,5;40;0,25\n-2,25;50;\n3;60;1,5e-3\n")
    assert (frame["price"].tolist(), frame["share"].tolist()[::2]) == ([1.5, -2.25, 3.0], [0.25, 0.0015])
    assert (report.decimal, report.decimal_commas) == (",", {"price": 2, "share": 2})
    assert "Numbers with a decimal comma: 4 cells in 2 columns (“price”, “share”)." in said(report)


THOUSANDS = "“a” stays text: its numbers have a thousands separator (2 cells, lines 2, 3)"
EITHER = "“a” stays text: its cells may have three decimals, or a thousands separator"


@pytest.mark.bad_input(19)
@pytest.mark.parametrize(("text", "words"), [
    ("a;b\n1.234;2,5\n300;1\n", EITHER),  # the decimal mark is a comma, so the point may separate thousands
    ('a,b\n"1,234",2.5\n"300",1\n', EITHER),
    *((f"a;b\n1{mark}234;2\n12{mark}345{mark}678,5;3\n7;4\n", THOUSANDS) for mark in " \u202f’"),
    ("a;b\n1,5;2\n2.5;3\n", "its decimal marks differ"),
])  # fmt: skip
def test_ambiguous_numbers_stay_text_and_are_reported(text: str, words: str) -> None:
    frame, report = read(text)
    assert pd.api.types.is_string_dtype(frame["a"])
    assert words in said(report)


def test_a_chosen_decimal_mark_that_differs_from_the_cells_is_reported() -> None:
    words = "or from the chosen mark (1 cell with a comma, line 2; 0 cells with a point)"
    assert words in said(read("a;b\n1,5;2\n2;3\n", decimal=".")[1])


@pytest.mark.bad_input(6, 7)
def test_rows_with_too_many_or_too_few_cells_are_refused_with_their_line_numbers() -> None:
    (problem,) = refused("a,b\n1,2,3\n4,5,6\n").problems
    assert ("the header has 2 cells" in problem.what, problem.lines) == (True, [2, 3])
    (problem,) = refused("a,b\n" + "1,2\n" * 10 + "1\n" + '"x\ny",2\n' + "1,2,3\n" * 7).problems
    assert "7 with 3, 1 with 1" in problem.what
    assert (problem.lines, problem.count) == ([12, 15, 16, 17, 18], 8)


@pytest.mark.bad_input(8)
@pytest.mark.parametrize(
    ("text", "line"),
    [('a,b\n1,2\n3,"x\n4,5\n6,7\n', 3), ('a,b\n1,2\n3,"x"y\n', 3), ('a,b\n"1\n2",2\n3,"x\n', 4), ('"a,b\n1,2\n', 1)],
)  # fmt: skip
def test_an_unclosed_quote_is_reported_with_its_position(text: str, line: int) -> None:
    error = refused(text, delimiter=",")
    assert error.problems[0].lines == [line]
    assert "quote" in str(error)


@pytest.mark.bad_input(11)
@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf", b"a,b", b"a;b\n\n\n"])
def test_files_without_data_rows_are_refused(content: bytes) -> None:
    assert "no data rows" in str(refused(content))


@pytest.mark.bad_input(13)
def test_duplicate_headers_are_listed_and_numbered_when_the_user_agrees() -> None:
    text = "age,cost,age,Age,age (2), age\n1,2,3,4,5,6\n"
    (problem,) = refused(text).problems
    assert problem.what == "several columns have the same name: columns 1, 3, 6"
    assert problem.fixes == (Fix("number_names", "age"),)
    frame, report = read(text, number_names=True)
    assert list(frame) == ["age", "cost", "age (3)", "Age", "age (2)", "age (4)"]
    assert report.renamed == ((3, "age (3)"), (6, "age (4)"))
    assert "Changed column names: column 3 is “age (3)”" in said(report)


@pytest.mark.bad_input(14)
def test_blank_headers_get_names_and_the_new_names_are_reported() -> None:
    frame, report = read(' age ,,cost,"column 2",\n1,2,3,4,5\n')
    assert list(frame) == ["age", "column 2_", "cost", "column 2", "column 5"]
    assert report.renamed == ((1, "age"), (2, "column 2_"), (5, "column 5"))
    assert "column 2 is “column 2_”" in said(report)
    assert "The first line contains only numbers" in said(read("1,2.5\n3,4\n")[1])
    assert "The first line" not in said(read("a,2010\n3,4\n")[1])


def test_line_numbers_stay_correct_when_empty_lines_are_skipped() -> None:
    frame, report = read('\na,b\n\n1,"x\ny"\n\n\n2,z\n')
    assert (frame["a"].tolist(), report.lines.tolist()) == ([1, 2], [4, 8])
    assert "Empty lines skipped: 4." in said(report)


@pytest.mark.bad_input(9)
@pytest.mark.parametrize(("content", "what"), [
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"), (b"FEA1\0\0\0\0", "a Feather file"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "an old Excel"), (b"%PDF-1.7\n", "a PDF"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "a workbook with a password"), (b"ORC\0\x03ORC\x17", "an ORC file"),
    pytest.param(zipped({"META-INF/manifest.xml": "<x/>"}), "OpenDocument file (.ods)", id="ods"),
    (b"ARROW1\0\0", "a Feather file"), (b"B\n\x03\0\0\0", "machine-dependent byte order"),
    (b"\n<!DOCTYPE html><html>", "a web page"), (b'\xef\xbb\xbf[\n {"age": 40, "price": 3.5}]', "JSON"),
    (b"a,b\n1,\0\n", "binary data"),
])  # fmt: skip
@pytest.mark.parametrize("encoding", [None, "latin-1"])
def test_files_that_are_not_text_tables_are_refused_by_their_content(content, what, encoding, tmp_path):
    path = tmp_path / "policies.csv"
    path.write_bytes(content)
    with pytest.raises(ReadingError, match=re.escape(what)):
        read_table(path, encoding=encoding)


@pytest.mark.bad_input(10)
def test_size_limits_are_enforced_before_the_text_is_parsed(tmp_path, monkeypatch):
    assert "131,072 characters" in str(refused('a,b\n1,"' + "x" * 200_000 + '"\n'))
    monkeypatch.setattr(delimited, "cut", lambda *_, **__: pytest.fail("the cells were cut"))
    monkeypatch.setattr(limits, "MAX_CELLS", 1000)
    assert "about 1,002 cells" in str(refused("a,b\n" + "1,2\n" * 500))
    monkeypatch.setattr(limits, "MAX_COLUMNS", 10)
    assert "about 11 columns" in str(refused(",".join("abcdefghijk") + "\n" + ",".join("1" * 11) + "\n"))
    monkeypatch.setattr(limits, "MAX_FILE", 10**6)
    path = tmp_path / "large.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 500_000)
    for source in (path, path.read_bytes()):
        with pytest.raises(ReadingError, match="2 MB, more than 1"):
            read_table(source)


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    for source in (tmp_path / "gone.csv", tmp_path, "a\0b"):
        with pytest.raises(ReadingError, match="can't be opened"):
            read_table(source)


@pytest.mark.bad_input(15)
def test_infinite_values_are_refused_with_their_line_numbers() -> None:
    error = refused("a,b,c\n1,1,x\ninf,1e400,inf\n2,3,y\n-Infinity,4,z\n")
    found = {problem.column: (list(problem.lines), problem.count) for problem in error.problems}
    assert found == {"a": ([3, 5], 2), "b": ([3], 1)}


@pytest.mark.bad_input(16)
def test_a_column_with_one_non_numeric_cell_stays_text_and_the_cell_is_reported() -> None:
    frame, report = read("a,b\n1,2\nabout 3,3\n4,4\n,5\n")
    assert (frame["a"].tolist()[:3], len(read("a,b\nx,2\ny,3\n4,4\n")[1].notes)) == (["1", "about 3", "4"], 0)
    assert frame["a"].isna().tolist() == [False, False, False, True]
    assert "“a” stays text: most of its cells are numbers, but some are not (1 cell, line 3)." in said(report)


@pytest.mark.bad_input(17)
def test_marks_for_missing_cells_are_counted_and_can_be_changed() -> None:
    text = "country,n\nNA,1\nFR, NA \n,?\nNaN,3\n"
    frame, report = read(text)
    assert (frame.isna().sum().tolist(), report.missing_found) == ([3, 2], {"NA": 2, "": 1, "NaN": 1, "?": 1})
    assert "Missing cells: 2 marked “NA”, 1 empty" in said(report)
    frame, report = read(text, missing_values=["?"])
    assert (frame["country"].tolist()[::3], report.missing_found) == (["NA", "NaN"], {"": 1, "?": 1})
    assert pd.api.types.is_string_dtype(frame["n"])


@pytest.mark.bad_input(18)
@pytest.mark.parametrize(
    "cells",
    [["007", "12"], ["00", "1"], ["9007199254740993", "1"], ["1" * 30, "2"], ["-012", "3"], ["01.5", "2.5"]],
)
def test_identifiers_with_leading_zeros_or_many_digits_stay_text(cells: list[str]) -> None:
    frame, report = read("id,x\n" + "".join(f"{cell},1\n" for cell in cells))
    assert frame["id"].tolist() == cells
    assert "“id” stays text, as an identifier" in said(report)
    assert "(1 cell, line 2)" in said(report)


def test_text_columns_are_converted_to_the_type_of_their_cells() -> None:
    frame, _ = read(
        "whole,real,power,truth,day,time,text,nothing,zero\n"
        "+1,.5,1e3,TRUE,2020-02-29,2020-01-01 10:30,x,,0\n"
        "-2,5.,2E-3,false,2021-01-01,2020-01-01T10:30:15.25,y,NA,-0\n"
    )
    kinds = {name: values.dtype.kind for name, values in frame.items() if name != "text"}
    assert "".join(kinds.values()) == "iffbMMfi"
    rows = frame[["whole", "real", "power", "truth"]].to_numpy().tolist()
    assert rows == [[1, 0.5, 1000, True], [-2, 5, 0.002, False]]
    assert frame["time"].iloc[1] == pd.Timestamp("2020-01-01 10:30:15.25")
    # An invalid date, digits of other scripts, and Python's number formats.
    frame, _ = read("a,b,c,d,e\n١٢,1_000,0x10,1e,2021-02-30\n٣,2_000,0x11,2e,2021-02-28\n")
    assert all(pd.api.types.is_string_dtype(frame[name]) for name in frame)
    frame, report = read("a,b\ntrue,2\n,3\nfalse,4\n")
    np.testing.assert_array_equal(frame["a"], [1, np.nan, 0])
    assert "1 for true and 0 for false" in said(report)


def test_no_cell_is_quoted_in_a_message() -> None:
    secret = "CANARY7391"
    for rows in (f"{secret},1,2", f'1,"{secret}', f"1,{secret}\0", f"1,{secret}\ninf,1\n2,1"):
        assert secret not in str(refused(f"a,b\n{rows}\n"))
    for text in (f"a,b\n1,2\n{secret},3\n4,5\n", "a,b\n07391,1\n", 'a,b\n"7,391",1\n'):
        assert "7391" not in said(read(text)[1])
        assert "7,391" not in said(read(text)[1])
