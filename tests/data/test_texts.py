"""Cells of text by pyarrow and by Python alone: the same frames, and the same said of them."""

from __future__ import annotations

import pytest
from pandas.testing import assert_frame_equal

import fairdash as fd
from fairdash.data.readers import delimited, texts

TABLES = {
    "numbers": "a,b,c\n1,1.5,1e3\n-2,.5,\n+3,2.,NA\n",
    "commas": "a;b\n1,5;1.234\n2,25;5.678,9\n",
    "thousands": "a;b\n1.234.567;€ 5\n12;€ 7,50\n",
    "codes": "code;name;flag\n007;Anne;true\n010; Ben ;false\n;n/a;\n",
    "dates": "a,b,c\n2020-01-31,31.12.2019,01/02/2019\n2020-02-29,1.2.2020,03/04/2019\n",
    "bands": 'band,long,"quoted, name"\n18-25,9007199254740993,"x\ny"\n26-40,1,"z ""q"""\n',
    "mixed": "a,b\n1,x\ntwo,3\n3,4\n4,5\n",
    "percent": "a;b\n5 %;1\n13,0 %;2\n7 %;3\n",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_both_read_alike(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, report = fd.read_table(table.encode())
    for module in (texts, delimited):
        monkeypatch.setattr(module, "has", lambda _: False)
    slow, said = fd.read_table(table.encode())
    assert report.sentences() == said.sentences()
    # How pandas keeps text is its own affair.
    as_objects = [
        each.astype({name: object for name in each if each[name].dtype.kind not in "iufbM"})
        for each in (frame, slow)
    ]
    assert_frame_equal(*as_objects)
