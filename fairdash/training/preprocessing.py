"""All rows of a data set as a split's training rows encode and scale them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.training.feature_encoder import FeatureEncoder
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
    encoder
        Where the columns of x come from.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float64]
    target_scale: TargetScale
    encoder: FeatureEncoder


def encode_rows(
    dataset: Dataset, train: NDArray[np.int64], loss: Loss, *, embedding: str | None = None
) -> EncodedRows:
    """Encode every row; only the rows `train` are learned from. `embedding` as the encoder has it."""
    weight = None if dataset.weight is None else dataset.weight.to_numpy()[train]
    encoder = FeatureEncoder.fit(dataset.features, rows=train, sample_weight=weight, embedding=embedding)
    y = dataset.target.to_numpy(dtype=float)
    scale = TargetScale.of(y[train], loss, weight)
    # Row by row in memory, as batches are drawn.
    x = np.ascontiguousarray(encoder.transform(dataset.features), dtype=np.float32)
    return EncodedRows(x, scale.apply(y), scale, encoder)
