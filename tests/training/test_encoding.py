"""The feature encoder against scikit-learn's transformers, and under weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairdash.training.feature_encoder import FeatureEncoder


def _frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "roof": rng.choice(["tile", "slate", "straw"], size=n),
            "rooms": rng.integers(1, 6, size=n),
            "area": rng.lognormal(4, 1, size=n),
            "garden": rng.random(n) < 0.3,
            "zone": pd.Categorical(rng.integers(1, 4, size=n), categories=[1, 2, 3, 4]),
            "constant": 0.1,
        }
    )
    frame.loc[rng.random(n) < 0.2, "area"] = np.nan
    frame.loc[rng.random(n) < 0.2, "roof"] = None
    frame.loc[rng.random(n) < 0.2, "zone"] = None
    return frame


def test_it_equals_scikit_learns_transformers():
    frame, train = _frame(), np.arange(5, 45)
    numbers, categories = ["rooms", "area", "garden", "constant"], ["roof", "zone"]
    levels = [sorted(frame["roof"].dropna().unique()), [1, 2, 3, 4]]
    reference = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (
                "categories",
                OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False),
                categories,
            ),
        ]
    )
    plain = frame.astype({"zone": object, "roof": object, "garden": float})
    expected = reference.fit(plain.iloc[train]).transform(plain)
    encoder = FeatureEncoder.fit(frame, rows=train)
    assert encoder.transform(frame).shape[1] == 4 + 3 + 4
    assert encoder.transform(frame) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_weight_of_two_counts_a_row_twice(seed):
    frame = _frame(seed=seed)
    weight = np.random.default_rng(seed).integers(1, 5, size=len(frame))
    repeated = frame.loc[frame.index.repeat(weight)]
    weighted = FeatureEncoder.fit(frame, sample_weight=weight.astype(float))
    assert weighted.median == pytest.approx(FeatureEncoder.fit(repeated).median, abs=1e-12)
    assert weighted.transform(frame) == pytest.approx(FeatureEncoder.fit(repeated).transform(frame), abs=1e-9)
    scaled = FeatureEncoder.fit(frame, sample_weight=0.1 * weight)
    assert scaled.transform(frame) == pytest.approx(weighted.transform(frame), abs=1e-9)


def test_unknown_levels_are_counted_and_count_as_missing():
    frame = _frame()
    encoder = FeatureEncoder.fit(frame)
    other = frame.iloc[:5].assign(
        roof=["turf", None, "turf", "tile", "slate"], zone=[9, 1, 2, None, 3], area=1.0
    )
    assert encoder.unknown_levels(other) == {"roof": 2, "zone": 1}
    assert encoder.unknown_levels(frame) == {}
    one_hot = encoder.transform(other)[:, 4:]
    assert one_hot[:, :3].sum(axis=1).tolist() == [0, 0, 0, 1, 1]
    assert one_hot[:, 3:].sum(axis=1).tolist() == [0, 1, 1, 0, 1]


def test_the_order_of_the_columns_does_not_matter_nor_do_others():
    frame = _frame()
    encoder = FeatureEncoder.fit(frame)
    turned = frame[frame.columns[::-1]].assign(other="x")
    assert (encoder.transform(turned) == encoder.transform(frame)).all()
