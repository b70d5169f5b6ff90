"""The tidy table: from models and values and back, its wide view, and the key of a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairdash.errors import OptionError
from fairdash.evaluation import of_sensitive, wide
from fairdash.evaluation.figures import FIGURES, of_measure, tidy, untidy
from fairdash.training.methods import THE_STANDARD, ModelKey

CELLS = [
    ("mse", ""), ("hgr_kde", "age"), ("hgr_kde", "a]_floor"), ("verdict", "age"), ("verdict", "a]_floor"),
]  # fmt: skip


def table(cells=CELLS):
    models = pd.DataFrame({"method": "standard", "lam": 0.0, "split": [0, 1], "part": "test"})
    values = np.arange(2.0 * len(cells) * 6).reshape(2, len(cells), 6)
    return models, values, tidy(models, cells, values)


def test_a_table_has_a_row_a_model_and_measure_and_comes_apart_again():
    models, values, rows = table()
    assert len(rows) == 2 * len(CELLS)
    assert of_measure(rows, "mse")["value"].tolist() == values[:, 0, 0].tolist()
    again, cells, found = untidy(rows)
    pd.testing.assert_frame_equal(again, models)
    assert cells == CELLS
    assert np.array_equal(found, values)
    for wrong in (rows.iloc[1:], rows.iloc[[*range(9), 8]], rows.iloc[[1, 0, *range(2, 10)]]):
        with pytest.raises(ValueError, match="other measures"):
            untidy(wrong)


def test_the_wide_view_names_columns_where_there_are_several_and_no_name_is_taken_apart():
    _, values, rows = table()
    seen = wide(rows)
    assert seen["hgr_kde[a]_floor]_edge"].tolist() == values[:, 2, FIGURES.index("edge")].tolist()
    assert seen["verdict[age]_p"].tolist() == values[:, 3, FIGURES.index("p")].tolist()
    alone = wide(of_sensitive(rows, "a]_floor"))
    assert alone["hgr_kde_floor"].tolist() == values[:, 2, FIGURES.index("floor")].tolist()
    assert "hgr_kde[age]" not in alone
    assert not {"mse_floor", "mse_p", "hgr_kde_by"} & {*alone}


def test_a_key_is_one_line_and_equal_whatever_it_blends():
    assert ModelKey.parse("hgr_nn:0.1") == ModelKey("hgr_nn", 0.1, low=0.0, high=1.0, share=0.1)
    assert str(ModelKey("hgr_nn", 1 / 3)) == f"hgr_nn:{1 / 3!r}"
    assert ModelKey.parse("standard") == THE_STANDARD
    with pytest.raises(OptionError, match="“x” is not a weight"):
        ModelKey.parse("hgr_nn:x")
