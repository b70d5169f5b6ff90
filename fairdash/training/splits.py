"""Random splits of the rows into a training and a test part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Split:
    """Row numbers of one random split; both arrays sorted, together every row once."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def random_splits(
    n_rows: int, *, n_splits: int, random_state: int, test_share: float = 0.2
) -> tuple[Split, ...]:
    """Random splits, 80/20 unless told otherwise, as in the paper's experiments.

    The j-th split depends on `random_state` and j alone: asking for more splits keeps the first ones.
    """
    n_test = round(n_rows * test_share)
    splits = []
    for j in range(n_splits):
        order = np.random.default_rng([random_state, j]).permutation(n_rows)
        splits.append(Split(train=np.sort(order[n_test:]), test=np.sort(order[:n_test])))
    return tuple(splits)
