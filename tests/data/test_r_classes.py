"""Columns of R's classes: each is what R shows, or is left out by name."""

import gzip
import struct

import numpy as np
import pandas as pd
import pytest

from fairdash.data import read_table
from fairdash.errors import ReadingError
from tests.data.r_objects import NA, frame, function, rda, rds, texts, vector

NAN = float("nan")


def long(*numbers: int) -> list[float]:
    """bit64's storage of whole numbers: the same eight bytes as floats."""
    return list(struct.unpack(f"{len(numbers)}d", struct.pack(f"{len(numbers)}q", *numbers)))


def test_each_class_is_what_r_shows() -> None:
    content = frame(
        3,
        born=vector([10728, -2224, NAN], **{"class": texts("Date")}),
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
        assert got["start"][0] == pd.Timestamp("2024-01-01")
        assert got["start"].isna().tolist() == [False, False, True]
        assert got["id"].tolist() == [str(2**62), "5", "6"]
        np.testing.assert_equal(got["wait"].to_numpy(), [1, 2, NAN])
        np.testing.assert_equal(got["cents"].to_numpy(), [41250, NAN, -5])
        assert got["scaled"].tolist() == [1, 2, 3]
        assert got["series"].tolist() == got["same"].tolist() == [7, 8, 9]
        said = " ".join(report.notes)
        assert "1 column not read: their cells are of R's class “yearmon” (“odd”)." in said
        assert "1 column not read: each is a table of its own (“two”)." in said
        assert "“wait” is a span of time, in days." in said
        assert not {"odd", "two"} & set(got)


def test_a_local_time_is_that_of_its_clock() -> None:
    parts = {"sec": 30.5, "min": 20.0, "hour": 10.0, "mday": 5.0, "mon": 11.0, "year": 124.0}
    lists = {name: vector([number, NAN]) for name, number in parts.items()}
    when = vector(list(lists.values()), "o", names=texts(*lists), **{"class": texts("POSIXlt", "POSIXt")})
    got, _ = read_table(rda(d=frame(2, when=when, n=vector([1, 2]))))
    assert list(map(str, got["when"].dt.floor("s"))) == ["2024-12-05 10:20:30", "NaT"]


def test_what_haven_declares_as_missing_is_missing_and_labels_replace_all_codes_or_none() -> None:
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
    assert "“age”: codes that the file declares as missing are missing cells (2)." in report.notes


def test_objects_beside_the_table_are_named() -> None:
    content = frame(2, n=vector([1, 2], "i"))
    counts = vector([3, 4], "i", dim=vector([2], "i"), **{"class": texts("table")})
    got, report = read_table(rda(fit=function(), counts=counts, d=content))
    assert got["n"].tolist() == [1, 2]
    assert "Not read from the file, since they are no data frames: “fit”, “counts”." in report.notes
    with pytest.raises(ReadingError, match="holds no data frame, but “fit”"):
        read_table(rda(fit=function()))


def test_an_rds_written_as_text_is_read_and_a_text_that_begins_like_one_is_a_text() -> None:
    assert read_table(b"A\n2\n3\n4\n")[0]["A"].tolist() == [2, 3, 4]
    words = (
        "A 2 262146 131840 787 1 13 2 5 6 1026 1 262153 5 names 16 1 262153 1 n 1026 1 262153 5 class 16 1 262153 10 "
        "data.frame 1026 1 262153 9 row.names 13 2 NA -2 254 "
    )
    got, report = read_table(words.replace(" ", "\n").encode(), name="a.rds")
    assert (report.format, got["n"].tolist()) == ("R", [5, 6])
