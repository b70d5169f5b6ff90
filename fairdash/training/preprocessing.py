"""From a table of features to the numbers a network sees, fitted on training rows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.training.losses import Loss


@dataclass(frozen=True)
class TargetScale:
    """The target in the units of a loss, and back: ``(y - shift) / unit``.

    Squared error has the training rows' mean 0 and standard deviation 1; the losses with a log link have
    mean 1, since only a factor leaves a deviance's meaning alone.
    """

    shift: float
    unit: float

    @classmethod
    def of(cls, y: NDArray[np.float64], loss: Loss, sample_weight: NDArray[np.float64] | None) -> TargetScale:
        """The scale of some training rows, (n,); a constant target keeps its own unit."""
        mean = float(np.average(y, weights=sample_weight))
        if loss.has_log_link:
            return cls(0.0, mean if mean > 0 else 1.0)
        sd = float(np.average((y - mean) ** 2, weights=sample_weight) ** 0.5)
        return cls(mean, sd if sd > 0 else 1.0)

    def apply(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return (y - self.shift) / self.unit

    def undo(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return y * self.unit + self.shift


@dataclass(frozen=True)
class EncodedRows:
    """All rows of a data set as one split's training rows scale them.

    Parameters
    ----------
    x
        (n, p) float32.
    y
        (n,) target in the loss's units.
    target_scale
        The way back.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float64]
    target_scale: TargetScale


def encode_rows(dataset: Dataset, train: NDArray[np.int64], loss: Loss) -> EncodedRows:
    """Encode every row; only the rows `train` are learned from."""
    encoder = feature_encoder(dataset.features).fit(dataset.features.iloc[train])
    y = dataset.target.to_numpy(dtype=float)
    weight = None if dataset.weight is None else dataset.weight.to_numpy()[train]
    scale = TargetScale.of(y[train], loss, weight)
    # Row by row in memory, as batches are drawn; the transformer gives them column by column.
    x = np.ascontiguousarray(encoder.transform(dataset.features), dtype=np.float32)
    return EncodedRows(x, scale.apply(y), scale)


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
