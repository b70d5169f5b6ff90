"""Tables in archives: row 20 of the table of bad inputs."""

import bz2
import csv
import datetime
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import fairdash as fd
from fairdash.data import read_table
from fairdash.errors import ReadingError
from fairdash.tables.readers import delimited, limits, texts
from fairdash.tables.readers.delimited import cut, cut_plain
from fairdash.tables.readers.text_column import MISSING_MARKS
from tests.data.tables import memory_below, policies, refused, zipped

TABLE = policies().to_csv(index=False, sep=";", decimal=",").encode()


def told(value: object) -> str:
    """Name a test case without its bytes, which may contain the time of day and differ between processes."""
    return value if isinstance(value, str) else "content"


@pytest.mark.parametrize(("content", "what"), [
    (gzip.compress(TABLE), "a gzip file"),
    (gzip.compress(TABLE[:500]) + gzip.compress(TABLE[500:]), "a gzip file"),
    (bz2.compress(TABLE), "a bzip2 file"),
    (lzma.compress(TABLE), "an xz file"),
    (zipped({"a/policies.csv": TABLE}), "a zip archive"),
    (zipped({"policies.csv": TABLE}, zipfile.ZIP_STORED), "a zip archive"),
    (zipped({"a/": b"", "a/x.csv": TABLE, "__MACOSX/a/._x.csv": b"x", "a/.DS_Store": b""}), "a zip archive"),
], ids=told)  # fmt: skip
def test_a_compressed_table_is_read_like_the_uncompressed_one(content: bytes, what: str) -> None:
    frame, report = read_table(content, name="policies")
    plain, plain_report = read_table(TABLE)
    assert frame.equals(plain)
    assert report.lines.tolist() == plain_report.lines.tolist()
    assert f"Unpacked from {what}." in report.sentences()


@pytest.mark.parametrize(("content", "words"), [
    (gzip.compress(TABLE)[:-20], "a gzip file that is incomplete or damaged"),
    (gzip.compress(TABLE)[:100] + bytes(100), "a gzip file that is incomplete or damaged"),
    (zipped({"x.csv": TABLE})[:-30], "a zip archive that is incomplete or damaged"),
    (zipped({"x.csv": TABLE}).replace(b"x.csv", b"\0.csv"), "a zip archive that is incomplete or damaged"),
    (zipped({"x.csv": TABLE, "y.csv": TABLE}), "the zip archive contains 2 files"),
    (zipped({}), "an empty zip archive"),
    (zipped({"x.csv": TABLE}, zipfile.ZIP_LZMA), "has an unusual compression"),
    (zipped({"x.csv": b""}), "the file is empty"),
    (gzip.compress(b"\x89PNG\r\n\x1a\n"), "a PNG image"),
    (gzip.compress(gzip.compress(TABLE)), "a gzip archive within an archive"),
    (zipped({"x.zip": zipped({"x.csv": TABLE})}), "an archive within an archive"),
    (zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "this workbook is incomplete"),
    (zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}), "an office document"),
    (bz2.compress(TABLE)[:-20], "a bzip2 file that is incomplete or damaged"),
    (lzma.compress(TABLE)[:-20], "an xz file that is incomplete or damaged"),
], ids=told)  # fmt: skip
def test_unreadable_archives_are_refused_with_the_reason(content: bytes, words: str) -> None:
    assert words.lower() in str(refused(content)).lower()


def test_a_password_protected_archive_is_refused() -> None:
    content = bytearray(zipped({"x.csv": TABLE}))
    # Set the flag for a password in the header of the file and in the directory of the archive.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert "has a password" in str(refused(bytes(content)))


@pytest.mark.bad_input(20)
@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, lambda content: zipped({"x.csv": content})]
)
def test_a_decompression_bomb_is_refused_at_the_size_limit(pack, monkeypatch):
    bomb = pack(b"1" * 40_000_000)
    assert len(bomb) < 200_000
    monkeypatch.setattr(limits, "MAX_FILE", 10**6)
    # The archive unpacks to 40 MB, and xz needs 8 MB for its dictionary.
    with memory_below(16e6):
        assert "The unpacked file has more than 1 MB" in str(refused(bomb))


