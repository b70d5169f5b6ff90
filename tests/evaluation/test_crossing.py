"""Crossings of sensitive attributes on a front: a view of one makes the cells of that one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairdash.evaluation import crossed_cells
from fairdash.evaluation.crossed_cells import cells_in_view, crossings_of, values_of


def test_a_view_makes_the_cells_of_the_shown_crossing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    sensitive = pd.DataFrame(rng.normal(size=(400, 3)), columns=["age", "income", "share"])
    every = crossings_of(sensitive)
    made = []
    original = crossed_cells.cells_of
    monkeypatch.setattr(crossed_cells, "cells_of", lambda *given: made.append(given[1]) or original(*given))
    assert np.array_equal(values_of(sensitive, "age × share"), every["age × share"].codes)
    assert made == [("age", "share")]
    assert cells_in_view(sensitive, "age") is None
    # All together is shown by the first crossing.
    first = cells_in_view(sensitive, "all together")
    assert first is not None
    assert np.array_equal(first.codes, every["age × income"].codes)


def test_rows_of_one_policy_count_once_and_rows_without_units_each() -> None:
    frame = pd.DataFrame({"sex": np.repeat([0.0, 1.0], 60), "region": np.tile(["a", "b"], 60)})
    by_row = crossed_cells.cells_of(frame, ("sex", "region"))
    by_own = crossed_cells.cells_of(frame, ("sex", "region"), units=np.arange(120))
    assert by_row.names == by_own.names
    assert np.array_equal(by_row.codes, by_own.codes)
    # Ten policies of three rows a cell are too few for cells of their own.
    few = crossed_cells.cells_of(frame, ("sex", "region"), units=np.arange(120) // 6)
    assert len(few.names) < len(by_row.names)
