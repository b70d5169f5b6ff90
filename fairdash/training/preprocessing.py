"""From a table of features to the numbers a network sees, fitted on training rows only."""

from __future__ import annotations

from typing import Any

import pandas as pd


def feature_encoder(features: pd.DataFrame) -> Any:
    """A scikit-learn transformer for `features`, not yet fitted.

    Numbers: missing values become the training rows' median, then mean 0 and standard deviation 1.
    Categories and text: one column a level; a missing value is all zeros. The levels are those of the
    column's categorical dtype, or of the whole column, so that every split of a table has the same
    width (K models of one shape) whatever levels its training rows hold.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [c for c in features.columns if pd.api.types.is_numeric_dtype(features[c].dtype)]
    categories = [c for c in features.columns if c not in numbers]
    scale = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    levels = [features[c].astype("category").cat.categories.to_numpy() for c in categories]
    one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", scale, numbers), ("categories", one_hot, categories)])