@pytest.mark.bad_input(20)
def test_a_false_size_in_an_archive_does_not_circumvent_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"1,2\n" * 1_000_000
    packed = bytearray(zipped({"x.csv": content}))
    # The unpacked size, as stated in the directory of the archive.
    place = packed.index(b"PK\x01\x02") + 24
    packed[place : place + 4] = (10).to_bytes(4, "little")
    monkeypatch.setattr(limits, "MAX_FILE", 10**6)
    assert "a zip archive that is incomplete or damaged" in str(refused(bytes(packed)))


def test_random_bytes_after_an_archive_signature_are_refused_without_a_crash() -> None:
    rng = np.random.default_rng(0)
    for head in (b"\x1f\x8b\x08", b"PK\x03\x04", zipped({"x.csv": TABLE})[:200]):
        for _ in range(200):
            with pytest.raises(ReadingError):
                read_table(head + rng.bytes(rng.integers(0, 400)))


# Unsupported files that contain a table: the message names their format and the next step.


def test_a_folder_of_parquet_files_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "year=2024" / "part.parquet")
    with pytest.raises(ReadingError, match="folder of Parquet files"):
        read_table(tmp_path)


def test_a_text_file_whose_header_begins_with_orc_is_read_as_text() -> None:
    assert read_table(b"ORCHARD,b\n1,2\n")[0]["ORCHARD"].tolist() == [1]


# The fast reader splits text without quotes by bytes: it gives the table of the careful reader, or declines.


def careful(content: bytes, encoding: str, **how):
    return cut(io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline=""), **how)


def same(content: bytes, encoding: str, **how) -> bool:
    """Return True if the fast reader accepts the text; its table must equal that of the careful reader."""
    found = cut_plain(content, encoding, **how)
    if found is None:
        return False
    header, columns, lines, notes = careful(content, encoding, **how)
    assert (found[0], found[3]) == (header, notes)
    assert np.array_equal(found[2], lines)
    assert [each.to_pylist() for each in found[1]] == [each.to_pylist() for each in columns]
    return True


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("title", ["", "\n", "Portfolio 2024\n"])
@pytest.mark.parametrize(("below", "keep_below"), [
    ("", False), ("\n\n", False), ("Total;99;", False), ("\nSource: us\n", False), ("Total;99;", True),
])  # fmt: skip
def test_the_fast_and_the_careful_text_reader_give_the_same_table(title, below, keep_below, encoding) -> None:
    rows = "prix;âge;ville\n40;9.5;Lyon\n 7 ;é;x y\r\n\n41;;\n;;\n\r\nTotal;99;\n" + "40;9.5;Lyon\n" * 20
    assert same(f"{title}{rows}{below}".encode(encoding), encoding, delimiter=";", keep_below=keep_below)


@pytest.mark.parametrize(("content", "encoding"), [
    (b'a;b\n"1;2";3\n', "utf-8"), (b"a;b\n1;2\r3;4\n", "utf-8"),
    ("a;b\n1;2\n".encode("utf-16"), "utf-16"), (b"a;b\n1;2;3\n", "utf-8"), (b"a;b\n", "utf-8"),
    (b"a;b\n\n\n", "utf-8"), (b"a;b\n1;" + b"x" * 200_000 + b"\n", "utf-8"),
])  # fmt: skip
def test_the_fast_text_reader_declines_text_for_the_careful_reader(content: bytes, encoding: str) -> None:
    assert cut_plain(content, encoding, delimiter=";") is None


def test_the_fast_text_reader_handles_a_chosen_header_row_and_a_single_column() -> None:
    assert same(b"x;y\na;b\n1;2\n3;4", "utf-8", delimiter=";", header_row=2)
    assert same(b"a\n1\n\n2\n", "utf-8", delimiter=";")


