"""Rows that tell a network when to stop: in whole groups, and none of them trained on."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.training.single import train_single, validation_rows

GROUPS = np.repeat(np.arange(60), 5)


def test_rows_of_a_group_are_all_held_out_or_none():
    held_out = validation_rows(300, 0.1, seed=0, groups=GROUPS[::-1])
    assert (len(held_out), len(np.unique(GROUPS[::-1][held_out]))) == (30, 6)
    assert (list(held_out), len(validation_rows(300, 0.1, seed=0))) == (sorted(held_out), 30)
    assert len(validation_rows(300, 0.0, seed=0)) == 0


@pytest.mark.parametrize(("patience", "count"), [(2, 27), (None, 0)])
def test_a_regressor_holds_out_policies_of_the_rows_that_have_weight(patience: int | None, count: int):
    rng = np.random.default_rng(0)
    x, weight = pd.DataFrame({"x": rng.normal(size=300)}), np.where(np.arange(300) % 10 == 0, 0.0, 1.0)
    model = fd.FairRegressor(lam=0, hidden=(4,), n_epochs=2, patience=patience, random_state=0)
    with patch("fairdash.training.regressor_fit.train_single", wraps=train_single) as trained:
        model.fit(x, x["x"] + rng.normal(size=300), sample_weight=weight, groups=GROUPS)
    # Every second group has lost one of its five rows.
    held_out = GROUPS[weight > 0][trained.call_args.kwargs["validation"]]
    assert len(held_out) == model.n_validation_rows_
    assert abs(len(held_out) - count) <= 3
    assert all((held_out == each).sum() == (GROUPS[weight > 0] == each).sum() for each in set(held_out))


def test_groups_of_another_length_are_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        fd.FairRegressor(lam=0).fit(np.arange(20.0)[:, None], np.arange(20.0), groups=np.arange(19))
