"""The feature encoder compared with scikit-learn's transformers, without and with weights."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairdash as fd
from fairdash.training import device, importance, stack
from fairdash.training.feature_encoder import EMBEDDINGS, FeatureEncoder, TargetScale
from fairdash.training.importance import PermutationPlan
from fairdash.training.losses import LOSSES
from fairdash.training.splits import random_splits
from fairdash.training.sweep import Sweep, train_sweep
from tests.data.tables import dataset_of


def _frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"roof": rng.choice(["tile", "slate", "straw"], size=n)})
    frame = frame.assign(rooms=rng.integers(1, 6, size=n), area=rng.lognormal(4, 1, size=n))
    frame["garden"] = rng.random(n) < 0.3
    frame["zone"] = pd.Categorical(rng.integers(1, 4, size=n), categories=[1, 2, 3, 4])
    for name in ("area", "roof", "zone"):
        frame.loc[rng.random(n) < 0.2, name] = None
    return frame.assign(constant=0.1)


def test_encoding_equals_scikit_learns_transformers():
    frame, train = _frame(), np.arange(5, 45)
    numbers, categories = ["rooms", "area", "garden", "constant"], ["roof", "zone"]
    levels = [sorted(frame["roof"].dropna().unique()), [1, 2, 3, 4]]
    one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False)
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    reference = ColumnTransformer([("numbers", scaled, numbers), ("categories", one_hot, categories)])
    plain = frame.astype({"zone": object, "roof": object, "garden": float})
    expected = reference.fit(plain.iloc[train]).transform(plain)
    encoder = FeatureEncoder.fit(frame, rows=train)
    assert encoder.transform(frame).shape[1] == 4 + 3 + 4
    assert encoder.transform(frame) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("embedding", [None, *EMBEDDINGS])
def test_columns_that_vary_by_rounding_alone_are_treated_as_constant(embedding):
    rounded = np.where(np.arange(60) % 2, 0.1 + 0.2, 0.3)
    encoder = FeatureEncoder.fit(pd.DataFrame({"x": rounded}), embedding=embedding)
    assert encoder.transform(pd.DataFrame({"x": rounded})) == pytest.approx(0, abs=1e-12)
    # A sum of many tenths has rounding errors in its last digits, and so has the mean.
    for y in (rounded, np.full(1000, 0.1)):
        assert TargetScale.of(y, LOSSES["squared_error"], None).unit == 1


@pytest.mark.parametrize("embedding", [None, *EMBEDDINGS])
def test_the_encoder_counts_a_row_of_weight_two_twice_and_keeps_each_column_in_one_block(embedding):
    frame = _frame()
    weight = np.random.default_rng(1).integers(1, 5, size=len(frame))
    repeated = frame.loc[frame.index.repeat(weight)]
    one, tenth = (
        FeatureEncoder.fit(frame, sample_weight=scale * weight, embedding=embedding) for scale in (1.0, 0.1)
    )
    other = FeatureEncoder.fit(repeated, embedding=embedding)
    assert one.median == pytest.approx(other.median, abs=1e-12)
    encoded = one.transform(frame)
    np.testing.assert_allclose(encoded, other.transform(frame), atol=1e-9)
    np.testing.assert_allclose(encoded, tenth.transform(frame), atol=1e-9)
    plain = FeatureEncoder.fit(frame, sample_weight=weight)
    for column in plain.columns:
        block = encoded[:, one.blocks[column]]
        of_plain = plain.transform(frame)[:, plain.blocks[column]]
        np.testing.assert_allclose(block[:, : of_plain.shape[1]], of_plain, atol=1e-12)
    assert encoded.shape[1] == max(block.stop for block in one.blocks.values())


def test_normal_score_features_are_normal_for_any_distribution_and_keep_the_order():
    x = np.random.default_rng(0).lognormal(sigma=2, size=2000)
    frame = pd.DataFrame({"x": x})
    _, scores = FeatureEncoder.fit(frame, embedding="scores").transform(frame).T
    expected = ndtri((rankdata(x) - 0.5) / len(x))
    assert np.abs(scores - expected)[np.abs(expected) < 2].max() < 0.1
    assert (scores.mean(), scores.std()) == (pytest.approx(0, abs=1e-9), pytest.approx(1))
    assert (np.diff(scores[np.argsort(x)]) >= 0).all()
    far = FeatureEncoder.fit(frame, embedding="scores").transform(pd.DataFrame({"x": [-1e9, 1e9]}))[:, 1]
    np.testing.assert_allclose(far, [scores.min(), scores.max()])


def test_each_feature_of_a_bin_embedding_increases_only_between_two_adjacent_quantiles():
    frame = pd.DataFrame({"x": np.arange(801.0)})
    _, *bins = FeatureEncoder.fit(frame, embedding="bins").transform(frame).T
    assert len(bins) == 8
    for k, each in enumerate(bins):
        assert each.mean() == pytest.approx(0, abs=1e-9)
        rising = np.flatnonzero(np.diff(each) > 1e-9)
        assert rising.min() == pytest.approx(100 * k, abs=2)
        assert rising.max() == pytest.approx(100 * (k + 1), abs=2)


# Permutation importance compared with a loop over raw cells and with scikit-learn, and its invariances.


SETTINGS = fd.TrainingSettings(hidden=(8,), batch_size=64, n_epochs=10, warm_up_epochs=2, lr=1e-2)
PLAN = Sweep(methods=("standard", "hgr_spline"), lams=(0.5, 1.0), n_splits=2, settings=SETTINGS, device="cpu")


def table(n=400, weighted=False) -> fd.Dataset:
    """The cost depends on power and, less, on region, not on noise; the colour has missing cells."""
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
def test_permutation_importance_equals_a_loop_that_permutes_one_column_at_a_time(monkeypatch, loss):
    """The expected values compute each model's network in float64, on the table with one raw column permuted."""
    captured = []

    def keep(*args, **options):
        captured.append(train(*args, **options))
        return captured[-1]

    train = stack.train_stack
    monkeypatch.setattr(stack, "train_stack", keep)
    dataset, settings = table(weighted=True), replace(SETTINGS, loss=loss, balance=True)
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


def test_feature_importance_depends_on_the_seed_but_not_on_the_other_models(found, monkeypatch):
    # The model is trained alone and without the other split; float32 sums have another order.
    monkeypatch.setattr(device, "MAX_MODELS_PER_STACK", 1)
    alone = train_sweep(table(), replace(PLAN, methods=("hgr_spline",), lams=(1.0,)), importance=True)
    there = found[(found["method"] == "hgr_spline") & (found["lam"] == 1.0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.importance, there, rtol=1e-3, atol=1e-5)
    plan = replace(PLAN, methods=("standard",), n_splits=1, random_state=1)
    other = train_sweep(table(), plan, importance=True).importance
    first = found[(found["split"] == 0) & (found["method"] == "standard")]
    assert not np.allclose(other["importance"], first["importance"])


def test_feature_importance_is_computed_on_test_rows_or_a_sample_of_them():
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
