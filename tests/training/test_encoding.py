"""The feature encoder against scikit-learn's transformers, and under weights."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairdash.training.feature_encoder import EMBEDDINGS, FeatureEncoder, TargetScale
from fairdash.training.losses import LOSSES


def _frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"roof": rng.choice(["tile", "slate", "straw"], size=n)})
    frame = frame.assign(rooms=rng.integers(1, 6, size=n), area=rng.lognormal(4, 1, size=n))
    frame["garden"] = rng.random(n) < 0.3
    frame["zone"] = pd.Categorical(rng.integers(1, 4, size=n), categories=[1, 2, 3, 4])
    for name in ("area", "roof", "zone"):
        frame.loc[rng.random(n) < 0.2, name] = None
    return frame.assign(constant=0.1)


def test_it_equals_scikit_learns_transformers():
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
def test_what_only_rounding_varies_is_no_feature_and_no_target(embedding):
    rounded = np.where(np.arange(60) % 2, 0.1 + 0.2, 0.3)
    encoder = FeatureEncoder.fit(pd.DataFrame({"x": rounded}), embedding=embedding)
    assert encoder.transform(pd.DataFrame({"x": rounded})) == pytest.approx(0, abs=1e-12)
    # A sum of many tenths is off in its last digits, and so is their mean.
    for y in (rounded, np.full(1000, 0.1)):
        assert TargetScale.of(y, LOSSES["squared_error"], None).unit == 1


@pytest.mark.parametrize("embedding", [None, *EMBEDDINGS])
def test_a_weight_of_two_is_a_row_twice_and_functions_of_numbers_stand_in_their_columns_block(embedding):
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


def test_scores_are_normal_whatever_the_numbers_are_and_keep_their_order():
    x = np.random.default_rng(0).lognormal(sigma=2, size=2000)
    frame = pd.DataFrame({"x": x})
    _, scores = FeatureEncoder.fit(frame, embedding="scores").transform(frame).T
    expected = ndtri((rankdata(x) - 0.5) / len(x))
    assert np.abs(scores - expected)[np.abs(expected) < 2].max() < 0.1
    assert (scores.mean(), scores.std()) == (pytest.approx(0, abs=1e-9), pytest.approx(1))
    assert (np.diff(scores[np.argsort(x)]) >= 0).all()
    far = FeatureEncoder.fit(frame, embedding="scores").transform(pd.DataFrame({"x": [-1e9, 1e9]}))[:, 1]
    np.testing.assert_allclose(far, [scores.min(), scores.max()])


def test_bins_rise_one_after_the_other_between_quantiles():
    frame = pd.DataFrame({"x": np.arange(801.0)})
    _, *bins = FeatureEncoder.fit(frame, embedding="bins").transform(frame).T
    assert len(bins) == 8
    for k, each in enumerate(bins):
        assert each.mean() == pytest.approx(0, abs=1e-9)
        rising = np.flatnonzero(np.diff(each) > 1e-9)
        assert rising.min() == pytest.approx(100 * k, abs=2)
        assert rising.max() == pytest.approx(100 * (k + 1), abs=2)
