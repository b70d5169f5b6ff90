"""Permutation importance: against a loop over raw cells, scikit-learn's, and what it must not depend on."""

import doctest
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.training import device, importance, stack
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.importance import PermutationPlan
from fairdash.training.splits import random_splits
from fairdash.training.sweep import Sweep, train_sweep
from tests.data.tables import dataset_of

SETTINGS = fd.TrainingSettings(hidden=(8,), batch_size=64, n_epochs=40, warm_up_epochs=2, lr=1e-2)
PLAN = Sweep(methods=("standard", "hgr_spline"), lams=(0.5, 1.0), n_splits=2, settings=SETTINGS, device="cpu")


def table(n=400, weighted=False) -> fd.Dataset:
    """Power makes the cost, region a part of it, and noise none; the colour has missing cells."""
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, n)
    region = rng.choice(["east", "north", "south", "west"], n)
    frame = pd.DataFrame({"region": pd.Categorical(region), "power": 0.02 * (age - 50) + rng.normal(size=n)})
    frame["noise"] = rng.normal(size=n)
    frame["colour"] = rng.choice(["red", "blue", None], n)
    frame["small"] = rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "noise"] = np.nan
    cost = 300 + 40 * frame["power"] + 15 * (region == "north") - 10 * (region == "west") + frame["small"]
    weight = {"weight": {"years": rng.uniform(0.1, 2, n)}} if weighted else {}
    return dataset_of(frame, {"cost": cost}, {"age": age}, **weight)


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return train_sweep(table(), PLAN, importance=True).importance


@pytest.mark.parametrize("loss", ["squared_error", "gamma"])
def test_it_is_what_a_loop_over_the_raw_cells_gives(monkeypatch, loss):
    """Each model's network by hand in float64, on the table with one raw column permuted."""
    captured = []

    def keep(*args, **options):
        captured.append(train(*args, **options))
        return captured[-1]

    train = stack.train_stack
    monkeypatch.setattr(stack, "train_stack", keep)
    dataset, settings = table(weighted=True), replace(SETTINGS, loss=loss, balance=True, n_epochs=10)
    plan = replace(PLAN, methods=("hgr_spline",), settings=settings)
    result = train_sweep(dataset, plan, importance=True)
    (trained,) = captured
    y, weight = dataset.target.to_numpy(), dataset.weight.to_numpy()
    draws = PermutationPlan.of(result.splits, random_state=0)
    expected = []
    for k, member in enumerate(plan.models()):
        fitted_to = result.splits[member.split].train
        encoder = FeatureEncoder.fit(dataset.features, rows=fitted_to, sample_weight=weight[fitted_to])
        mean = np.average(y[fitted_to], weights=weight[fitted_to])
        variance = np.average((y[fitted_to] - mean) ** 2, weights=weight[fitted_to])
        rows = draws.rows[member.split]
        of_average = np.average((y[rows] - mean) ** 2, weights=weight[rows])

        def predict(features, k=k, encoder=encoder, mean=mean, variance=variance):
            net = trained.predictor
            inner, outer, bias, last = (
                layer[k].detach().double().numpy() for layer in (*net.weights, *net.biases)
            )
            (eta,) = outer @ np.tanh(inner @ encoder.transform(features).T + bias) + last
            scaled = trained.factor[k] * (np.exp(eta) if loss == "gamma" else eta) + trained.shift[k]
            return mean * scaled if loss == "gamma" else mean + variance**0.5 * scaled

        test = dataset.features.iloc[rows]
        plain = predict(test)
        assert np.allclose(plain, result.predictions[k, rows], rtol=1e-4)
        for position, feature in enumerate(test.columns):
            gain, moved = [], []
            for order in draws.shuffle(member.split, feature=position):
                shuffled = test.assign(**{feature: test[feature].array[order]})
                now = predict(shuffled)
                errors = (now - y[rows]) ** 2 - (plain - y[rows]) ** 2
                gain.append(np.average(errors, weights=weight[rows]) / of_average)
                moved.append(np.average(np.abs(now - plain), weights=weight[rows]))
            expected.append((member.lam, member.split, feature, np.mean(gain), np.mean(moved)))
    names = ["lam", "split", "feature", "importance", "reliance"]
    expected = pd.DataFrame(expected, columns=names)
    pd.testing.assert_frame_equal(result.importance[names], expected, rtol=2e-3, atol=2e-5, check_dtype=False)


def test_other_models_change_nothing_and_another_seed_does(found, monkeypatch):
    # Alone in its stack, and with no other split; float32 sums in another order.
    monkeypatch.setattr(device, "MAX_MODELS_PER_STACK", 1)
    alone = train_sweep(table(), replace(PLAN, methods=("hgr_spline",), lams=(1.0,)), importance=True)
    there = found[(found["method"] == "hgr_spline") & (found["lam"] == 1.0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.importance, there, rtol=1e-3, atol=1e-5)
    plan = replace(PLAN, methods=("standard",), n_splits=1, random_state=1)
    other = train_sweep(table(), plan, importance=True).importance
    first = found[(found["split"] == 0) & (found["method"] == "standard")]
    assert not np.allclose(other["importance"], first["importance"])


def test_test_rows_alone_are_drawn_and_of_many_some():
    splits = random_splits(15_000, n_splits=2, random_state=0)
    draws = PermutationPlan.of(splits, random_state=4)
    for split, rows in zip(splits, draws.rows, strict=True):
        assert len(np.unique(rows)) == importance.MAX_ROWS == len(rows)
        assert np.isin(rows, split.test).all()
    few = PermutationPlan.of(random_splits(100, n_splits=1, random_state=0), random_state=4)
    assert len(few.rows[0]) == 20
    orders = [*draws.shuffle(0, feature=0), *draws.shuffle(0, feature=1), *draws.shuffle(1, feature=0)]
    assert len({order.tobytes() for order in orders}) == 3 * importance.N_PERMUTATIONS
    assert np.array_equal(draws.shuffle(0, feature=1)[0], orders[importance.N_PERMUTATIONS])


def test_the_modules_example_holds():
    assert doctest.testmod(importance).failed == 0
