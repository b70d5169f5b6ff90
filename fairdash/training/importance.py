"""Permutation importance of features, computed for many models together.

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

#: Maximum number of test rows. The noise of the importance is proportional to 1 / √(number of rows), and the
#: time to the number of rows.
MAX_ROWS = 2_000
#: Number of permutations over which the importance is averaged.
N_PERMUTATIONS = 3


@dataclass(frozen=True)
class PermutationPlan:
    """Test rows and permutations for the importance, which are the same for all models of a split.

    Parameters
    ----------
    random_state
        Seed of the sample and the permutations.
    rows
        For each split, the numbers of m rows, with the same m for all splits.
    """

    random_state: int
    rows: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, splits: Sequence[Split], *, random_state: int) -> PermutationPlan:
        """Draw the same number of test rows for each split, at most :data:`MAX_ROWS`."""
        n_rows = min(MAX_ROWS, *(len(split.test) for split in splits))
        return cls(
            random_state,
            tuple(
                rng_of(Stream.IMPORTANCE, random_state, j).choice(split.test, n_rows, replace=False)
                for j, split in enumerate(splits)
            ),
        )

    def shuffle(self, split: int, *, feature: int) -> list[NDArray[np.int64]]:
        """Return :data:`N_PERMUTATIONS` permutations of the m rows of a split for one feature."""
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

    The importance of a feature is the increase of the loss when the feature's cells are permuted among the
    rows (Breiman 2001, "Random Forests", section 10; as a property of a fitted model: Fisher, Rudin and
    Dominici 2019, "All Models are Wrong, but Many are Useful", equation 3.1). The weights of the rows do not
    affect the permutations; errors and changes of predictions are weighted means. If several features contain
    the same information, each of these features has a low importance, because the other features can replace
    it.

    Features are permuted one at a time. The computation needs memory for one copy of the rows per
    permutation, and for the predictions of all models on these copies.

    Parameters
    ----------
    predict
        Function that returns predictions (K, m) in the target's units for rows x (S, m, p).
    x : (S, m, p) tensor
        Encoded rows of each split.
    y, weight : (K, m) arrays
        Target and weight of the rows that each model predicts.
    of_average : (K,) array
        Mean squared error of predicting the average of the training rows; all errors are divided by this
        number.
    blocks
        For each feature, the slice of its columns in x.
    shuffles
        Function that returns, for the position of a feature, the permutations of the rows of each split. All
        splits have the same number of permutations.
    on_feature
        Function that is called after each feature; an exception stops the computation.

    Returns
    -------
    error : (K, F) array
        Increase of the mean squared error on the test rows when the cells of the feature are permuted,
        divided by the error of the average of the training rows, as for ``mse`` in
        :func:`fairdash.evaluation.assess_predictions`. The increase is about 0 for a feature that the model
        does not use, or that does not make predictions better. The increase may be below 0 by chance, or
        because the feature reduces accuracy. For example, a fair model may use a feature only to cancel
        information about s in another feature.
    reliance : (K, F) array
        Mean absolute change of the prediction when the cells of the feature are permuted, in the target's
        units; 0 for a feature that the model does not use.
    """
    import torch

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        averages: NDArray[np.float64] = np.average(values, weights=weight, axis=1)
        return averages

    predictions_before = predict(x)
    error = mean((predictions_before - y) ** 2)
    shape = (len(predictions_before), len(blocks))
    gain, reliance = np.zeros(shape), np.zeros(shape)
    # The model predicts all permutations of a feature together, because every call to a GPU has a delay.
    permuted = x.repeat(1, len(shuffles(0)[0]), 1)
    for feature, columns in enumerate(blocks.values()):
        orders = torch.from_numpy(np.stack([np.concatenate(rounds) for rounds in shuffles(feature)]))
        cells = permuted[:, :, columns].clone()
        for j, order in enumerate(orders.to(x.device)):
            permuted[j, :, columns] = x[j, :, columns].index_select(0, order)
        rounds = np.split(predict(permuted), permuted.shape[1] // x.shape[1], axis=1)
        for changed in rounds:
            gain[:, feature] += mean((changed - y) ** 2) - error
            reliance[:, feature] += mean(np.abs(changed - predictions_before))
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
    """Return ``features``, ``error`` and ``reliance`` for models that were trained together.

    The tensor `x` (S, n, p) contains all rows, encoded for each of the S splits of these models.

    Parameters
    ----------
    which_split
        Index of the split of each of the K models.
    device
        Device that computes predictions; only the selected test rows are copied to it.
    predict, blocks, on_feature
        As in :func:`permutation_importance`.
    """
    import torch

    y = dataset.target.to_numpy(dtype=float)
    weight = dataset.row_weight
    used_splits = sorted(set(which_split))
    numbers_by_split = [torch.from_numpy(plan.rows[split]) for split in used_splits]
    rows = np.stack([plan.rows[split] for split in which_split])

    def error_of_average(split: int) -> float:
        reference_rows, train_rows = plan.rows[split], splits[split].train
        mean = np.average(y[train_rows], weights=weight[train_rows])
        return float(np.average((y[reference_rows] - mean) ** 2, weights=weight[reference_rows]))

    features = list(dataset.features.columns)
    error, reliance = permutation_importance(
        predict,
        torch.stack([table[numbers] for table, numbers in zip(x, numbers_by_split, strict=True)]).to(device),
        y[rows],
        weight=weight[rows],
        of_average=np.array([error_of_average(split) for split in which_split]),
        blocks={name: blocks[name] for name in features},
        shuffles=lambda feature: [plan.shuffle(split, feature=feature) for split in used_splits],
        on_feature=on_feature,
    )
    return {"features": features, "error": error, "reliance": reliance}


def importance_of_all(parts: Sequence[Found], members: pd.DataFrame) -> pd.DataFrame:
    """Combine results of :func:`importance_of_stack` into one table, in the order of `members`.

    The table has one row per model and feature, with the columns ``method``, ``lam``, ``split``, ``feature``,
    ``importance`` and ``reliance``. The frame `members` has the columns ``method``, ``lam``, ``split`` and
    ``diverged``, with one row per model. Models that diverged are omitted.
    """
    features = parts[0]["features"]
    error, reliance = (np.concatenate([part[name] for part in parts]) for name in ("error", "reliance"))
    is_converged = ~members["diverged"].to_numpy(dtype=bool)
    models = members.loc[is_converged, ["method", "lam", "split"]]
    table = models.loc[models.index.repeat(len(features))]
    return table.assign(
        feature=np.tile(np.array(features, dtype=object), len(models)),
        importance=error[is_converged].ravel(),
        reliance=reliance[is_converged].ravel(),
    ).reset_index(drop=True)
