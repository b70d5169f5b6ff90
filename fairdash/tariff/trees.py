"""Boosted trees for tables with columns of any type, and the mean of several models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.columns import clean_features
from fairdash.training.baselines import MAX_TREES
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.utils.trees import boosted_trees

Array = NDArray[np.float64]

#: Minimum number of rows for early stopping. Early stopping holds out some rows to select the number of
#: trees.
_MIN_TO_STOP = 200


@dataclass(frozen=True, eq=False)
class MeanOfModels:
    """Model whose prediction is the mean of several models' predictions."""

    models: tuple[Any, ...]

    def predict(self, X: Any) -> Array:
        return np.asarray(np.mean([model.predict(X) for model in self.models], axis=0), dtype=float)


@dataclass(frozen=True, eq=False)
class EncodedTrees:
    """Boosted trees that accept tables with columns of any type."""

    encoder: FeatureEncoder
    model: Any

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, seed: int) -> EncodedTrees:
        features = clean_features(pd.DataFrame(X).reset_index(drop=True))
        encoder = FeatureEncoder.fit(features, sample_weight=weight)
        model = boosted(len(y), seed).fit(encoder.transform(features), y, sample_weight=weight)
        return cls(encoder, model)

    def predict(self, X: Any) -> Array:
        features = clean_features(pd.DataFrame(X).reset_index(drop=True), numbers=self.encoder.numbers)
        return np.asarray(self.model.predict(self.encoder.transform(features)), dtype=float)


def boosted(n_rows: int, seed: int, **options: Any) -> Any:
    stops = n_rows >= _MIN_TO_STOP
    return boosted_trees(max_iter=MAX_TREES, early_stopping=stops, random_state=seed, **options)