TABLES = {
    "numbers": "a,b,c\n1,1.5,1e3\n-2,.5,\n+3,2.,NA\n", "commas": "a;b\n1,5;1.234\n2,25;5.678,9\n",
    "thousands": "a;b\n1.234.567;€ 5\n12;€ 7,50\n",
    "codes": "code;name;flag\n007;Anne;true\n010; Ben ;false\n;n/a;\n",
    "dates": "a,b,c\n2020-01-31,31.12.2019,01/02/2019\n2020-02-29,1.2.2020,03/04/2019\n",
    "bands": 'band,long,"quoted, name"\n18-25,9007199254740993,"x\ny"\n26-40,1,"z ""q"""\n',
    "mixed": "a,b\n1,x\ntwo,3\n3,4\n4,5\n", "percent": "a;b\n5 %;1\n13,0 %;2\n7 %;3\n",
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_are_read_the_same_with_and_without_pyarrow(table, monkeypatch):
    frame, report = fd.read_table(table.encode())
    for module in (texts, delimited):
        monkeypatch.setattr(module, "has", lambda _: False)
    slow, said = fd.read_table(table.encode())
    assert report.sentences() == said.sentences()
    # pandas may store text in different types.
    of_text = {name: object for name in frame if frame[name].dtype.kind not in "iufbM"}
    assert_frame_equal(frame.astype(of_text), slow.astype(of_text))


# Frames written in any CSV dialect are read back exactly, or refused with a clear message.


# Every text begins with a letter, so that none is parsed as a number, a date, a truth value or a missing
# mark.
TRICKY = ["Lyon", "w;x", "w, x", "w\tx", "w|x", 'w"x', "w\nx", "w ", "w\u00a0"]
WORDS = st.sampled_from(TRICKY) | st.text(
    st.characters(codec="cp1252", exclude_categories=["Cc"]), max_size=8
).map("w".__add__)
reals = st.floats(allow_nan=False, allow_infinity=False, width=64)
wholes = st.integers(-(2**53) + 1, 2**53 - 1)
days = st.dates(datetime.date(1000, 1, 1), datetime.date(9999, 12, 31)).map(pd.Timestamp)
# Codes that look like numbers must be read back unchanged.
codes = st.from_regex(r"0[0-9]{1,6}", fullmatch=True)
long_ids = st.integers(2**53, 2**90).map(str)

CELLS = [reals, wholes, WORDS, st.booleans(), days, codes, long_ids]
CELLS += [cells | st.none() for cells in (reals, WORDS, days, codes)]


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(3, 12))
    columns: dict[str, list] = {}
    for position in range(draw(st.integers(2, 5))):
        cells = draw(st.sampled_from(CELLS))
        columns[f"column{position}é"] = draw(st.lists(cells, min_size=n, max_size=n))
    return pd.DataFrame(columns)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    frame=tables(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    sep=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    lineterminator=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    na_rep=st.sampled_from(["", *MISSING_MARKS]),
    told=st.booleans(),
)
def test_a_frame_written_in_any_csv_dialect_is_read_back_exactly(frame, encoding, told, **how):
    content = frame.to_csv(index=False, date_format="%Y-%m-%d", **how).encode(encoding)
    # Detected options must equal the given options, except decimal marks where 1.234 has two meanings.
    options = {"encoding": encoding, "delimiter": how["sep"], "decimal": how["decimal"]} if told else {}
    got, report = read_table(content, **options)
    assert (report.delimiter, list(got)) == (how["sep"], list(frame))
    if ends_like_a_note(frame) and len(got) < len(frame):
        assert any("below the table is left out" in note for note in report.notes)
        frame = frame[: len(got)]
    for name in frame:
        if any(f"“{name}” stays text: its cells may have three decimals" in note for note in report.notes):
            assert not told
            continue
        there = frame[name].notna()
        assert got[name].notna().tolist() == there.tolist()
        assert got[name][there].tolist() == frame[name][there].tolist()


def ends_like_a_note(frame: pd.DataFrame) -> bool:
    """Return True if the last row is one text in the first column, below an empty cell."""
    there = frame.notna().to_numpy()
    return bool(there[-1, 0]) and there[-1].sum() == 1 and not there[-2].any()
