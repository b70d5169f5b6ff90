"""Tables in archives: row 20 of the table of bad inputs."""

import bz2
import gzip
import lzma
import tracemalloc
import zipfile

import numpy as np
import pytest

from fairdash.data import read_table
from fairdash.errors import ReadingError
from fairdash.tables.readers import limits
from tests.data.tables import policies, refused, zipped

TABLE = policies().to_csv(index=False, sep=";", decimal=",").encode()


def told(value: object) -> str:
    """A case's name: never the bytes, which may hold the time of day (two processes must agree)."""
    return value if isinstance(value, str) else "content"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(TABLE), "a gzip file"),
        (gzip.compress(TABLE[:500]) + gzip.compress(TABLE[500:]), "a gzip file"),
        (bz2.compress(TABLE), "a bzip2 file"),
        (lzma.compress(TABLE), "an xz file"),
        (zipped({"a/policies.csv": TABLE}), "a zip archive"),
        (zipped({"policies.csv": TABLE}, zipfile.ZIP_STORED), "a zip archive"),
        (
            zipped({"a/": b"", "a/x.csv": TABLE, "__MACOSX/a/._x.csv": b"x", "a/.DS_Store": b"x"}),
            "a zip archive",
        ),
    ],
    ids=told,
)
def test_a_packed_table_is_read_like_the_table(content: bytes, what: str) -> None:
    frame, report = read_table(content, name="policies")
    plain, plain_report = read_table(TABLE)
    assert frame.equals(plain)
    assert report.lines.tolist() == plain_report.lines.tolist()
    assert f"Unpacked from {what}." in report.sentences()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(TABLE)[:-20], "a gzip file that is incomplete or damaged"),
        (gzip.compress(TABLE)[:100] + bytes(100), "a gzip file that is incomplete or damaged"),
        (zipped({"x.csv": TABLE})[:-30], "a zip archive that is incomplete or damaged"),
        (
            zipped({"x.csv": TABLE}).replace(b"x.csv", b"\0.csv"),
            "a zip archive that is incomplete or damaged",
        ),
        (zipped({"x.csv": TABLE, "y.csv": TABLE}), "the zip archive holds 2 files"),
        (zipped({}), "an empty zip archive"),
        (zipped({"x.csv": TABLE}, zipfile.ZIP_LZMA), "packed in an unusual way"),
        (zipped({"x.csv": b""}), "the file is empty"),
        (gzip.compress(b"\x89PNG\r\n\x1a\n"), "a PNG image"),
        (gzip.compress(gzip.compress(TABLE)), "a gzip archive within an archive"),
        (zipped({"x.zip": zipped({"x.csv": TABLE})}), "an archive within an archive"),
        (zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "this workbook is incomplete"),
        (zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}), "an office document"),
        (bz2.compress(TABLE)[:-20], "a bzip2 file that is incomplete or damaged"),
        (lzma.compress(TABLE)[:-20], "an xz file that is incomplete or damaged"),
    ],
    ids=told,
)
def test_archives_that_cannot_be_read(content: bytes, words: str) -> None:
    assert words.lower() in str(refused(content)).lower()


def test_a_locked_archive() -> None:
    content = bytearray(zipped({"x.csv": TABLE}))
    # The flag for a password, in the file's own header and in the archive's list.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert "locked with a password" in str(refused(bytes(content)))


@pytest.mark.bad_input(20)
@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, lambda content: zipped({"x.csv": content})]
)
def test_a_bomb_is_given_up_at_the_limit(pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pack(b"1" * 40_000_000)
    assert len(bomb) < 200_000
    monkeypatch.setattr(limits, "MAX_FILE", 10**6)
    tracemalloc.start()
    try:
        assert "The file has more than 1 MB when it is unpacked" in str(refused(bomb))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # 40 MB inside, and xz has a dictionary of 8 MB of its own.
    assert peak < 16e6


@pytest.mark.bad_input(20)
def test_the_archives_own_word_on_its_size_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"1,2\n" * 1_000_000
    packed = bytearray(zipped({"x.csv": content}))
    # The unpacked size as the archive's list has it.
    place = packed.index(b"PK\x01\x02") + 24
    packed[place : place + 4] = (10).to_bytes(4, "little")
    monkeypatch.setattr(limits, "MAX_FILE", 10**6)
    assert "a zip archive that is incomplete or damaged" in str(refused(bytes(packed)))


def test_noise_behind_the_signatures_never_crashes() -> None:
    rng = np.random.default_rng(0)
    for head in (b"\x1f\x8b\x08", b"PK\x03\x04", zipped({"x.csv": TABLE})[:200]):
        for _ in range(200):
            with pytest.raises(ReadingError):
                read_table(head + rng.bytes(rng.integers(0, 400)))
