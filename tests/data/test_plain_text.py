"""Text without quotes is cut by bytes: the same as what the careful way gives, or left to it."""

import io

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

import fairdash as fd
from fairdash.errors import FairdashError
from fairdash.tables.readers import delimited, texts
from fairdash.tables.readers.delimited import cut, cut_plain

HEADER = ["age;price;town\n", "prix;âge;ville\n"]
ROWS = ["40;9.5;Lyon\n", "41;;\n", " 7 ;é;x y\n", "\n", ";;\n"]
ROWS += ["40;9.5;Lyon\r\n", "\r\n", "Total;99;\n", "9\n"]


def careful(content: bytes, encoding: str, **how):
    return cut(io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline=""), **how)


def same(content: bytes, encoding: str, **how) -> bool:
    """Whether the quick way took it; what it then gives equals what the careful way gives."""
    found = cut_plain(content, encoding, **how)
    if found is None:
        return False
    header, columns, lines, notes = careful(content, encoding, **how)
    assert (found[0], found[3]) == (header, notes)
    assert np.array_equal(found[2], lines)
    assert [each.to_pylist() for each in found[1]] == [each.to_pylist() for each in columns]
    return True


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_random_tables_come_out_as_by_the_careful_way(encoding: str) -> None:
    rng = np.random.default_rng(0)
    taken = 0
    for _ in range(300):
        title = ["Portfolio 2024\n", "\n"][: rng.integers(0, 3)]
        # Most tables are whole: a row of another width stands in few of them.
        rows = [ROWS[k] for k in rng.choice(len(ROWS), rng.integers(1, 40), p=[0.3, *[0.1] * 6, 0.09, 0.01])]
        notes = [[], ["Total;99;\n"], ["\n", "Source: us\n"], ["Total;99;"], ["\n", "\n"]][rng.integers(0, 5)]
        text = "".join([*title, HEADER[rng.integers(0, 2)], *rows, *notes])
        how = {"delimiter": ";", "keep_below": bool(rng.integers(0, 2))}
        try:
            taken += same(text.encode(encoding), encoding, **how)
        except FairdashError:
            # The careful way refuses what the quick one has taken: it must not.
            pytest.fail(text)
    assert taken > 150


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b'a;b\n"1;2";3\n', "utf-8"), (b"a;b\n1;2\r3;4\n", "utf-8"),
        ("a;b\n1;2\n".encode("utf-16"), "utf-16"), (b"a;b\n1;2;3\n", "utf-8"), (b"a;b\n", "utf-8"),
        (b"a;b\n\n\n", "utf-8"), (b"a;b\n1;" + b"x" * 200_000 + b"\n", "utf-8"),
    ],
)  # fmt: skip
def test_what_it_can_not_tell_is_left_to_the_careful_way(content: bytes, encoding: str) -> None:
    assert cut_plain(content, encoding, delimiter=";") is None


def test_a_chosen_header_row_and_one_column() -> None:
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
def test_both_read_alike(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, report = fd.read_table(table.encode())
    for module in (texts, delimited):
        monkeypatch.setattr(module, "has", lambda _: False)
    slow, said = fd.read_table(table.encode())
    assert report.sentences() == said.sentences()
    # How pandas keeps text is its own affair.
    of_text = {name: object for name in frame if frame[name].dtype.kind not in "iufbM"}
    assert_frame_equal(frame.astype(of_text), slow.astype(of_text))
