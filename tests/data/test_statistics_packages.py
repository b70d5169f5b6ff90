"""Files of SAS, Stata and SPSS: the values of their cells, and refusals."""

import contextlib
import gzip
import io
import json
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from fairdash.data import read_table
from fairdash.errors import OptionError
from fairdash.tables.readers import limits, statistics_child, statistics_packages
from fairdash.tables.readers.reading import file_contents
from tests.data.tables import refused
from tests.tiers import few

#: Test files of pyreadstat, written by SAS, Stata and SPSS.
FILES = Path(__file__).with_name("statistics")
DAYS = ["2018-05-06", "1880-05-06", "1960-01-01", "1583-01-01"]
TIMES = ["10:10:10", "23:10:10", "00:00:00", "16:10:10"]
LABELS = {"mylabl": {1: "Male", 2: "Female"}, "myord": {1: "low", 2: "medium", 3: "high"}}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the parser in this process, because files that can't crash it need no separate process."""

    def child(parser: str, source: Path, target: Path) -> object:
        bounds = (limits.MAX_COLUMNS, limits.MAX_CELLS, statistics_packages.MAX_CHILD_MEMORY)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            statistics_child.main(parser, str(source), str(target), *bounds)
        return json.loads(said.getvalue())

    monkeypatch.setattr(statistics_child, "_limit_memory", lambda _: None)
    monkeypatch.setattr(statistics_packages, "_child", child)


def content_of(name: str) -> bytes:
    content = (FILES / name).read_bytes()
    return gzip.decompress(content) if name.endswith(".gz") else content


def stata(frame: pd.DataFrame, **options: object) -> bytes:
    buffer = io.BytesIO()
    frame.to_stata(buffer, write_index=False, **options)
    return buffer.getvalue()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("name", "format", "labelled"), [
    ("sample.sas7bdat.gz", "SAS", False), ("sample_bincompressed.sas7bdat.gz", "SAS", False),
    ("sample.xpt", "SAS", False), ("sample.dta", "Stata", True), ("sample.sav", "SPSS", True),
    ("sample.zsav", "SPSS", True),
])  # fmt: skip
def test_sas_stata_and_spss_files_of_the_same_table_give_the_same_data(name, format, labelled):
    got, report = read_table(FILES / name)
    got.columns = got.columns.str.lower()
    assert got["mychar"].tolist() == ["a", "b", "c", "d", "e"]
    assert got["mynum"].tolist() == [1.1, 1.2, -1000.3, -1.4, 1000.3]
    assert got["mydate"].astype(str).tolist()[:4] == DAYS
    assert got["mydate"].isna().tolist() == [False] * 4 + [True]
    assert (got["dtime"].iloc[0], got["mytime"].tolist()[:4]) == (pd.Timestamp("2018-05-06 10:10:10"), TIMES)
    for column, codes in (("mylabl", [1, 2, 1, 2, 1]), ("myord", [1, 2, 3, 1, 1])):
        assert got[column].tolist() == ([LABELS[column][code] for code in codes] if labelled else codes)
    assert (report.format, report.n_rows) == (format, 5)
    article = "an" if format == "SPSS" else "a"
    assert report.sentences()[0].startswith(f"Read as {article} {format} file: 5 rows")
    assert ("Codes are replaced by the file's labels" in " ".join(report.notes)) is labelled
    assert file_contents(content_of(name)) == (format, ())


@pytest.mark.usefixtures("at_once")
def test_values_declared_missing_by_sas_stata_or_spss_become_missing_cells() -> None:
    for name in ("missing_test.sas7bdat.gz", "missing_test.dta"):
        got, report = read_table(FILES / name)
        assert got.iloc[0].isna().tolist() == [True] * 8 + [False]
    assert got.iloc[:, 0].isna().all()
    assert "“var1”: 1 cell with a code for a missing value (.a) is missing." in report.notes
    got, report = read_table(FILES / "sample_missing.sav")
    assert got["mynum"].isna().tolist() == [False] * 5 + [True] * 2
    assert got["mylabl"].dropna().unique().tolist() == ["Male", "Female"]
    assert got["mychar"].isna().tolist() == [False] * 5 + [False, True]
    assert "Codes that the file declares as missing become missing cells: “mynum”" in " ".join(report.notes)


