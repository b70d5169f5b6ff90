"""Permutation importance of features, for all models of a stack at once.

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

#: Test rows looked at, at most. A permutation's noise falls with their root, its time rises with them.
MAX_ROWS = 2_000
#: Permutations whose mean is the figure.
N_PERMUTATIONS = 3


@dataclass(frozen=True)
class PermutationPlan:
    """Test rows for the importance, and their permutations, shared by all models of a split.

    Parameters
    ----------
    random_state
        Seed.
    rows
        Row numbers of each split, (m,), equally many.
    """

    random_state: int
    rows: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, splits: Sequence[Split], *, random_state: int) -> PermutationPlan:
        """Draw each split's test rows: all of them, or 2,000."""
        n_rows = min(MAX_ROWS, *(len(split.test) for split in splits))
        return cls(
            random_state,
            tuple(
                rng_of(Stream.IMPORTANCE, random_state, j).choice(split.test, n_rows, replace=False)
                for j, split in enumerate(splits)
            ),
        )

    def shuffle(self, split: int, *, feature: int) -> list[NDArray[np.int64]]:
        """Return the permutations of a split's m rows for one feature."""
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

    The importance of a feature is the loss with its cells permuted among the rows, minus the actual loss
    (Breiman 2001, "Random Forests", section 10; as a property of one given model: Fisher, Rudin and Dominici
    2019, "All Models are Wrong, but Many are Useful", eq. 3.1). The rows are permuted without regard to their
    weights; the errors and changes are weighted means. Features with the same information share their
    importance, because one can replace the other when it is permuted.

    The memory is that of the rows, once for each permutation, and of one prediction by all models, because
    features are permuted one after the other.

    Parameters
    ----------
    predict
        Function from rows x (S, m, p) to predictions (K, m) in the target's units.
    x : (S, m, p) tensor
        Encoded rows of each split.
    y, weight : (K, m) arrays
        Target and weight of the rows that each model predicts.
    of_average : (K,) array
        Mean squared error of the training rows' average, by which errors are divided.
    blocks
        Feature to its columns of x.
    shuffles
        From a feature's position to the permutations of each split's rows, as many for each.
    on_feature
        Called after each feature; an exception from it stops the work.

    Returns
    -------
    error : (K, F) array
        Increase of the mean squared error on the test rows when the feature's cells are permuted among them,
        divided by that of the training rows' average on the same rows: the scale of ``mse`` in
        :func:`fairdash.evaluation.assess_predictions`. About 0 for a feature that the model does not use or
        that does not help. Below 0 by chance, or if the model uses it against accuracy: a fair model may use
        one feature to offset the information about s in another.
    reliance : (K, F) array
        Mean absolute change of the prediction, in the target's units; 0 for an unused feature, and never
        negative.
    """
    import torch

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        averages: NDArray[np.float64] = np.average(values, weights=weight, axis=1)
        return averages

    plain = predict(x)
    error = mean((plain - y) ** 2)
    shape = (len(plain), len(blocks))
    gain, reliance = np.zeros(shape), np.zeros(shape)
    # All permutations of a feature together, because a GPU waits for each request.
    permuted = x.repeat(1, len(shuffles(0)[0]), 1)
    for feature, columns in enumerate(blocks.values()):
        orders = torch.from_numpy(np.stack([np.concatenate(rounds) for rounds in shuffles(feature)]))
        own = permuted[:, :, columns].clone()
        for j, order in enumerate(orders.to(x.device)):
            permuted[j, :, columns] = x[j, :, columns].index_select(0, order)
        rounds = np.split(predict(permuted), permuted.shape[1] // x.shape[1], axis=1)
        for changed in rounds:
            gain[:, feature] += mean((changed - y) ** 2) - error
            reliance[:, feature] += mean(np.abs(changed - plain))
        gain[:, feature] /= len(rounds)
        reliance[:, feature] /= len(rounds)
        permuted[:, :, columns] = own
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
    """Return the ``features``, and ``error`` and ``reliance`` of a stack's models.

    `x` has the rows of the splits that it uses, (S, n, p).

    Parameters
    ----------
    which_split
        Split of each of the K models.
    device
        Device of the prediction; only the rows used are copied there.
    predict, blocks, on_feature
        As in :func:`permutation_importance`.
    """
    import torch

    y = dataset.target.to_numpy(dtype=float)
    weight = dataset.row_weight
    used = sorted(set(which_split))
    own = [torch.from_numpy(plan.rows[split]) for split in used]
    rows = np.stack([plan.rows[split] for split in which_split])

    def error_of_average(split: int) -> float:
        on, of = plan.rows[split], splits[split].train
        mean = np.average(y[of], weights=weight[of])
        return float(np.average((y[on] - mean) ** 2, weights=weight[on]))

    features = list(dataset.features.columns)
    error, reliance = permutation_importance(
        predict,
        torch.stack([table[numbers] for table, numbers in zip(x, own, strict=True)]).to(device),
        y[rows],
        weight=weight[rows],
        of_average=np.array([error_of_average(split) for split in which_split]),
        blocks={name: blocks[name] for name in features},
        shuffles=lambda feature: [plan.shuffle(split, feature=feature) for split in used],
        on_feature=on_feature,
    )
    return {"features": features, "error": error, "reliance": reliance}


def importance_of_all(parts: Sequence[Found], members: pd.DataFrame) -> pd.DataFrame:
    """Combine results of :func:`importance_of_stack` into one table, in the models' order.

    Columns ``method``, ``lam``, ``split``, ``feature``, ``importance``, ``reliance``; one row per model and
    feature. `members` has each model's ``method``, ``lam``, ``split`` and whether it ``diverged``; diverged
    models are left out.
    """
    features = parts[0]["features"]
    error, reliance = (np.concatenate([found[name] for found in parts]) for name in ("error", "reliance"))
    whole = ~members["diverged"].to_numpy(dtype=bool)
    models = members.loc[whole, ["method", "lam", "split"]]
    table = models.loc[models.index.repeat(len(features))]
    return table.assign(
        feature=np.tile(np.array(features, dtype=object), len(models)),
        importance=error[whole].ravel(),
        reliance=reliance[whole].ravel(),
    ).reset_index(drop=True)
