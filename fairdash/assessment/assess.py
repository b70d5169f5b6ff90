"""From predictions to a tidy frame: one row a model and part, a column a measure, each with its floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import independence_floor, measure_many
from fairdash.lookup import look_up
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.splits import Split

DEFAULT_MEASURES = ("hgr_kde", "fairquant", "fairquant_cumulative")
N_PERMUTATIONS = 100


def assess_predictions(
    dataset: Dataset,
    predictions: NDArray[np.float64],
    members: pd.DataFrame,
    splits: Sequence[Split],
    *,
    objective: str,
    measures: Sequence[str] = DEFAULT_MEASURES,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """Accuracy and dependence of K models, on their training and on their test rows.

    Parameters
    ----------
    dataset
        The rows that were predicted; one sensitive column.
    predictions : (K, n) array
        In the target's units.
    members : DataFrame with K rows
        Columns ``method``, ``lam``, ``split``, ``diverged``.
    splits
        Row numbers of each split.
    objective
        What must not depend on the sensitive column: ``"demographic_parity"`` or ``"equalized_residuals"``.
    measures
        Ids in :data:`fairdash.dependence.REGISTRY`.
    n_permutations
        Permutations of the sensitive column behind each floor.
    progress
        Called with the share done, 0 to 1.

    Returns
    -------
    DataFrame with 2K rows
        ``method``, ``lam``, ``split``, ``part`` ("train" or "test"), ``diverged``, ``n`` rows;
        ``mse``: mean squared error divided by the variance of the target's training rows (0 is perfect, 1 is
        what the constant mean reaches); ``rmse`` in the target's units; and for each measure ``id``,
        ``id_floor`` (mean of the same estimator with the sensitive column permuted) and ``id_floor_q95``
        (its 95 % quantile). Training rows have been fitted to: their figures flatter the model.
    """
    y = dataset.target.to_numpy(dtype=float)
    s = dataset.sensitive.iloc[:, 0].to_numpy(dtype=float)
    audited = look_up(OBJECTIVES, objective, option="objective").audit(predictions, y)
    frames = []
    jobs = [(j, part) for j in range(len(splits)) for part in ("train", "test")]
    for done, (j, part) in enumerate(jobs):
        rows = getattr(splits[j], part)
        of_split = (members["split"] == j).to_numpy()
        frame = members[of_split].assign(part=part, n=len(rows))
        squared = ((predictions[of_split][:, rows] - y[rows]) ** 2).mean(axis=1)
        frame["mse"] = squared / y[splits[j].train].var()
        frame["rmse"] = np.sqrt(squared)
        u = audited[of_split][:, rows]
        for name in measures:
            v = np.broadcast_to(s[rows], u.shape)
            floor = independence_floor(
                name, u, v, n_permutations=n_permutations, random_state=_seed(random_state, j)
            )
            frame[name] = measure_many(name, u, v, random_state=random_state)
            frame[f"{name}_floor"] = floor.mean
            frame[f"{name}_floor_q95"] = floor.q95
        frames.append(frame)
        if progress is not None:
            progress((done + 1) / len(jobs))
    order = ["method", "lam", "split", "part", "diverged"]
    table = pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)
    return table[[*order, *(column for column in table.columns if column not in order)]]


def _seed(random_state: int, split: int) -> int:
    """A seed of its own for each split: its permutations are not those of the next."""
    return int(np.random.SeedSequence([random_state, split, 3]).generate_state(1)[0])
