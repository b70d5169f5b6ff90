"""How λ is chosen within a split's own training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper.choosing import BLENDS, Trial, choose
from fairdash.data.catalogue import load_dataset
from fairdash.reports.paper import row_of
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.splits import random_splits

SETTINGS = TrainingSettings(
    hidden=(6,), adversary_hidden=(4,), batch_size=32, n_epochs=6, warm_up_epochs=2, adversary_steps=1
)
TRIED = tuple(StackedModel("hgr_spline", lam, SETTINGS) for lam in (0.1, 1.0, 10.0))
PAPER = row_of("crime", "hgr_nn", "demographic_parity")


@pytest.fixture(scope="module")
def small():
    dataset = load_dataset("household", n=150)
    return dataset, random_splits(dataset.n_rows, n_splits=2, random_state=0)


def trial(dataset, split, candidates=TRIED, **options):
    options = {"n_folds": 3, "objective": "demographic_parity"} | options
    return Trial(dataset=dataset, split=split, candidates=candidates, **options)


def test_test_rows_take_no_part_in_the_choice(small):
    """Other targets and ages on a split's test rows change neither its choice nor its predictions there."""
    dataset, splits = small
    rows = splits[0].test
    target, sensitive = dataset.target.copy(), dataset.sensitive.astype(float).copy()
    target.iloc[rows] *= 5
    sensitive.iloc[rows] += 20
    found = []
    for each in (dataset, replace(dataset, target=target, sensitive=sensitive)):
        own = trial(each, splits[0], n_networks=2)
        frame = own.compared()
        chosen, _ = choose(frame, "hgr_spline", PAPER)
        found.append((frame, own.trained(chosen)[rows]))
    (frame, predicted), (other, again) = found
    pd.testing.assert_frame_equal(frame, other)
    np.testing.assert_array_equal(predicted, again)


def test_every_weight_and_the_blends_between_neighbours_are_compared(small):
    dataset, (split, _) = small
    frame = trial(dataset, split).compared()
    assert len(frame) == 3 + 2 * len(BLENDS)
    assert frame["lam"].is_monotonic_increasing
    assert frame["lam"].iloc[1] == pytest.approx(0.1 + BLENDS[0] * 0.9)
    # The squared error of a blend is at most the blend of the squared errors.
    ends = frame[frame["blend"] == 0].set_index("low")["mse"]
    low, high = (frame[end].map(ends) for end in ("low", "high"))
    assert (frame["mse"] <= (1 - frame["blend"]) * low + frame["blend"] * high + 1e-12).all()


def test_candidates_that_diverge_are_never_chosen(small):
    dataset, (split, _) = small
    broken = [*TRIED[:2], replace(TRIED[2], settings=replace(SETTINGS, lr=1e30))]
    frame = trial(dataset, split, broken, n_folds=2).compared()
    assert frame["diverged"].any()
    chosen, _ = choose(frame, "hgr_spline", PAPER)
    assert not chosen["diverged"]
    assert np.isfinite(chosen["mse"])
