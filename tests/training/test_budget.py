"""The budget of steps: what follows from the number of training rows, and what a user gives instead."""

from __future__ import annotations

import numpy as np
import pytest

import fairdash as fd
from fairdash.training.defaults import default_settings, training_rows
from fairdash.training.settings import STEPS, TrainingSettings, budget_of


@pytest.mark.parametrize("n_rows", [1, 20, 300, 1_276, 3_200])
def test_few_rows_have_the_schedule_of_old(n_rows):
    own = TrainingSettings(**budget_of(n_rows))
    assert (own.batch_size, own.n_epochs, own.warm_up_epochs) == (256, 60, 10)


@pytest.mark.parametrize("n_rows", [4_000, 12_800, 38_400, 60_000, 434_000, 1_500_000, 3_200_000, 12_800_000])
def test_many_rows_have_larger_batches_and_about_as_many_steps(n_rows):
    own = TrainingSettings(**budget_of(n_rows))
    steps = own.n_epochs * own.steps_an_epoch(n_rows)
    assert 0.9 * STEPS <= steps <= 2.1 * STEPS
    assert own.batch_size <= max(4096, n_rows / 180)
    assert 1 <= own.warm_up_epochs < own.n_epochs / 3


def test_a_regressor_says_what_it_was_trained_with():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5_000, 2))
    model = fd.FairRegressor(method="standard", hidden=(4,), n_epochs=2, device="cpu", random_state=0)
    model.fit(x, x[:, 0] + rng.normal(size=5_000))
    assert model.settings_.batch_size == budget_of(5_000)["batch_size"]
    assert (model.settings_.n_epochs, model.settings_.warm_up_epochs) == (2, 0)
    assert model.n_iter_ == 2
    assert model.get_params()["batch_size"] == "auto"


def test_a_plan_takes_the_budget_of_its_training_rows():
    dataset = fd.load_dataset("household", n=20_000)
    plan = default_settings(dataset)
    assert plan.batch_size == budget_of(training_rows(20_000))["batch_size"] == 512


def test_weak_claims_are_no_constant_by_default():
    """One gain in a hundred of the deviance: 3 % of weight decay left nothing of it."""
    rng = np.random.default_rng(1)
    x, years = rng.normal(size=(12_000, 3)), rng.uniform(0.1, 1, 12_000)
    rate = 0.07 * np.exp(0.35 * x[:, 0] + 0.15 * x[:, 1])
    y = rng.poisson(years * rate) / years
    model = fd.FairRegressor(method="standard", lam=0, loss="poisson", random_state=0, device="cpu")
    predicted = model.fit(x, y, sample_weight=years).predict(x)
    assert np.corrcoef(np.log(predicted), np.log(rate))[0, 1] > 0.9