@pytest.mark.usefixtures("at_once")
def test_codes_are_not_replaced_by_labels_if_the_file_labels_only_some_codes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [31.0, 52.0, 99.0], "sex": [1.0, 2.0, 1.0]})
    labels = {"age": {99.0: "not told"}, "sex": {1.0: "F", 2.0: "M"}}
    pyreadstat.write_sav(frame, tmp_path / "x.sav", variable_value_labels=labels)
    got, report = read_table(tmp_path / "x.sav")
    assert (got["age"].tolist(), got["sex"].tolist()) == ([31, 52, 99], ["F", "M", "F"])
    assert "Codes are kept, because the file has labels for only some of them: “age”." in report.notes


@pytest.mark.usefixtures("at_once")
def test_sas_dates_far_from_today_are_read_correctly() -> None:
    got, report = read_table(FILES / "dates.sas7bdat.gz")
    assert got["date"].iloc[1] == pd.Timestamp("1723-04-21")
    assert got["dtime"].iloc[4] == pd.Timestamp("2222-03-28 22:48:59")
    assert "Unpacked from a gzip file." in report.notes
    transport, _ = read_table(FILES / "dates_xpt_v8.xpt")
    day = pd.to_datetime(transport["string_dates"])
    assert transport["dates"].equals(day.astype(transport["dates"].dtype))


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("version", [5, 8])
def test_each_table_of_a_sas_transport_file_can_be_read(version: int, tmp_path: Path) -> None:
    names = ("PRICES", "OTHERS") if version == 5 else ("PRICES", "Names_of_up_to_32_characters_each")
    frames = [
        pd.DataFrame({"AGE": [20.0, 30.0, 40.5]}),
        pd.DataFrame({"TOWN": ["Metz", "Bern"], "N": [1, 2]}),
    ]
    content = b""
    for name, each in zip(names, frames, strict=True):
        pyreadstat.write_xport(each, tmp_path / "x.xpt", table_name=name[:32], file_format_version=version)
        # The library header of 240 bytes appears only once.
        content += (tmp_path / "x.xpt").read_bytes()[240 if content else 0 :]
    known = tuple(each[:32] for each in names)
    assert file_contents(content) == ("SAS", known)
    first, report = read_table(content)
    assert first.to_dict("list") == {"AGE": [20.0, 30.0, 40.5]}
    assert (report.sheet, report.sheets) == (known[0], known)
    assert (
        f"fairdash reads the table “PRICES”, one of 2 in the file (“PRICES”, “{known[1]}”)." in report.notes
    )
    second, report = read_table(content, sheet=known[1])
    assert second.to_dict("list") == {"TOWN": ["Metz", "Bern"], "N": [1, 2]}
    assert report.sheet == known[1]
    with pytest.raises(OptionError, match="The file has “PRICES”, “"):
        read_table(content, sheet="CLAIMS")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("version", [114, 119])
def test_old_and_new_stata_file_versions_are_read(version: int) -> None:
    last = "Metz" if version < 118 else "Łódź"
    frame = pd.DataFrame({"price": [1.5, np.nan, 2.0], "age": [1, 2, 3], "town": ["Köln", "", last]})
    got, _ = read_table(stata(frame, version=version))
    assert got[["price", "age", "town"]].to_numpy().tolist()[::2] == [[1.5, 1, "Köln"], [2.0, 3, last]]
    assert got.isna().any().tolist() == [True, False, True]


def test_reading_options_that_do_not_apply_to_a_stata_file_are_refused() -> None:
    for option in ({"delimiter": ";"}, {"encoding": "cp1252"}, {"sheet": "x"}, {"header_row": 2}):
        with pytest.raises(OptionError, match="A Stata file has no"):
            read_table(FILES / "sample.dta", **option)


@pytest.mark.parametrize(
    "start", few([statistics_packages._SAS_TABLE, b"<stata_dta>", b"$FL2", b"\x72\x01\x01\x00"], b"$FL2")
)
def test_random_bytes_after_a_file_signature_are_refused_as_damaged(start: bytes) -> None:
    assert "damaged" in str(refused(start + np.random.default_rng(1).bytes(3000)))


@pytest.mark.usefixtures("at_once")
def test_a_table_beyond_the_size_limits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = stata(pd.DataFrame({"a": [1.0, 2.0]}), version=114)
    # Header of format 114: release, byte order, type and a byte, then two bytes of columns and four of rows.
    lying = content[:6] + struct.pack("<i" if content[1] == 2 else ">i", 10**9) + content[10:]
    assert "1,000,000,000 cells, more than 50,000,000" in str(refused(lying))
    content = stata(pd.DataFrame(np.zeros((20, 6))).add_prefix("c"))
    monkeypatch.setattr(limits, "MAX_CELLS", 100)
    assert "he table has 120 cells, more than 100" in str(refused(content))
    monkeypatch.setattr(limits, "MAX_COLUMNS", 5)
    assert "he table has 6 columns, more than 5" in str(refused(content))


