"""Distance covariance with several sensitive attributes, computed in time linear in the number of rows.

The doubly centred distances of an attribute are inner products of features (Sejdinovic et al., 2013).
Products of the distances of several attributes are inner products of products of features. At most 32
features, those with the largest variance, are used instead of an n × n matrix. The features are computed
once, from at most 64 values of each attribute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.dependence.hgr_nn import shares, standardise
from fairdash.dependence.joint import distances, scaled
from fairdash.training.penalties.base import BasePenalty, shares_of_rows
from fairdash.training.settings import TrainingSettings
from fairdash.utils.rounding import precision

Array = NDArray[np.float64]

#: `_FEATURES` is the maximum number of features in total, and `_OF_ONE` the maximum number of one attribute.
_FEATURES, _OF_ONE = 32, 16
#: Maximum number of attributes whose features are multiplied.
TOGETHER = 3
#: Maximum number of values of an attribute from which its features are computed.
_LANDMARKS = 64
#: Features whose variance is below this share of the largest variance are attributed to rounding.
_NO_VARIANCE = 1e-9


class JointDistancePenalty(BasePenalty):
    """Penalty Ψ ≥ 0: JdCov² (c = 1) of U and the attributes, without the terms that do not contain U.

    U and every attribute are scaled to variance 1. Let A be the negative doubly centred distances of U, and
    let Bⱼ be those of attribute j. Ψ is the mean of A · Πⱼ(Bⱼ + 1), without products of more than three Bⱼ.
    For two attributes that are independent of U, Ψ is about 3 / b on batches of b rows.
    """

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return features of each attribute, and products of features of several attributes."""
        return _encoded(s, train, weight, joint=False)

    @staticmethod
    def values_per_row(settings: TrainingSettings) -> float:  # noqa: ARG004
        """Return the number of values per row: the row's features in two row orders, and cumulative sums."""
        return 2.5 * _FEATURES

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,)."""
        share = shares(sample_weight)
        part = shares_of_rows(u, share)
        # A distance |x − y| is the sum of the gaps between neighbouring values of U from x to y, so Ψ is
        # computed as a sum over gaps.
        ordered, order = standardise(u, share).sort(dim=1)
        with torch.no_grad():
            weighed = part * (v - (part * v).sum(dim=1, keepdim=True))
            below = weighed.gather(1, order.expand(-1, -1, v.shape[2])).cumsum(dim=1)
            square = below[:, :-1].square().sum(dim=2)
        return 2 * (ordered.diff(dim=1)[:, :, 0] * square).sum(dim=1)


class ConcatenatedDistancePenalty(JointDistancePenalty):
    """Penalty Ψ = dCov² of U and the vector of all attributes, each scaled to variance 1."""

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return features of the vector of all attributes."""
        return _encoded(s, train, weight, joint=True)


def _encoded(s: Tensor, train: Sequence[Tensor], weight: Tensor | None, *, joint: bool) -> Tensor:
    features = []
    for j, chosen in enumerate(train):
        rows = chosen.cpu().numpy()
        mass = np.ones(len(rows)) if weight is None else weight[j, chosen, 0].double().cpu().numpy()
        columns = s[j].double().cpu().numpy().T
        attributes = scaled(columns, rows, mass, together=joint, eps=precision(s))
        limit = _FEATURES if joint else _OF_ONE
        features.append(_of_products([_features(x, rows, mass, limit) for x in attributes], s.shape[1]))
    width = max(x.shape[1] for x in features)
    return torch.from_numpy(np.stack([np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in features])).to(s)


def _features(x: Array, rows: NDArray[np.int64], mass: Array, limit: int) -> tuple[Array, Array]:
    """Return features (n, q) whose inner products are doubly centred distances, and their variances (q,)."""
    order = np.lexsort(x[rows].T)
    values, mass = x[rows][order], mass[order] / mass.sum()
    is_first = np.append(True, (values[1:] != values[:-1]).any(axis=1))
    if is_first.sum() > _LANDMARKS:
        levels = (np.arange(_LANDMARKS) + 0.5) / _LANDMARKS
        values, mass = values[np.searchsorted(np.cumsum(mass), levels)], np.full(_LANDMARKS, 1 / _LANDMARKS)
        is_first = np.append(True, (values[1:] != values[:-1]).any(axis=1))
    mass, values = np.add.reduceat(mass, np.flatnonzero(is_first)), values[is_first]

    def centred(distance: Array) -> Array:
        return distance @ mass[:, None] + to_all - distance - to_all @ mass

    distances_between = distances(values, values)
    to_all = distances_between @ mass
    root = np.sqrt(mass)
    variance, vectors = np.linalg.eigh(root[:, None] * centred(distances_between) * root)
    selected = [j for j in reversed(range(len(variance))) if variance[j] > _NO_VARIANCE * variance[-1]][
        :limit
    ]
    # The sign of a feature is arbitrary. It is chosen so that the first value is not negative; the same rows
    # then always give the same features.
    vectors = vectors[:, selected] * np.where(vectors[0, selected] < 0, -1, 1)
    weights = root[:, None] * vectors / np.sqrt(variance[selected])
    steps = range(0, len(x), 20_000)
    pieces = [centred(distances(x[k : k + 20_000], values)) @ weights for k in steps]
    return np.concatenate(pieces), variance[selected]


def _of_products(features: Sequence[tuple[Array, Array]], n: int) -> Array:
    """Return the 32 features with the largest variance among the attributes' features and their products."""
    candidates = [
        (math.prod(float(features[a][1][j]) for a, j in zip(subset, which, strict=True)), subset, which)
        for size in range(1, min(len(features), TOGETHER) + 1)
        for subset in itertools.combinations(range(len(features)), size)
        for which in itertools.product(*(range(min(len(features[a][1]), _OF_ONE // size)) for a in subset))
    ]
    largest = sorted(candidates, key=lambda candidate: -candidate[0])[:_FEATURES]
    columns = [
        np.prod([features[a][0][:, j] for a, j in zip(subset, which, strict=True)], axis=0)
        for _, subset, which in largest
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((n, 1))
