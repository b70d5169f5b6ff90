"""How λ is chosen within a split's own training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper import choosing
from benchmarks.paper.choosing import BLENDS, Protocol, carry_out, cross_validated, error_and_u
from fairdash.data.catalogue import load_dataset
from fairdash.reports.paper.results import row_of
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import random_splits
from fairdash.training.stacked_model import StackedModel

SETTINGS = TrainingSettings(
    hidden=(6,), adversary_hidden=(4,), batch_size=32, n_epochs=6, warm_up_epochs=2, adversary_steps=1
)
TRIED = tuple(StackedModel("hgr_spline", lam, SETTINGS) for lam in (0.1, 1.0, 10.0))
PROTOCOL = Protocol(n_folds=3, n_networks=2)
PAPER = row_of("crime", "hgr_nn", "demographic_parity")


@pytest.fixture(scope="module")
def small():
    dataset = load_dataset("household", n=150)
    return dataset, random_splits(dataset.n_rows, n_splits=2, random_state=0)


def carried_out(dataset, splits, **options):
    return carry_out(
        dataset, splits, TRIED, objective="demographic_parity", paper=PAPER, random_state=0,
        **{"protocol": PROTOCOL} | options,
    )  # fmt: skip


def test_test_rows_take_no_part_in_the_choice(small):
    """Other targets and ages on a split's test rows change neither its choice nor its predictions there."""
    dataset, splits = small
    found = carried_out(dataset, splits[:1])
    rows = splits[0].test
    target, sensitive = dataset.target.copy(), dataset.sensitive.astype(float).copy()
    target.iloc[rows] *= 5
    sensitive.iloc[rows] += 20
    other = carried_out(replace(dataset, target=target, sensitive=sensitive), splits[:1])
    pd.testing.assert_frame_equal(found.choices, other.choices)
    pd.testing.assert_frame_equal(found.tried, other.tried)
    np.testing.assert_array_equal(found.predictions[0, rows], other.predictions[0, rows])


def test_a_fold_takes_as_many_steps_as_the_model_that_is_tested(small, monkeypatch):
    dataset, (split, _) = small
    asked = []
    whole = choosing.cross_validate
    monkeypatch.setattr(
        choosing, "cross_validate", lambda *a, **o: asked.append(o["foretell"]) or whole(*a, **o)
    )
    cross_validated(dataset, split, TRIED, "demographic_parity", PROTOCOL, 0)
    assert asked == [True] * PROTOCOL.n_networks


def test_every_weight_and_the_blends_between_neighbours_are_compared(small):
    dataset, (split, _) = small
    frame = cross_validated(dataset, split, TRIED, "demographic_parity", Protocol(n_folds=3), 0)
    assert len(frame) == 3 + 2 * len(BLENDS)
    assert frame["lam"].is_monotonic_increasing
    assert frame["lam"].iloc[1] == pytest.approx(0.1 + BLENDS[0] * 0.9)
    # The squared error of a blend is at most the blend of the squared errors.
    ends = frame[frame["blend"] == 0].set_index("low")["mse"]
    line = (1 - frame["blend"]) * ends.loc[frame["low"]].to_numpy() + frame["blend"] * ends.loc[
        frame["high"]
    ].to_numpy()
    assert (frame["mse"] <= line + 1e-12).all()


def test_what_is_chosen_is_trained_on_all_training_rows(small):
    dataset, splits = small
    found = carried_out(dataset, splits)
    assert list(found.choices["split"]) == [0, 1]
    for j, split in enumerate(splits):
        squared, u = error_and_u(
            dataset, found.predictions[j], split.train, split.test, "equalized_residuals"
        )
        y = dataset.target.to_numpy()
        sd = y[split.train].std()
        np.testing.assert_allclose(u, (found.predictions[j, split.test] - y[split.test]) / sd)
        np.testing.assert_allclose(squared, u**2)
    assert (found.choices["reached"] == (found.choices["validation_mse"] <= PAPER["mse"])).all()


def test_candidates_that_diverge_are_never_chosen(small):
    dataset, (split, _) = small
    broken = [*TRIED[:2], replace(TRIED[2], settings=replace(SETTINGS, lr=1e30))]
    frame = cross_validated(dataset, split, broken, "demographic_parity", Protocol(n_folds=2), 0)
    assert frame["diverged"].any()
    chosen, _ = choosing.choose(frame, "hgr_spline", PAPER)
    assert not chosen["diverged"]
    assert np.isfinite(chosen["mse"])