def test_memory_is_limited_in_the_process_that_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics_packages, "MAX_CHILD_MEMORY", 450 * 10**6)
    assert len(read_table(FILES / "sample.dta")[0]) == 5
    content = stata(pd.DataFrame({f"t{k}": ["x" * 500] * 400 for k in range(250)}), version=117)
    assert "GB of memory" in str(refused(content))


def test_a_file_that_crashes_or_stalls_the_parser_is_refused_and_our_errors_are_raised(monkeypatch, tmp_path):
    crashing = tmp_path / "statistics_child.py"
    crashing.write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.setattr(statistics_packages, "CHILD", crashing)
    assert "damaged" in str(refused(content_of("sample.sav")))
    crashing.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(statistics_packages, "MAX_SECONDS", 1)
    assert "takes more than" in str(refused(content_of("sample.sav")))
    crashing.write_text("raise KeyError('ours')")
    monkeypatch.undo()
    monkeypatch.setattr(statistics_packages, "CHILD", crashing)
    with pytest.raises(RuntimeError, match="ours"):
        read_table(content_of("sample.sav"))


def test_reading_leaves_no_files_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    read_table(FILES / "sample.sav")
    refused(b"$FL2")
    assert list(tmp_path.iterdir()) == []


# Stata, SAS and SPSS: periods and rare date formats, labels that repeat numbers, letters for missing cells.


FIRST = {"tm": ["2024-02-01", "1959-11-01", "2023-08-01"], "tq": ["2024-01-01", "1959-10-01", "2023-07-01"],
         "th": ["2024-01-01", "1959-07-01", "2023-07-01"], "tw": ["2024-02-12", "1959-11-26", "2023-07-30"],
         "td": ["2024-02-15", "1959-11-30", "2023-08-01"]}  # fmt: skip


def test_stata_periods_become_dates_and_stata_years_become_numbers() -> None:
    frame = pd.DataFrame(dict.fromkeys([*FIRST, "ty"], pd.to_datetime(FIRST["td"])))
    table, report = read_table(stata(frame, convert_dates={name: name for name in frame}))
    assert {name: table[name].astype(str).tolist() for name in FIRST} == FIRST
    assert table["ty"].tolist() == [2024, 1959, 2023]
    assert sum("each is replaced by its first day" in note for note in report.notes) == 4


@pytest.mark.every_case
@pytest.mark.parametrize("form", ["MONYY7.", "YYQ6.", "WORDDATE.", "EURDFDD8.", "NLDATM30.", "DOLLAR12."])
def test_sas_formats_decide_which_numbers_become_dates(form: str, tmp_path: Path) -> None:
    cells = [23421.0 * (86400 if form == "NLDATM30." else 1), 0.0]
    frame = pd.DataFrame({"x": cells, "n": [1.5, 2.5]})
    pyreadstat.write_xport(frame, str(tmp_path / "x.xpt"), variable_format={"x": form}, file_format_version=8)
    table, _ = read_table(tmp_path / "x.xpt")
    expected = ["23421", "0"] if form == "DOLLAR12." else ["2024-02-15", "1960-01-01"]
    assert table["x"].astype(str).tolist() == expected


def test_spss_periods_become_dates_and_spss_weekdays_become_numbers(tmp_path: Path) -> None:
    seconds = float((pd.Timestamp("2024-02-15") - pd.Timestamp("1970-01-01")).total_seconds() + 12219379200)
    frame = pd.DataFrame({"q": [seconds, np.nan], "m": [seconds, seconds], "w": [1.0, 7.0]})
    forms = {"q": "QYR8", "m": "MOYR8", "w": "WKDAY3"}
    pyreadstat.write_sav(frame, str(tmp_path / "x.sav"), variable_format=forms)
    table, _ = read_table(tmp_path / "x.sav")
    assert table["q"][0] == table["m"][1] == pd.Timestamp("2024-02-15")
    assert (table["q"].isna().tolist(), table["w"].tolist()) == ([False, True], [1, 7])


def test_columns_whose_labels_repeat_their_numbers_stay_numeric(tmp_path: Path) -> None:
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
    assert f"“work” contains numbers with a label: 2 “refused” ({(ages % 3 == 2).sum()} rows)" in said
