"""Tables of many rows: a sample is audited and said, and of a Parquet file only the named columns are read."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairdash as fd
from fairdash.auditing import audit
from fairdash.cli import main
from fairdash.data.readers import limits
from fairdash.errors import ReadingError


def _policies(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n).astype(float)
    frame = pd.DataFrame({"premium": np.exp(5 + 0.1 * rng.normal(size=n) + 0.01 * age), "age": age})
    return frame.assign(policy=np.arange(n) // 2, other=rng.normal(size=n))


def test_of_many_rows_a_sample_of_whole_policies_is_audited_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _policies()
    options = {"price": "premium", "sensitive": "age", "questions": [1], "features": []}
    whole = fd.audit(table, **options)
    assert not [note for note in whole.notes if "drawn at random" in note]
    monkeypatch.setattr(audit, "MOST_ROWS", 1_000)
    some = fd.audit(table, **options, groups="policy")
    assert "1,000 of 3,000 rows are audited, drawn at random." in some.notes
    assert some.verdict == whole.verdict == "above"
    assert some.to_dict() == fd.audit(table, **options, groups="policy").to_dict()


def test_a_parquet_file_that_is_too_large_is_read_by_its_named_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "policies.parquet"
    table = _policies()
    table.to_parquet(place)
    monkeypatch.setattr(limits, "MOST_PARQUET_CELLS", 3 * len(table))
    with pytest.raises(ReadingError, match="12,000 cells"):
        fd.read_table(place)
    assert list(fd.read_table(place, columns=["age", "premium"])[0]) == ["premium", "age"]
    asked = [str(place), "--price", "premium", "--sensitive", "age", "--question", "1"]
    assert main(["audit", *asked]) == 2
    assert main(["audit", *asked, "--feature", "other"]) == 1
    assert "12,000 cells" in capsys.readouterr().err


def test_named_columns_of_a_parquet_file_whose_names_repeat_are_the_right_ones() -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([k] * 2) for k in range(4)], names=list("xaya")), buffer)
    frame, _ = fd.read_table(buffer.getvalue(), number_names=True, columns=["a", "y"])
    assert frame.iloc[0].to_dict() == {"a": 1, "y": 2, "a (2)": 3}
