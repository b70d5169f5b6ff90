"""What a unit has found is computed once, and once more where it is not as it was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairdash.errors import Cancelled
from fairdash.jobs.steps import Checkpoints, Found

FOUND: Found = {"rows": np.arange(3), "rule": "the smallest"}


@pytest.mark.parametrize("altered", ["names/*", "*"])
def test_a_find_is_computed_once_and_once_more_where_it_was_altered(tmp_path: Path, altered: str) -> None:
    unit, computed = Checkpoints(tmp_path), []

    def compute() -> Found:
        computed.append("")
        return FOUND

    for _ in range(2):
        found = unit("train/0", compute)
        assert (found["rows"].tolist(), found["rule"], len(computed)) == ([0, 1, 2], "the smallest", 1)
    (place,) = (path for path in tmp_path.glob(altered) if path.is_file() and path.suffix != ".lock")
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)
    for _ in range(2):
        assert unit("train/0", compute)["rows"].tolist() == [0, 1, 2]
    assert len(computed) == 2


def test_no_unit_begins_once_the_job_is_to_stop(tmp_path: Path) -> None:
    def stopped() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        Checkpoints(tmp_path, check=stopped)("train/0", lambda: pytest.fail("begun"))
