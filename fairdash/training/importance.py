"""Permutation importance of features for all models of a stack at once.

>>> draws = PermutationPlan(random_state=0, rows=(np.array([3, 5, 8]),))
>>> sorted(draws.shuffle(0, feature=2)[0].tolist())
[0, 1, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Found
from fairdash.training.splits import Split
from fairdash.utils.seeds import Stream, rng_of

if TYPE_CHECKING:
    from torch import Tensor

#: Maximum number of test rows. The noise falls with the square root of this number, and the time rises
#: linearly with it.
MAX_ROWS = 2_000
#: Number of permutations over which the importance is averaged.
N_PERMUTATIONS = 3


@dataclass(frozen=True)
class PermutationPlan:
    """Test rows for the importance and their permutations, which all models of a split share.

    Parameters
    ----------
    random_state
        Seed of the sample and the permutations.
    rows
        Row numbers (m,) of each split, with the same m for all splits.
    """

    random_state: int
    rows: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, splits: Sequence[Split], *, random_state: int) -> PermutationPlan:
        """Draw the test rows of each split: all of them, or a sample of :data:`MAX_ROWS` rows."""
        n_rows = min(MAX_ROWS, *(len(split.test) for split in splits))
        return cls(
            random_state,
            tuple(
                rng_of(Stream.IMPORTANCE, random_state, j).choice(split.test, n_rows, replace=False)
                for j, split in enumerate(splits)
            ),
        )

    def shuffle(self, split: int, *, feature: int) -> list[NDArray[np.int64]]:
        """Return the permutations of the m rows of a split for one feature."""
        rng = rng_of(Stream.IMPORTANCE, self.random_state, split, then=(feature,))
        return [rng.permutation(len(self.rows[split])) for _ in range(N_PERMUTATIONS)]


def permutation_importance(
    predict: Callable[[Tensor], NDArray[np.float64]],
    x: Tensor,
    y: NDArray[np.float64],
    *,
    weight: NDArray[np.float64],
    of_average: NDArray[np.float64],
    blocks: Mapping[str, slice],
    shuffles: Callable[[int], Sequence[Sequence[NDArray[np.int64]]]],
    on_feature: Callable[[], None] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the permutation importance of every feature in every model.

    The importance of a feature is the loss with its cells permuted among the rows minus the original loss
    (Breiman 2001, "Random Forests", section 10; as a property of one given model: Fisher, Rudin and Dominici
    2019, "All Models are Wrong, but Many are Useful", equation 3.1). The permutation ignores the weights of
    the rows, but errors and changes are weighted means. Features with the same information share its
    importance, because another feature can replace the permuted one.

    Features are permuted one at a time. The computation holds in memory one copy of the rows per permutation
    and one prediction by all models.

    Parameters
    ----------
    predict
        Function that returns predictions (K, m) in the target's units for rows x (S, m, p).
    x : (S, m, p) tensor
        Encoded rows of each split.
    y, weight : (K, m) arrays
        Target and weight of the rows that each model predicts.
    of_average : (K,) array
        Mean squared error of the training average, by which errors are divided.
    blocks
        Slice of the columns of x for each feature.
    shuffles
        Function that returns the permutations of each split's rows, given the position of a feature. All
        splits have the same number of permutations.
    on_feature
        Function that is called after each feature; an exception stops the computation.

    Returns
    -------
    error : (K, F) array
        Increase of the mean squared error on the test rows when the cells of the feature are permuted,
        divided by the error of the training average on the same rows. The increase is on the scale of ``mse``
        in :func:`fairdash.evaluation.assess_predictions`. The increase is about 0 for a feature that the
        model does not use or that does not help. The increase may be below 0 by chance, or if the feature
        reduces accuracy: a fair model may use one feature to cancel the information about s in another.
    reliance : (K, F) array
        Mean absolute change of the prediction when the cells of the feature are permuted, in the target's
        units. The change is at least 0, and it is 0 for a feature that the model does not use.
    """
    import torch

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        averages: NDArray[np.float64] = np.average(values, weights=weight, axis=1)
        return averages

    plain = predict(x)
    error = mean((plain - y) ** 2)
    shape = (len(plain), len(blocks))
    gain, reliance = np.zeros(shape), np.zeros(shape)
    # All permutations of a feature are predicted together, because each request to a GPU has a delay.
    permuted = x.repeat(1, len(shuffles(0)[0]), 1)
    for feature, columns in enumerate(blocks.values()):
        orders = torch.from_numpy(np.stack([np.concatenate(rounds) for rounds in shuffles(feature)]))
        cells = permuted[:, :, columns].clone()
        for j, order in enumerate(orders.to(x.device)):
            permuted[j, :, columns] = x[j, :, columns].index_select(0, order)
        rounds = np.split(predict(permuted), permuted.shape[1] // x.shape[1], axis=1)
        for changed in rounds:
            gain[:, feature] += mean((changed - y) ** 2) - error
            reliance[:, feature] += mean(np.abs(changed - plain))
        gain[:, feature] /= len(rounds)
        reliance[:, feature] /= len(rounds)
        permuted[:, :, columns] = cells
        if on_feature is not None:
            on_feature()
    return gain / of_average[:, None], reliance


def importance_of_stack(
    plan: PermutationPlan,
    dataset: Dataset,
    splits: Sequence[Split],
    which_split: Sequence[int],
    predict: Callable[[Tensor], NDArray[np.float64]],
    x: Tensor,
    *,
    device: str,
    blocks: Mapping[Hashable, slice],
    on_feature: Callable[[], None],
) -> Found:
    """Return the ``features``, the ``error`` and the ``reliance`` for the models of a stack.

    The tensor `x` contains the rows of the splits that the stack uses, (S, n, p).

    Parameters
    ----------
    which_split
        Index of the split of each of the K models.
    device
        Device for predictions, to which only the selected rows are copied.
    predict, blocks, on_feature
        Same meaning as in :func:`permutation_importance`.
    """
    import torch

    y = dataset.target.to_numpy(dtype=float)
    weight = dataset.row_weight
    used = sorted(set(which_split))
    numbers_by_split = [torch.from_numpy(plan.rows[split]) for split in used]
    rows = np.stack([plan.rows[split] for split in which_split])

    def error_of_average(split: int) -> float:
        on, of = plan.rows[split], splits[split].train
        mean = np.average(y[of], weights=weight[of])
        return float(np.average((y[on] - mean) ** 2, weights=weight[on]))

    features = list(dataset.features.columns)
    error, reliance = permutation_importance(
        predict,
        torch.stack([table[numbers] for table, numbers in zip(x, numbers_by_split, strict=True)]).to(device),
        y[rows],
        weight=weight[rows],
        of_average=np.array([error_of_average(split) for split in which_split]),
        blocks={name: blocks[name] for name in features},
        shuffles=lambda feature: [plan.shuffle(split, feature=feature) for split in used],
        on_feature=on_feature,
    )
    return {"features": features, "error": error, "reliance": reliance}


def importance_of_all(parts: Sequence[Found], members: pd.DataFrame) -> pd.DataFrame:
    """Combine results of :func:`importance_of_stack` into one table, in the order of the models.

    The table has one row per model and feature, with the columns ``method``, ``lam``, ``split``, ``feature``,
    ``importance`` and ``reliance``. The frame `members` contains the ``method``, ``lam`` and ``split`` of
    each model, and whether the model ``diverged``. Diverged models are omitted.
    """
    features = parts[0]["features"]
    error, reliance = (np.concatenate([part[name] for part in parts]) for name in ("error", "reliance"))
    whole = ~members["diverged"].to_numpy(dtype=bool)
    models = members.loc[whole, ["method", "lam", "split"]]
    table = models.loc[models.index.repeat(len(features))]
    return table.assign(
        feature=np.tile(np.array(features, dtype=object), len(models)),
        importance=error[whole].ravel(),
        reliance=reliance[whole].ravel(),
    ).reset_index(drop=True)
